package provider_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// checkRestores checks that a provider ends when the API server goes back to an earlier
// state: one with an election sees it by its lease, one without by asking, if it is told to.
func checkRestores(t *testing.T, env *devenv.Env, o provider.Options) {
	t.Helper()

	o.HealthAddress, o.MetricsAddress = "0", "0"
	o.Election.RetryPeriod = 100 * time.Millisecond

	probing := o
	probing.Election.Enabled, probing.RestoreProbe, probing.Namespace = false, 100*time.Millisecond, devenv.Namespace

	quiet := probing
	quiet.RestoreProbe = 0

	for name, tc := range map[string]struct {
		o     provider.Options
		tells func(*http.Request) bool
		asks  bool
	}{
		"Elected": {o, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/leases/"+lease) }, true},
		"Probing": {probing, func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/namespaces/"+devenv.Namespace+"/streams") && r.URL.Query().Get("limit") == "1"
		}, true},
		"Neither": {quiet, func(r *http.Request) bool { return r.URL.Query().Get("limit") == "1" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := env.ProviderConfig(t.Context())
			must(t, err)

			history := &history{tells: tc.tells}

			cfg.ContentType, cfg.AcceptContentTypes = "application/json", "application/json"
			cfg.Wrap(history.wrap)

			ctx, stop := context.WithCancel(t.Context())
			defer stop()

			ended := make(chan error, 1)
			go func() { ended <- provider.Run(ctx, cfg, tc.o) }()

			if !tc.asks {
				work(t, env, "quiet")
				stop()

				if err := <-ended; err != nil || history.told.Load() > 0 {
					t.Errorf("who is not told to ask asked %d times, and ends with %v", history.told.Load(), err)
				}

				return
			}

			wait.Until(t, "versions", func() bool { return history.told.Load() > 1 })
			history.restored.Store(true)
			wait.Until(t, "the end of the provider", func() bool { return len(ended) > 0 })

			if err := <-ended; !errors.Is(err, controller.ErrRestored) {
				t.Errorf("the provider ends with %v, want %v", err, controller.ErrRestored)
			}
		})
	}
}

// A history is the part of an API server's answers that tells of versions. It goes back to
// its beginning when the server is restored.
type history struct {
	tells    func(*http.Request) bool
	told     atomic.Int64
	restored atomic.Bool
}

func (h *history) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !h.tells(r) {
			return next.RoundTrip(r)
		}

		if as := r.Header.Get("Accept"); strings.Contains(as, "protobuf") {
			r = r.Clone(r.Context())
			r.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		}

		answer, err := next.RoundTrip(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			return answer, err
		}
		defer answer.Body.Close()

		body, err := io.ReadAll(answer.Body)
		if h.restored.Load() {
			body = regexp.MustCompile(`"resourceVersion":"\d+"`).ReplaceAll(body, []byte(`"resourceVersion":"1"`))
		}

		answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		h.told.Add(1)

		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

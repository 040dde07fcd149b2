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

// checkRestores checks that a provider ends when the API server is restored to an earlier state: with
// leader election it detects that by the lease, without it by a probe, if one is configured.
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
		shows func(*http.Request) bool
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

			history := &history{shows: tc.shows}

			cfg.ContentType, cfg.AcceptContentTypes = "application/json", "application/json"
			cfg.Wrap(history.wrap)

			ctx, stop := context.WithCancel(t.Context())
			defer stop()

			ended := make(chan error, 1)
			go func() { ended <- provider.Run(ctx, cfg, tc.o) }()

			if !tc.asks {
				work(t, env, "quiet")
				stop()

				if err := <-ended; err != nil || history.shown.Load() > 0 {
					t.Errorf("without a probe there were %d requests for the version, and it ends with %v", history.shown.Load(), err)
				}

				return
			}

			wait.Until(t, "versions", func() bool { return history.shown.Load() > 1 })
			history.restored.Store(true)
			wait.Until(t, "the end of the provider", func() bool { return len(ended) > 0 })

			if err := <-ended; !errors.Is(err, controller.ErrRestored) {
				t.Errorf("the provider ends with %v, want %v", err, controller.ErrRestored)
			}
		})
	}
}

// A history rewrites the answers of an API server that show versions. It goes back to its beginning when
// the server is restored.
type history struct {
	shows    func(*http.Request) bool
	shown    atomic.Int64
	restored atomic.Bool
}

func (h *history) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !h.shows(r) {
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
		h.shown.Add(1)

		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

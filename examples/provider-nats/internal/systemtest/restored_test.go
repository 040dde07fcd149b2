package systemtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/test/wait"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
)

// A history rewrites the answers of the API server. Once it is restored, the answers that show its version
// are those of an API server whose etcd was reset to its beginning.
type history struct {
	shown    atomic.Int64 // how often a version was shown
	restored atomic.Bool
}

// A tripper is a function that sends requests.
type tripper func(*http.Request) (*http.Response, error)

// RoundTrip sends a request.
func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// carry changes the answers to requests for a lease, or, as of a probe, for one object.
func (h *history) carry(next http.RoundTripper) http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		if !strings.Contains(r.URL.Path, "/leases") && r.URL.Query().Get("limit") != "1" {
			return next.RoundTrip(r)
		}

		r = r.Clone(r.Context())
		if _, form, ok := strings.Cut(r.Header.Get("Accept"), ",application/json"); ok {
			r.Header.Set("Accept", "application/json"+form) // not protobuf
		}

		answer, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}

		return answer, h.rewrite(answer)
	})
}

var version = regexp.MustCompile(`"resourceVersion":"[0-9]+"`)

func (h *history) rewrite(answer *http.Response) error {
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}

	if h.restored.Load() {
		text = version.ReplaceAll(text, []byte(`"resourceVersion":"1"`))
	} else if version.Match(text) {
		h.shown.Add(1)
	}

	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	answer.Header.Del("Content-Length")

	return nil
}

// TestRestore ends a provider whose API server was restored to an earlier state: its caches wait for
// versions of another history. It detects that by its lease, or without leader election by its probe, which
// is off by default.
func TestRestore(t *testing.T) {
	const often = 100 * time.Millisecond

	if probe := provider.DefaultOptions().RestoreProbe; probe != 0 {
		t.Errorf("no request may be sent in steady state, and the default probe interval is %s", probe)
	}

	namespace := namespace(t)

	for name, change := range map[string]func(*provider.Options){
		"Lease": func(o *provider.Options) {
			// It is not lost, however busy the machine is.
			o.Election = provider.Election{
				Enabled: true, Namespace: namespace, LeaseDuration: 10 * time.Minute, RenewDeadline: 9 * time.Minute,
				RetryPeriod: often,
			}
		},
		"Probe": func(o *provider.Options) { o.RestoreProbe = often },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			h := &history{}
			ctx, stop := context.WithCancel(context.Background())
			ended := startProvider(ctx, change, h.carry)

			defer func() {
				stop()

				if err := <-ended; !errors.Is(err, controller.ErrRestored) {
					t.Errorf("the API server was restored, and the provider ended with %v", err)
				}
			}()

			wait.Until(t, "the version is shown twice", func() bool { return h.shown.Load() > 1 || len(ended) > 0 })
			h.restored.Store(true)
			wait.Until(t, "the provider ends", func() bool { return len(ended) > 0 })
		})
	}
}

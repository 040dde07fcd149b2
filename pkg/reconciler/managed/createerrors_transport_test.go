package managed_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// post sends a request of Create.
func post(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()

	return answered{response.StatusCode}
}

// answered is an error with the status of a response, as clients have it.
type answered struct{ StatusCode int }

func (a answered) Error() string { return fmt.Sprint("the answer is ", a.StatusCode) }

// both runs a test for each way to take an error of Create that says neither.
func both(t *testing.T, name string, test func(t *testing.T, o ...managed.ReconcilerOption)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { test(t) })
	t.Run(name+", strict", func(t *testing.T) { test(t, managed.WithStrictCreateErrors()) })
}

// TestALostAnswerOfATransportMakesOneResource verifies that a lost answer makes one resource, however net/http
// reports it.
func TestALostAnswerOfATransportMakesOneResource(t *testing.T) {
	answer := func(code int) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if code != 0 {
				w.Header().Set("Location", "http://127.0.0.1:1/disks/1")
				w.WriteHeader(code)

				return
			}
			connection, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = connection.Write([]byte("HTTP/1.1 201 Created\r\nX"))
				_ = connection.Close()
			}
		}))
		t.Cleanup(server.Close)

		return server.URL
	}
	stays := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for name, call := range map[string]func(ctx context.Context) error{
		"half of a header": func(ctx context.Context) error { return post(ctx, http.DefaultClient, answer(0)) },
		"a 201 not readable": func(ctx context.Context) error {
			return post(ctx, http.DefaultClient,
				answer(http.StatusCreated))
		},
		"a redirect": func(ctx context.Context) error { return post(ctx, stays, answer(http.StatusSeeOther)) },
		"a connection of HTTP/2": func(context.Context) error {
			return &url.Error{Op: "Post", Err: errors.New("http2: client connection lost")}
		},
		"a context, ended by a cause": func(ctx context.Context) error {
			ended, end := context.WithCancelCause(ctx)
			end(errors.New("the circuit is open"))

			return post(ended, http.DefaultClient, answer(0))
		},
	} {
		both(t, name, func(t *testing.T, o ...managed.ReconcilerOption) {
			g := newGallery(t, o...)
			g.cloud.After = func(ctx context.Context, what string, mg resource.Managed) error {
				if what != "Create" {
					return nil
				}
				delete(mg.GetAnnotations(), meta.AnnotationKeyExternalName) // which is in the lost answer

				return call(ctx)
			}
			g.create(nil)
			for range 3 {
				_, _ = g.try()
			}
			if n := len(g.cloud.Disks()); n != 1 {
				t.Errorf("S1: %d disks", n)
			}
		})
	}
}

// TestACreateWithoutAConnectionIsRepeated verifies that a Create that reached no server is repeated.
func TestACreateWithoutAConnectionIsRepeated(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	proxied := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL,
		error) {
		return url.Parse("http://127.0.0.1:1")
	}}}
	for name, call := range map[string]func(ctx context.Context) error{
		"a proxy":       func(ctx context.Context) error { return post(ctx, proxied, "https://x.invalid") },
		"a certificate": func(ctx context.Context) error { return post(ctx, &http.Client{}, secure.URL) },
	} {
		both(t, name, func(t *testing.T, o ...managed.ReconcilerOption) {
			g := newGallery(t, o...)
			g.cloud.Before = func(ctx context.Context, what string, _ resource.Managed) error {
				if what == "Create" {
					return call(ctx)
				}

				return nil
			}
			g.create(nil)
			_, _ = g.try()
			_, _ = g.try()
			if n := g.cloud.Count("Create"); n != 2 {
				t.Errorf("Create was called %d times: %v", n, g.get().Status.Conditions)
			}
		})
	}
}

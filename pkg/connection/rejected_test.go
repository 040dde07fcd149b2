package connection

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A loginError says that the system has rejected the credentials, as external.Unauthorized does.
type loginError struct{ text string }

func (e *loginError) Error() string      { return e.text }
func (e *loginError) Unauthorized() bool { return true }

// A heldLogin is a loginError of a login that was not made.
type heldLogin struct{ *loginError }

func (heldLogin) Held() bool { return true }

// TestRejectedRevision: a revision whose credentials were rejected is built ever more rarely, and is resolved as often
// as before. Another revision is built at once.
func TestRejectedRevision(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		reason string
		err    error
		change func(*world)  // after half of the time
		within time.Duration // from the first build on; one call of Acquire each five seconds
		tries  int           // builds
	}{
		"Rejected":  {"after 0, 10, 30, 70, 150, 310 s, and then each 300 s", &loginError{"no"}, nil, time.Hour, 16},
		"Short":     {"two logins until the first interval has passed", &loginError{"no"}, nil, 29 * time.Second, 2},
		"Wrapped":   {"the error may be wrapped", errors.Wrap(&loginError{"no"}, "cannot log in"), nil, time.Hour, 16},
		"Held":      {"no login was made", heldLogin{&loginError{"no"}}, nil, time.Minute, 13},
		"OtherKind": {"an outage ends soon", boom, nil, time.Minute, 13},
		"NewSecret": {"another revision is tried at once, and has its own intervals", &loginError{"no"},
			func(w *world) { w.revision = "r2" }, 40 * time.Second, 4},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w, tries := newWorld(), 0
			w.during = func(context.Context) error { tries++; return c.err }
			cache := w.cache(t)
			resolves := 0
			for begin := w.clock.Now(); w.clock.Now().Sub(begin) <= c.within; w.pass(5 * time.Second) {
				if c.change != nil && w.clock.Now().Sub(begin) == c.within/2 {
					c.change(w)
				}
				resolves++
				if _, err := cache.Acquire(t.Context(), "key", "1", w.resolve); !errors.Is(err, c.err) {
					t.Fatalf("%s: Acquire(...): %v", c.reason, err)
				}
			}
			if tries != c.tries || w.resolves != resolves {
				t.Errorf("%s: %d builds and %d reads, want %d and %d", c.reason, tries, w.resolves, c.tries, resolves)
			}
		})
	}
}

// TestRejectionEnds: a system that accepts the credentials later is noticed at the next try, and the next rejection
// begins anew.
func TestRejectionEnds(t *testing.T) {
	w := newWorld()
	rejected := true
	w.during = func(context.Context) error {
		if rejected {
			return &loginError{"no"}
		}

		return nil
	}
	cache := w.cache(t)
	_, _ = cache.Acquire(t.Context(), "key", "1", w.resolve)
	rejected = false
	w.pass(5 * time.Second)
	if _, err := cache.Acquire(t.Context(), "key", "1", w.resolve); err == nil {
		t.Error("the login was tried again after five seconds")
	}
	w.pass(5 * time.Second)
	w.acquire(t, cache, "1").Release()
	rejected = true
	for range 2 {
		cache.Drop("key")
		w.pass(time.Second)
		if _, err := cache.Acquire(t.Context(), "key", "1", w.resolve); err == nil {
			t.Error("a rejected login has a connection")
		}
	}
}

// TestRejectionConceals: the passes that get the error of an earlier build redact what that build has read.
func TestRejectionConceals(t *testing.T) {
	w := newWorld()
	tries := 0
	w.during = func(ctx context.Context) error {
		tries++
		redact.Conceal(ctx, []byte("hunter2-of-the-provider"))

		return &loginError{"hunter2-of-the-provider is wrong"}
	}
	cache := w.cache(t)
	for range 3 {
		secrets := &redact.Secrets{}
		_, err := cache.Acquire(redact.Collect(t.Context(), secrets), "key", "1", w.resolve)
		if err == nil || strings.Contains(secrets.Mask().Text(err.Error()), "hunter2") {
			t.Errorf("the pass shows %v", err)
		}
		w.pass(5 * time.Second)
	}
	if tries != 2 {
		t.Errorf("%d logins", tries)
	}
}

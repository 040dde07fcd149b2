package connection

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A vault is where a Resolver reads credentials.
type vault struct {
	revision, resolved, built string // the credentials are read as the revision is resolved, or as it is built
	err                       error
}

func (v *vault) resolve(ctx context.Context) (string, func(context.Context) (string, error), error) {
	redact.Conceal(ctx, []byte(v.resolved))
	err := v.err
	if err != nil {
		err = v.mark(errors.New("refused: " + v.resolved))
	}

	return v.revision, func(ctx context.Context) (string, error) {
		redact.Conceal(ctx, []byte(v.built))

		return v.built, nil
	}, err
}

func (v *vault) mark(err error) error {
	switch {
	case IsUnsure(v.err):
		return Unsure(err)
	case IsMissing(v.err):
		return Missing(err, nil)
	default:
		return err
	}
}

// acquire returns what whoever asks for the connection cannot see any more of a text, and the error.
func (v *vault) acquire(t *testing.T, c *Cache[string], text string, opts ...AcquireOption) (string, error) {
	t.Helper()
	known := &redact.Secrets{}
	lease, err := c.Acquire(redact.Collect(t.Context(), known), "key", "1", v.resolve, opts...)
	if err == nil {
		lease.Release()
	}

	return known.Mask().Text(text), err
}

// What a connection was made with is known as a secret to everybody who is given it, and of a look that
// failed to everybody who is told so.
func TestCredentialsAreKnownToAllWhoShareThem(t *testing.T) {
	const first, second = "correct-horse", "battery-staple"
	const both, hidden = first + " and " + second, "[REDACTED]"
	for name, tc := range map[string]struct {
		reason string
		before vault
		then   func(v *vault, c *Cache[string])
		opts   []AcquireOption
		failed bool
		want   string
	}{
		"Again": {"the connection is there already", vault{resolved: first}, nil, nil, false, hidden + " and " + second},
		"Built": {"they are read only where it is built", vault{built: first}, nil, nil, false, hidden + " and " + second},
		"SameRevision": {"a look that finds the same reads nothing", vault{built: first}, func(v *vault, c *Cache[string]) {
			v.built = ""
			c.Recheck("key")
		}, nil, false, hidden + " and " + second},
		"Reread": {"a look finds others, under the same revision", vault{built: first}, func(v *vault, c *Cache[string]) {
			v.resolved = second
			c.Recheck("key")
		}, nil, false, hidden + " and " + hidden},
		"Rotated": {"others have taken their place", vault{resolved: first}, func(v *vault, c *Cache[string]) {
			v.revision, v.resolved = "r2", second
			c.Recheck("key")
		}, nil, false, first + " and " + hidden},
		"Refused": {"the failure is told again without a look", vault{resolved: first, err: errors.New("no")}, nil, nil, true, hidden + " and " + second},
		"Unsure": {"the connection is still handed out", vault{resolved: first}, func(v *vault, c *Cache[string]) {
			v.resolved, v.err = second, Unsure(errors.New("away"))
			c.Recheck("key")
		}, nil, false, hidden + " and " + hidden},
		"Missing": {"those who delete keep the connection", vault{resolved: first}, func(v *vault, c *Cache[string]) {
			v.resolved, v.err = "", Missing(errors.New("gone"), nil)
			c.Recheck("key")
		}, []AcquireOption{ForDeletion(true)}, false, hidden + " and " + second},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			v, c := tc.before, w.cache(t)
			_, err := v.acquire(t, c, "")
			if (err != nil) != (tc.before.err != nil) {
				t.Fatal(err)
			}
			w.pass(time.Second)
			if tc.then != nil {
				tc.then(&v, c)
				w.pass(10 * time.Second)
			}
			for range 2 {
				got, err := v.acquire(t, c, both, tc.opts...)
				if got != tc.want || (err != nil) != tc.failed {
					t.Errorf("%s: %q, %v, want %q", tc.reason, got, err, tc.want)
				}
			}
		})
	}
}

// All who wait for one look learn what it has read, also those who did not begin it.
func TestCredentialsAreKnownToAllWhoWait(t *testing.T) {
	const secret = "correct-horse"
	for _, fails := range []string{"", "resolve", "build"} {
		synctest.Test(t, func(t *testing.T) {
			c := newWorld().cache(t)
			read := make(chan struct{})
			resolve := func(ctx context.Context) (string, func(context.Context) (string, error), error) {
				<-read
				redact.Conceal(ctx, []byte(secret))

				failing := func(step string) error {
					if fails == step {
						return errors.New("refused: " + secret)
					}

					return nil
				}

				return "r1", func(context.Context) (string, error) { return "", failing("build") }, failing("resolve")
			}
			for range 8 {
				go func() {
					known := &redact.Secrets{}
					lease, err := c.Acquire(redact.Collect(t.Context(), known), "key", "1", resolve)
					if err == nil {
						lease.Release()
					}
					if text := known.Mask().Text("it is " + secret); text != "it is [REDACTED]" || (err != nil) != (fails != "") {
						t.Errorf("%q, %v", text, err)
					}
				}()
			}
			synctest.Wait()
			close(read)
			synctest.Wait()
			c.Close()
		})
	}
}

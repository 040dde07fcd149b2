package connection

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// vault has the credentials that its Resolver reads: those of resolved as the revision is
// resolved, and those of built as the connection is built.
type vault struct {
	revision, resolved, built string
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

// acquire acquires the connection, and returns the text as the pass redacts it, and the
// error.
func (v *vault) acquire(t *testing.T, c *Cache[string], text string, opts ...AcquireOption) (string, error) {
	t.Helper()
	known := &redact.Secrets{}
	lease, err := c.Acquire(redact.Collect(t.Context(), known), "key", "1", v.resolve, opts...)
	if err == nil {
		lease.Release()
	}

	return known.Mask().Text(text), err
}

// TestSecretsAreRedacted: each pass that gets a connection or an error redacts the secrets
// that were read for it.
func TestSecretsAreRedacted(t *testing.T) {
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
		"Cached": {"the connection is cached", vault{resolved: first}, nil, nil, false,
			hidden + " and " + second},
		"Built": {"the secrets are read by the build", vault{built: first}, nil, nil, false,
			hidden + " and " + second},
		"SameRevision": {"a Resolver that returns the same revision reads none", vault{built: first},
			func(v *vault, c *Cache[string]) {
				v.built = ""
				c.Recheck("key")
			}, nil, false, hidden + " and " + second},
		"OtherSecret": {"a Resolver reads others under the same revision", vault{built: first},
			func(v *vault, c *Cache[string]) {
				v.resolved = second
				c.Recheck("key")
			}, nil, false, hidden + " and " + hidden},
		"Rotated": {"a new revision with others", vault{resolved: first}, func(v *vault, c *Cache[string]) {
			v.revision, v.resolved = "r2", second
			c.Recheck("key")
		}, nil, false, first + " and " + hidden},
		"CachedError": {"the error is cached", vault{resolved: first, err: errors.New("no")}, nil,
			nil, true, hidden + " and " + second},
		"Unsure": {"the connection is still handed out", vault{resolved: first}, func(v *vault, c *Cache[string]) {
			v.resolved, v.err = second, Unsure(errors.New("away"))
			c.Recheck("key")
		}, nil, false, hidden + " and " + hidden},
		"Missing": {"deletions keep the connection", vault{resolved: first}, func(v *vault, c *Cache[string]) {
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

// TestConcurrentAcquireRedactsSecrets: all callers that wait for one build redact the
// secrets that it has read.
func TestConcurrentAcquireRedactsSecrets(t *testing.T) {
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
					if text := known.Mask().Text("it is " + secret); text != "it is [REDACTED]" ||
						(err != nil) != (fails != "") {
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

package managed_test

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A rotation is an external system whose password changes, and the Secret with the password of the provider.
type rotation struct {
	password, secret string
	atConnect        bool // the system checks the password when the connection is built, and not in each call
	reads            int  // of the Secret
	accepted         bool // a call was accepted
	cache            *connection.Cache[string]
}

// connector connects like a provider: the connections are in a cache, and the clients describe theirs.
func (r *rotation) connector(w *world) managed.ExternalConnectorFn {
	rejected := external.Unauthorized(errors.New("password authentication failed"))

	return func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
		revision := ""
		lease, err := r.cache.Acquire(ctx, "config", "1",
			func(context.Context) (string, func(context.Context) (string, error), error) {
				r.reads++
				secret := r.secret

				return secret, func(context.Context) (string, error) {
					if r.atConnect && secret != r.password {
						return "", rejected
					}

					return secret, nil
				}, nil
			})
		if err != nil {
			return nil, err
		}
		defer lease.Release()
		revision = lease.Value()
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Connect" {
				return nil
			}
			if r.accepted = revision == r.password; !r.accepted {
				return rejected
			}

			return nil
		}
		c, err := w.cloud.Connect(ctx, mg)

		return described{c, managed.Connection{
			Name: "ProviderConfig/default/default", Revision: revision, Recheck: func() { r.cache.Recheck("config") },
		}}, err
	}
}

// A described client describes its connection.
type described struct {
	managed.ExternalClient

	connection managed.Connection
}

func (d described) DescribeConnection() managed.Connection { return d.connection }

// TestCorrectedCredentialsAreNoticed verifies that a call is accepted within fifteen seconds after its Secret was
// corrected, however long the credentials were wrong, and that the Secret is not read more often than each five
// seconds. Only the delays that the reconciler returns cause passes.
func TestCorrectedCredentialsAreNoticed(t *testing.T) {
	for name, atConnect := range map[string]bool{"rejected by calls": false, "rejected by Connect": true} {
		for _, wrong := range []time.Duration{time.Second, 45 * time.Second, 10 * time.Minute, time.Hour} {
			t.Run(name+" for "+wrong.String(), func(t *testing.T) {
				w := newWorld(t)
				s := &rotation{password: "old", secret: "old", atConnect: atConnect}
				s.cache = connection.New(func(string) {}, connection.WithClock(w.clock))
				w.o = append(w.o, managed.WithExternalConnecter(s.connector(w)),
					managed.WithLimits(limit.NewSet(limit.WithClock(w.clock))))
				w.restart()
				w.create(nil)
				w.pass()

				s.password = "new"
				s.cache.Drop("config") // the system has ended the connections
				s.reads, s.accepted = 0, false
				begin := w.clock.Now()
				for w.clock.Now().Sub(begin) < wrong {
					w.clock.SetTime(w.clock.Now().Add(w.pass().RequeueAfter))
				}
				if most := int(w.clock.Now().Sub(begin)/(5*time.Second)) + 2; s.reads > most {
					t.Errorf("the Secret was read %d times, want at most %d", s.reads, most)
				}
				next := w.pass().RequeueAfter
				s.secret = "new"
				corrected := w.clock.Now()
				for !s.accepted {
					if took := w.clock.Now().Add(next).Sub(corrected); took > 15*time.Second {
						t.Fatalf("the next look is %v after the Secret was corrected, want 15 s at most", took)
					}
					w.clock.SetTime(w.clock.Now().Add(next))
					next = w.pass().RequeueAfter
				}
			})
		}
	}
}

package managed_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/volume"

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
	logins           int  // by Connect
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
					if r.atConnect {
						r.logins++
					}
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

// A rotationWorld has several objects of a rotation. Only the delays that the reconciler returns cause passes.
type rotationWorld struct {
	*world
	*rotation

	due map[string]time.Time // by object
}

// newRotationWorld returns a world whose objects are Synced, and whose password was changed after that.
func newRotationWorld(t *testing.T, atConnect bool, objects int) *rotationWorld {
	t.Helper()
	w := &rotationWorld{newWorld(t), &rotation{password: "old", secret: "old", atConnect: atConnect},
		map[string]time.Time{}}
	w.cache = connection.New(func(string) {}, connection.WithClock(w.clock))
	w.o = append(w.o, managed.WithExternalConnecter(w.connector(w.world)),
		managed.WithLimits(limit.NewSet(limit.WithClock(w.clock))), managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	w.restart()
	for i := range objects {
		name := fmt.Sprintf("v%02d", i)
		w.create(func(v *volume.Volume) { v.Name, v.UID = name, types.UID(name) })
		w.reconcile(name)
		w.due[name] = w.clock.Now().Add(time.Duration(i) * 1300 * time.Millisecond)
	}
	w.password = "new"
	w.cache.Drop("config") // the system has ended the connections
	w.reads, w.logins, w.accepted = 0, 0, false

	return w
}

// reconcile makes a pass over an object, and notes when the next one is due.
func (w *rotationWorld) reconcile(name string) {
	w.Helper()
	result, err := w.r.Reconcile(w.Context(), reconcile.Request{
		NamespacedName: types.NamespacedName{Namespace: key.Namespace, Name: name},
	})
	if err != nil {
		w.Fatal(err)
	}
	w.due[name] = w.clock.Now().Add(result.RequeueAfter)
}

// runUntil makes all passes that are due until a time, or until done returns true. Then it sets the clock to that time.
func (w *rotationWorld) runUntil(until time.Time, done func() bool) {
	w.Helper()
	for !done() {
		next := slices.MinFunc(slices.Collect(maps.Keys(w.due)), func(a, b string) int {
			return cmp.Or(w.due[a].Compare(w.due[b]), strings.Compare(a, b))
		})
		if w.due[next].After(until) {
			w.clock.SetTime(until)

			return
		}
		if w.due[next].After(w.clock.Now()) {
			w.clock.SetTime(w.due[next])
		}
		w.reconcile(next)
	}
}

// TestCorrectedCredentialsAreNoticed verifies that a call is accepted within fifteen seconds after the Secret was
// corrected, with any number of objects, and however long the credentials were wrong. The Secret is not read more often
// than each five seconds.
func TestCorrectedCredentialsAreNoticed(t *testing.T) {
	for name, atConnect := range map[string]bool{"rejected by calls": false, "rejected by Connect": true} {
		for _, objects := range []int{1, 2, 7} {
			t.Run(fmt.Sprintf("%s, %d objects", name, objects), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					for phase := range 10 {
						notice(t, newRotationWorld(t, atConnect, objects), time.Duration(1+phase)*time.Second)
						notice(t, newRotationWorld(t, atConnect, objects), time.Duration(45+phase)*time.Second)
					}
					notice(t, newRotationWorld(t, atConnect, objects), time.Hour)
				})
			})
		}
	}
}

// notice corrects the Secret after a time, and checks when a call is accepted.
func notice(t *testing.T, w *rotationWorld, wrong time.Duration) {
	t.Helper()
	corrected := w.clock.Now().Add(wrong)
	w.runUntil(corrected, func() bool { return false })
	if most := int(wrong/(5*time.Second)) + 2; w.reads > most {
		t.Errorf("wrong for %v: the Secret was read %d times, want at most %d", wrong, w.reads, most)
	}
	w.secret = "new"
	w.runUntil(corrected.Add(15*time.Second), func() bool { return w.accepted })
	if !w.accepted {
		t.Errorf("wrong for %v: no call is accepted within 15 s after the Secret was corrected", wrong)
	}
}

// TestRejectedLoginsAreFew verifies that a system that checks the password in Connect gets as few wrong logins as a
// system that checks it in each call: ever fewer, while the Secret is read every ten seconds. A wrong login in ten
// seconds would lock the account.
func TestRejectedLoginsAreFew(t *testing.T) {
	for _, objects := range []int{1, 2, 7} {
		synctest.Test(t, func(t *testing.T) {
			w := newRotationWorld(t, true, objects)
			w.runUntil(w.clock.Now().Add(time.Hour), func() bool { return false })
			if w.logins > 20 || w.logins < 12 {
				t.Errorf("%d objects: %d logins with the wrong password in an hour, want about one in five minutes",
					objects, w.logins)
			}
			if w.reads < 240 {
				t.Errorf("%d objects: the Secret was read %d times in an hour, want one read in fifteen seconds at least",
					objects, w.reads)
			}
		})
	}
}

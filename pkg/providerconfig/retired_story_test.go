package providerconfig

import (
	"slices"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestRetiredFinalizersGoBeforeUsersAreKnown: a predecessor's finalizer goes before all users are known: nothing
// depends on it once ours is there.
func TestRetiredFinalizersGoBeforeUsersAreKnown(t *testing.T) {
	p, w := retiring(t)
	p.tracker.kindSynced[group.WithKind("Bucket")] = false
	if got := p.pass(w); got != (reconcile.Result{RequeueAfter: time.Second}) {
		t.Errorf("got %+v", got)
	}
	p.wantWrites("ours is added, and theirs removed", "patch main", "patch main")
	if p.load(w); !slices.Equal(w.Finalizers, []string{FinalizerName}) {
		t.Errorf("finalizers %v", w.Finalizers)
	}
}

// TestRetiredFinalizersAreRemovedOnce: a cache that still shows what a predecessor left is behind our own write: it is
// not removed a second time.
func TestRetiredFinalizersAreRemovedOnce(t *testing.T) {
	p, w := retiring(t)
	w.Finalizers = append(w.Finalizers, FinalizerName)
	p.restore(w)
	before := tenant("a", "main")
	p.load(before)
	p.pass(w)
	p.wantWrites("theirs is removed", "patch main")
	p.stale, p.writes = before, nil
	if got := p.pass(w); got != (reconcile.Result{RequeueAfter: time.Second}) {
		t.Errorf("got %+v", got)
	}
	p.wantWrites("the cache lags behind")
}

// TestConfigurationsThatGoInBetween: a configuration that is made anew under its name while it is
// to be kept, or let go, is not the one that was read: the API server refuses a write with the UID
// of that, and there is nothing to keep any more.
func TestConfigurationsThatGoInBetween(t *testing.T) {
	for name, tc := range map[string]struct {
		has     []string
		deleted bool
		after   time.Duration
	}{
		"ours is added":                {nil, false, 0},
		"theirs is removed":            {[]string{theirFinalizer, FinalizerName}, false, 0},
		"theirs is removed at the end": {[]string{theirFinalizer, FinalizerName}, true, 10 * time.Minute},
		"ours is removed at the end":   {[]string{FinalizerName}, true, 10 * time.Minute},
	} {
		p, w := retiring(t)
		w.UID, w.Finalizers = "one", tc.has
		p.restore(w)
		if tc.deleted {
			p.remove(w)
		}
		p.before = func() error {
			now := tenant("a", "main")
			p.load(now)
			now.Finalizers = nil
			if err := p.Client.Update(t.Context(), now); err != nil {
				return err
			}
			if err := client.IgnoreNotFound(p.Client.Delete(t.Context(), now)); err != nil {
				return err
			}
			other := tenant("a", "main")
			other.UID = "other"
			if err := p.Client.Create(t.Context(), other); err != nil {
				return err
			}

			return kerrors.NewInvalid(group.WithKind("Tenant").GroupKind(), "main", nil)
		}
		if got, err := p.try(w); err != nil || got != (reconcile.Result{RequeueAfter: tc.after}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if len(p.writes) != 1 {
			t.Errorf("%s: it goes on with %v", name, p.writes)
		}
	}
}

package managed_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test"
)

// TestTheErrorOfTheFirstReadIsRedacted verifies that the error of the first read is redacted and bounded.
func TestTheErrorOfTheFirstReadIsRedacted(t *testing.T) {
	secret := errors.New("Get https://admin:s3cr3t-canary@10.0.0.1/apis: " + strings.Repeat("x", 5000))
	api := test.NewMockClient()
	api.MockGet = test.NewMockGetFn(secret)
	m := &fake.Manager{Client: api, Scheme: runtime.NewScheme()}
	_ = volume.AddToScheme(m.Scheme)
	_, err := managed.NewReconciler(m, volume.Kind).Reconcile(t.Context(), request())
	if err == nil || strings.Contains(err.Error(), "s3cr3t-canary") || len(err.Error()) > 1024 {
		t.Errorf("%d bytes: %.100v", len(err.Error()), err)
	}
}

// TestErrorsCompareAsAuthorsCompareThem verifies that a redacted error equals its original for test.EquateErrors.
func TestErrorsCompareAsAuthorsCompareThem(t *testing.T) {
	m := &fake.Manager{Client: &test.MockClient{}, Scheme: fake.SchemeWith(&fake.Managed{})}
	r := managed.NewReconciler(m, resource.ManagedKind(fake.GVK(&fake.Managed{})),
		managed.WithExternalConnecter(connecting(
			managed.ExternalClientFns{ObserveFn: seedCases["ExternalObserveError"].external.ObserveFn})))
	_, err := r.Reconcile(t.Context(), reconcile.Request{})
	if d := gocmp.Diff(errors.Wrap(errBoom, "observe failed"), err, test.EquateErrors()); d != "" {
		t.Errorf("-want, +got:\n%s", d)
	}
}

// TestAStaleCacheDoesNotDeleteAgain verifies that the state of an object that is gone is kept while a stale cache
// shows it, so that nothing is deleted by its name again.
func TestAStaleCacheDoesNotDeleteAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(nil)
		seen := w.readBehind(time.Second)
		w.pass()
		seen()
		w.delete()
		seen()
		w.pass() // deletes, and lets go
		w.taken()
		begun := time.Now()
		if result := w.pass(); result.RequeueAfter == 0 || time.Since(begun) > 0 {
			t.Errorf("a pass over what was let go kept a worker for %s, or is the last although the cache shows it: %v",
				time.Since(begun), result)
		}
		w.pass() // the cache lags still, the API server says that it is gone
		if _, calls, _ := w.taken(); mutating(calls) != "" {
			t.Errorf("calls %q", calls)
		}
	})
}

// TestAStaleCacheCostsALiveRead verifies that the live read after a stale one is not part of the request budget.
func TestAStaleCacheCostsALiveRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ledger := newWorld(t), &test.Ledger{}
		w.API = ledger.Count(w.API)
		w.o = append(w.o, managed.WithLogger(ledger.Logger(nil)))
		w.create(nil)
		w.readBehind(time.Second)
		w.pass() // writes what the cache is late with
		ledger.Reset()
		w.pass()
		if got := test.SummarizeRequests(ledger.Lags()); got != "1 GET volumes" || len(ledger.Objects()) > 0 {
			t.Errorf("excused %q, counted %q", got, test.SummarizeRequests(ledger.Objects()))
		}
	})
}

// TestAConditionOfTheClientShowsThePassword verifies that a secret in a condition that was set in this pass is
// redacted.
func TestAConditionOfTheClientShowsThePassword(t *testing.T) {
	p := paths["Condition"]
	p.unseen = false
	for _, text := range send(t, p, forms["published"].text, true) {
		if strings.Contains(text, canary) {
			t.Errorf("seen in: %.300s", text)
		}
	}
}

// TestAPasswordIsForgottenWhenItsResourceIsGone verifies that an observed password is redacted for the rest of the
// pass.
func TestAPasswordIsForgottenWhenItsResourceIsGone(t *testing.T) {
	g := newGallery(t)
	g.o = append(g.o, managed.WithExternalConnectDisconnecter(managed.ExternalConnectDisconnecterFns{
		ConnectFn:    g.cloud.Connect,
		DisconnectFn: func(context.Context) error { return errors.New("session of password-of-vol-1 is broken") },
	}))
	g.restart()
	g.create(secretNamed("login"))
	g.pass()
	g.taken()
	g.delete()
	g.pass()
	for _, e := range g.events {
		if strings.Contains(e.Message, "password-of-vol-1") {
			t.Errorf("%+v", e)
		}
	}
}

// TestWhatWasNotSeenIsDeletedForAnObjectThatIsThereOnly verifies that a new process with a stale cache reads the
// object live before it deletes an unobserved resource by name.
func TestWhatWasNotSeenIsDeletedForAnObjectThatIsThereOnly(t *testing.T) {
	for name, c := range map[string]struct {
		gone, replaced bool
		want           string
	}{
		"there": {want: "Delete"}, "gone": {gone: true}, "replaced": {gone: true, replaced: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, managed.WithDeterministicExternalName(true))
			w.create(nil)
			w.pass()
			w.delete()
			behind := w.get()
			if c.gone {
				w.pass()
			}
			if c.replaced {
				w.create(func(v *volume.Volume) { v.UID = "uid-2" })
				w.pass()
			}
			w.restart()
			w.lag, w.cloud.Hidden = behind, func(string) bool { return true }
			w.taken()
			w.pass()
			if _, calls, _ := w.taken(); mutating(calls) != c.want {
				t.Errorf("calls %q, want %q", calls, c.want)
			}
		})
	}
}

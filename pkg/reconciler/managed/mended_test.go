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

// The error of the very first read is redacted and bounded as all others are.
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

// Tests of providers compare what Reconcile returns with test.EquateErrors: a
// redacted error equals the one that it was made of.
func TestErrorsCompareAsAuthorsCompareThem(t *testing.T) {
	m := &fake.Manager{Client: &test.MockClient{}, Scheme: fake.SchemeWith(&fake.Managed{})}
	r := managed.NewReconciler(m, resource.ManagedKind(fake.GVK(&fake.Managed{})),
		managed.WithExternalConnecter(connecting(managed.ExternalClientFns{ObserveFn: seedCases["ExternalObserveError"].external.ObserveFn})))
	_, err := r.Reconcile(t.Context(), reconcile.Request{})
	if d := gocmp.Diff(errors.Wrap(errBoom, "observe failed"), err, test.EquateErrors()); d != "" {
		t.Errorf("-want, +got:\n%s", d)
	}
}

// A cache may show an object for a while after it is gone. What was known of it is
// kept for that long, so that nobody deletes by its name again.
func TestWhatIsGoneIsNotDeletedAgainBecauseTheCacheShowsIt(t *testing.T) {
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
			t.Errorf("a pass over what was let go kept a worker for %s, or is the last although the cache shows it: %v", time.Since(begun), result)
		}
		w.pass() // the cache lags still, the API server says that it is gone
		if _, calls, _ := w.taken(); mutating(calls) != "" {
			t.Errorf("calls %q", calls)
		}
	})
}

// A budget does not count the read that a late cache costs: the ledger of the tests
// knows what the reconciler says before it.
func TestALateCacheCostsAReadThatNoBudgetCounts(t *testing.T) {
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

// What the object shows itself is no secret and not masked. A condition that was
// set in this pass does not count as shown, or its password would excuse itself.
func TestAConditionOfTheClientShowsThePassword(t *testing.T) {
	p := paths["Condition"]
	p.unseen = false
	for _, text := range send(t, p, forms["published"].text, true) {
		if strings.Contains(text, canary) {
			t.Errorf("seen in: %.300s", text)
		}
	}
}

// What was observed of a password is masked for the rest of the pass, though a
// later observation of it finds nothing: an error of Disconnect may still tell it.
func TestAPasswordIsForgottenWhenItsResourceIsGone(t *testing.T) {
	g := newGallery(t)
	g.o = append(g.o, managed.WithExternalConnectDisconnecter(managed.ExternalConnectDisconnecterFns{
		ConnectFn: g.cloud.Connect, DisconnectFn: func(context.Context) error { return errors.New("session of password-of-vol-1 is broken") },
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

// A process begins, its cache shows an object that was deleted, and the external system
// says wrongly that nothing has its name. What has it may be that of the next object of
// this name: the API server is asked before anything is deleted unseen.
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

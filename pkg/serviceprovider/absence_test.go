package serviceprovider

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
)

const serviceCreated = "ServiceCreated"

// page is the 404 of a proxy, or of an API server that does not serve the kind.
func page(resource, name string) error {
	of := clustersv1alpha1.GroupVersion.WithResource(resource).GroupResource()

	return kerrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet, of, name, "404 page not found", 0, true)
}

// TestDeletionWithoutARequest: an AccessRequest that is not found says that nothing was
// made only if the status of the object says so, too. What was made is cleaned up over
// access that is asked for anew. The finalizer comes before the first call of the domain: a
// status that says nothing, as after a crash or a restore, says that something may be there.
func TestDeletionWithoutARequest(t *testing.T) {
	cases := map[string]struct {
		reason string
		live   func(w *world, f *Foo) // before the deletion
		page   bool                   // the answer to the first look in the deletion is a page
		calls  []string               // of the domain, when the object is gone
	}{
		"Restored":          {"a backup has no status", func(w *world, _ *Foo) { w.gate.unasked = true }, false, []string{"Delete"}},
		"RestoredAndPaused": {"nor does a pause say that nothing was made", func(w *world, f *Foo) { w.paused(f); w.gate.unasked = true }, false, []string{"Delete"}},
		"RestoredAndWaited": {"nor does it say anything that access is asked for since", func(w *world, f *Foo) {
			w.gate.pending = time.Second
			w.steady(f)
			w.gate.pending, w.gate.unasked = 0, true
		}, false, []string{"Delete"}},
		"RestoredAndDenied":  {"nor that it is denied", func(w *world, f *Foo) { w.denied(f); w.gate.unasked = true }, false, []string{"Delete"}},
		"Died":               {"the process dies while the domain works", func(w *world, f *Foo) { w.unhold(f); w.ended(f); w.gate.unasked = true }, false, []string{"CreateOrUpdate", "Delete"}},
		"DiedConfiguredLate": {"there was no configuration before", func(w *world, f *Foo) { w.unhold(f); w.unconfigured(f); w.ended(f); w.gate.unasked = true }, false, []string{"CreateOrUpdate", "Delete"}},
		"Page":               {"a 404 that is not about the request says nothing", func(w *world, f *Foo) { w.steady(f) }, true, []string{"CreateOrUpdate", "Delete"}},
		"PageBefore":         {"nor does it say that there never was one", func(w *world, f *Foo) { w.waits(f); w.gate.unasked = true }, true, nil},
		"Worked":             {"the domain was called, whatever became of the request", func(w *world, f *Foo) { w.steady(f); w.gate.unasked = true }, false, []string{"CreateOrUpdate", "Delete"}},
		"DeniedSince":        {"access was denied later, and nothing was cleaned", func(w *world, f *Foo) { w.steady(f); w.denied(f); w.gate.unasked = true }, false, []string{"CreateOrUpdate", "Delete"}},
		"WorkFailed":         {"an error of the domain may have left something", func(w *world, f *Foo) { w.domain.err = boom; w.fails(f); w.domain.err, w.gate.unasked = nil, true }, false, []string{"CreateOrUpdate", "Delete"}},
		"OldStatus":          {"a status of before this condition says that access was granted", func(w *world, f *Foo) { w.steady(f); w.oldStatus(f); w.gate.unasked = true }, false, []string{"CreateOrUpdate", "Delete"}},
		"NeverAsked":         {"nothing was made", func(w *world, f *Foo) { w.unfilled(f); w.gate.unasked = true }, false, nil},
		"OnlyWaited":         {"the domain was never called", func(w *world, f *Foo) { w.waits(f); w.gate.unasked = true }, false, nil},
		"DeniedFromThen":     {"nothing was made, and nobody is to ask again", func(w *world, f *Foo) { w.unhold(f); w.denied(f); w.gate.unasked, w.gate.err = true, ErrAccessDenied }, false, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			f := w.create("foo", func(f *Foo) { f.Finalizers = []string{finalizer} })
			tc.live(w, f)
			w.Delete(f)
			w.restart() // what is in memory does not count
			if tc.page {
				w.gate.lookErr = page("accessrequests", "foo--mcp")
				w.fails(f)
				w.gate.lookErr = nil
			}
			w.steady(f)
			if diff := cmp.Diff(tc.calls, w.domain.called()); diff != "" || !w.Gone(f) {
				t.Errorf("%s: gone %t, calls of the domain: -want +got:\n%s", tc.reason, w.Gone(f), diff)
			}
		})
	}
}

// TestCleanedOnce: what the domain has cleaned up is not asked for again while access is
// being given back, nor when the request is gone.
func TestCleanedOnce(t *testing.T) {
	w := newWorld(t)
	f := w.create("foo")
	w.steady(f)
	if got := w.condition(f, serviceCreated); got != "True/Created" {
		t.Errorf("got %s", got)
	}
	w.Delete(f)
	w.gate.deleting = time.Second
	w.steady(f)
	if got := w.condition(f, serviceCreated); got != "False/Deleted" {
		t.Errorf("got %s", got)
	}
	w.restart()
	w.gate.unasked = true
	w.steady(f)
	w.gate.deleting = 0
	w.steady(f)
	if diff := cmp.Diff([]string{"CreateOrUpdate", "Delete"}, w.domain.called()); diff != "" || !w.Gone(f) {
		t.Errorf("gone %t, calls of the domain: -want +got:\n%s", w.Gone(f), diff)
	}
}

// TestNothingIsAskedForWhatIsGone: a cache may still show an object that was let go, and its
// status says that something was made. Access that is asked for then is given back by nobody.
func TestNothingIsAskedForWhatIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		unasked bool // the request is gone, too
		restart bool
	}{
		"TheRequestIsGone":  {"it is as it was left", true, false},
		"TheRequestIsThere": {"an access provider may always show one", false, false},
		"AnotherProcess":    {"it does not know who let the object go", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			f := w.create("foo")
			w.steady(f)
			w.Delete(f)
			old := w.get(f)
			w.oldStatus(f)
			w.gate.leaving = true // the runtime before is giving it back: the domain is not called
			if got := w.ends(f); got.Name != "Released" || !w.Gone(f) {
				t.Fatalf("want it to be let go, got %+v", got)
			}
			if tc.restart {
				w.restart()
			}
			w.r.cached = lagging{w.home.Client(), old}
			w.gate.leaving, w.gate.unasked, w.gate.calls = false, tc.unasked, nil
			got := w.ends(f)
			if diff := cmp.Diff([]string{"CreateOrUpdate"}, w.domain.called()); diff != "" || got.Name != "NothingToDo" || len(w.gate.calls) != 0 {
				t.Errorf("%s: the pass ended with %+v, the access provider was asked to %v, calls of the domain: -want +got:\n%s", tc.reason, got, w.gate.calls, diff)
			}
			if len(w.r.memory.objects) != 0 {
				t.Errorf("%s: want nothing in memory", tc.reason)
			}
		})
	}
}

// TestOrphanedShows: what may be left in the clusters is told as long as the object is
// there.
func TestOrphanedShows(t *testing.T) {
	w := newWorld(t)
	f := w.create("foo")
	w.steady(f)
	w.oldStatus(f)
	w.Delete(f)
	w.gate.leaving, w.gate.deleting = true, time.Second
	w.steady(f)
	if got := w.condition(f, serviceCreated); got != "False/Orphaned" {
		t.Errorf("got %s", got)
	}
}

// unhold takes the finalizer off, as it is before the first pass.
func (w *world) unhold(f *Foo) {
	w.Helper()
	w.Change(f, func() { f.Finalizers = nil })
}

// waits lets the first pass wait for access.
func (w *world) waits(f *Foo) {
	w.Helper()
	w.unhold(f)
	w.gate.pending = time.Second
	w.steady(f)
	w.gate.pending = 0
}

// unfilled lets the first pass fail before access is asked for.
func (w *world) unfilled(f *Foo) {
	w.Helper()
	w.Change(f, func() { f.Finalizers, f.Spec.Size = nil, "bad" })
	w.defaults()
	w.fails(f)
	w.build = nil
}

// paused lets a pass find the object paused.
func (w *world) paused(f *Foo) {
	w.Helper()
	w.Change(f, func() { annotated(OperationIgnore)(f) })
	w.steady(f)
	w.Change(f, func() { f.Annotations = nil })
}

// unconfigured lets a pass find no configuration.
func (w *world) unconfigured(f *Foo) {
	w.Helper()
	w.configures(nil, ErrConfigNotFound)
	w.steady(f)
	w.build = nil
	w.restart()
}

// ended lets the process end while the domain works.
func (w *world) ended(f *Foo) {
	w.Helper()
	w.domain.do = func(context.Context, *Foo) error { panic(processEnd{}) }
	w.dies(f)
	w.domain.do = nil
}

// A processEnd is the end of the process, which nothing recovers from.
type processEnd struct{}

func (processEnd) EndsProcess() {}

// dies lets the process end in a pass.
func (w *world) dies(f *Foo) {
	w.Helper()
	defer func() {
		if r := recover(); r != any(processEnd{}) {
			w.Errorf("want the process to end, got %v", r)
		}
	}()
	result, err := w.pass(f)
	w.Errorf("the process went on with %v, %v", result, err)
}

// denied lets access be refused once.
func (w *world) denied(f *Foo) {
	w.Helper()
	w.gate.err = ErrAccessDenied
	w.steady(f)
	w.gate.err = nil
}

// fails lets a pass fail, after which the object is still held.
func (w *world) fails(f *Foo) {
	w.Helper()
	if result, err := w.pass(f); err == nil {
		w.Errorf("want an error, got %+v", result)
	}
	if w.Gone(f) {
		w.Fatal("the object was let go")
	}
}

// oldStatus takes the condition away that other versions did not write.
func (w *world) oldStatus(f *Foo) {
	w.Helper()
	got := w.get(f)
	meta.RemoveStatusCondition(&got.Status.Conditions, serviceCreated)
	w.Must(api.Status().Update(w.Context(), got))
}

// TestStatusIsNotLost: the 404 to a write of the status is no end of an object that is
// there.
func TestStatusIsNotLost(t *testing.T) {
	missing := kerrors.NewNotFound(group.WithResource("foos").GroupResource(), "foo")
	for name, tc := range map[string]struct {
		err  error
		gone bool
		says string
	}{
		"a proxy answers":               {err: page("foos", "foo"), says: "subresource"},
		"there is no status":            {err: missing, says: "subresource"},
		"the object is gone since then": {err: missing, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			f := w.create("foo")
			w.restart()
			w.r.onboarding = clusters.NewTestClusterFromClient("home", refusing{Client: api, answer: func() error {
				if tc.gone {
					w.let(f)
				}

				return tc.err
			}})
			_, err := w.pass(f)
			if (err != nil) != !tc.gone || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("want an error with %q, got %v", tc.says, err)
			}
		})
	}
}

// let takes an object away, finalizers included.
func (w *world) let(f *Foo) {
	w.Helper()
	o := w.get(f)
	w.Change(o, func() { o.Finalizers = nil })
	w.Delete(o)
}

// Refusing is a client whose writes of the status are answered with an error.
type refusing struct {
	client.Client

	answer func() error
}

func (r refusing) Status() client.SubResourceWriter { return refused{r.Client.Status(), r.answer} }

type refused struct {
	client.SubResourceWriter

	answer func() error
}

func (r refused) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return r.answer()
}

// TestConfigIsNotTakenAway: a page in the place of the configuration sends nothing.
func TestConfigIsNotTakenAway(t *testing.T) {
	platform := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return page("fooconfigs", "foo")
		},
	})
	updates := make(chan event.GenericEvent, 1)
	r := NewConfigReconcilerBuilder[*FooConfig]().EmptyObjectProvider(newFooConfig).ProviderName("foo").
		PlatformCluster(clusters.NewTestClusterFromClient("platform", platform)).UpdateChannel(updates).MustBuild()
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "foo"}}); err == nil || len(updates) != 0 {
		t.Errorf("want an error and nothing sent, got %v, %d", err, len(updates))
	}
}

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

// proxyNotFound returns the 404 of a proxy, or of an API server that does not serve the kind.
func proxyNotFound(resource, name string) error {
	of := clustersv1alpha1.GroupVersion.WithResource(resource).GroupResource()

	return kerrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet, of, name, "404 page not found", 0,
		true)
}

// TestDeletionWithMissingRequest verifies that a missing AccessRequest means that nothing was
// created only if the status says so, too. Otherwise access is requested again and Delete is
// called. The finalizer is stored before the first call of the domain, so without conditions, as
// after a crash or a restore, something may exist.
func TestDeletionWithMissingRequest(t *testing.T) {
	cases := map[string]struct {
		reason string
		live   func(w *world, f *Foo) // before the deletion
		page   bool                   // the answer to the first look in the deletion is a page
		calls  []string               // of the domain, when the object is gone
	}{
		"Restored": {
			"a backup has no status", func(w *world, _ *Foo) { w.gate.unasked = true }, false, []string{"Delete"},
		},
		"RestoredAndPaused": {
			"nor does a pause say that nothing was made",
			func(w *world, f *Foo) { w.passPaused(f); w.gate.unasked = true },
			false, []string{"Delete"},
		},
		"RestoredAndWaited": {"nor does it say anything that access is asked for since", func(w *world, f *Foo) {
			w.gate.pending = time.Second
			w.steady(f)
			w.gate.pending, w.gate.unasked = 0, true
		}, false, []string{"Delete"}},
		"RestoredAndDenied": {
			"nor that it is denied", func(w *world, f *Foo) { w.passDenied(f); w.gate.unasked = true }, false,
			[]string{"Delete"},
		},
		"Died": {
			"the process dies while the domain works",
			func(w *world, f *Foo) { w.removeFinalizer(f); w.crashInDomain(f); w.gate.unasked = true }, false,
			[]string{"CreateOrUpdate", "Delete"},
		},
		"DiedConfiguredLate": {"there was no configuration before", func(w *world, f *Foo) {
			w.removeFinalizer(f)
			w.passWithoutConfig(f)
			w.crashInDomain(f)
			w.gate.unasked = true
		}, false, []string{"CreateOrUpdate", "Delete"}},
		"Page": {
			"a 404 that is not about the request says nothing", func(w *world, f *Foo) { w.steady(f) }, true,
			[]string{"CreateOrUpdate", "Delete"},
		},
		"PageBefore": {
			"nor does it say that there never was one",
			func(w *world, f *Foo) { w.passPending(f); w.gate.unasked = true }, true,
			nil,
		},
		"Worked": {
			"the domain was called, whatever became of the request",
			func(w *world, f *Foo) { w.steady(f); w.gate.unasked = true }, false, []string{"CreateOrUpdate", "Delete"},
		},
		"DeniedSince": {
			"access was denied later, and nothing was cleaned",
			func(w *world, f *Foo) { w.steady(f); w.passDenied(f); w.gate.unasked = true }, false,
			[]string{"CreateOrUpdate", "Delete"},
		},
		"WorkFailed": {
			"an error of the domain may have left something",
			func(w *world, f *Foo) { w.domain.err = boom; w.passFails(f); w.domain.err, w.gate.unasked = nil, true },
			false,
			[]string{"CreateOrUpdate", "Delete"},
		},
		"OldStatus": {
			"a status of before this condition says that access was granted",
			func(w *world, f *Foo) { w.steady(f); w.removeServiceCreated(f); w.gate.unasked = true }, false,
			[]string{"CreateOrUpdate", "Delete"},
		},
		"NeverAsked": {
			"nothing was made", func(w *world, f *Foo) { w.passDefaultFails(f); w.gate.unasked = true }, false, nil,
		},
		"OnlyWaited": {
			"the domain was never called", func(w *world, f *Foo) { w.passPending(f); w.gate.unasked = true }, false,
			nil,
		},
		"DeniedFromThen": {"nothing was made, and nobody is to ask again", func(w *world, f *Foo) {
			w.removeFinalizer(f)
			w.passDenied(f)
			w.gate.unasked, w.gate.err = true, ErrAccessDenied
		}, false, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			f := w.create("foo", func(f *Foo) { f.Finalizers = []string{finalizer} })
			tc.live(w, f)
			w.Delete(f)
			w.restart() // what is in memory does not count
			if tc.page {
				w.gate.lookErr = proxyNotFound("accessrequests", "foo--mcp")
				w.passFails(f)
				w.gate.lookErr = nil
			}
			w.steady(f)
			if diff := cmp.Diff(tc.calls, w.domain.called()); diff != "" || !w.Gone(f) {
				t.Errorf("%s: gone %t, calls of the domain: -want +got:\n%s", tc.reason, w.Gone(f), diff)
			}
		})
	}
}

// TestDeleteIsNotRepeatedAfterSuccess verifies that access is not requested again for Delete while
// it is being released, nor after the request is gone.
func TestDeleteIsNotRepeatedAfterSuccess(t *testing.T) {
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

// TestNoAccessRequestForStaleObject verifies that no access is requested for an object that only a
// stale cache contains: that access would never be released.
func TestNoAccessRequestForStaleObject(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		unasked bool // the request is gone, too
		restart bool
		leaving bool // the request is being deleted
	}{
		"TheRequestIsGone":         {"it is as it was left", true, false, false},
		"TheRequestIsThere":        {"an access provider may always show one", false, false, false},
		"AnotherProcess":           {"it does not know who let the object go", true, true, false},
		"TheRequestIsBeingDeleted": {"access would be requested again", false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			f := w.create("foo")
			w.steady(f)
			w.Delete(f)
			old := w.get(f)
			w.removeServiceCreated(f)
			w.gate.leaving = true // the runtime before is giving it back: the domain is not called
			if got := w.run(f); got.Name != "Released" || !w.Gone(f) {
				t.Fatalf("want it to be let go, got %+v", got)
			}
			if tc.restart {
				w.restart()
			}
			w.r.cache = staleReader{w.home.Client(), old}
			w.gate.leaving, w.gate.unasked, w.gate.calls = tc.leaving, tc.unasked, nil
			got := w.run(f)
			if diff := cmp.Diff([]string{"CreateOrUpdate"}, w.domain.called()); diff != "" ||
				got.Name != "NothingToDo" ||
				len(w.gate.calls) != 0 {
				t.Errorf(
					"%s: the pass ended with %+v, the access provider was asked to %v, calls of the domain: -want +got:\n%s",
					tc.reason, got, w.gate.calls, diff)
			}
			if w.r.states.Len() != 0 {
				t.Errorf("%s: want nothing in memory", tc.reason)
			}
		})
	}
}

// TestOrphanedCondition verifies that ServiceCreated says Orphaned while the object still exists.
func TestOrphanedCondition(t *testing.T) {
	w := newWorld(t)
	f := w.create("foo")
	w.steady(f)
	w.removeServiceCreated(f)
	w.Delete(f)
	w.gate.leaving, w.gate.deleting = true, time.Second
	w.steady(f)
	if got := w.condition(f, serviceCreated); got != "False/Orphaned" {
		t.Errorf("got %s", got)
	}
}

// removeFinalizer removes the finalizer, as it is before the first pass.
func (w *world) removeFinalizer(f *Foo) {
	w.Helper()
	w.Change(f, func() { f.Finalizers = nil })
}

// passPending runs a pass while access is pending.
func (w *world) passPending(f *Foo) {
	w.Helper()
	w.removeFinalizer(f)
	w.gate.pending = time.Second
	w.steady(f)
	w.gate.pending = 0
}

// passDefaultFails runs a pass that fails before access is requested.
func (w *world) passDefaultFails(f *Foo) {
	w.Helper()
	w.Change(f, func() { f.Finalizers, f.Spec.Size = nil, "bad" })
	w.setDefaulter()
	w.passFails(f)
	w.build = nil
}

// passPaused runs a pass while the object is paused.
func (w *world) passPaused(f *Foo) {
	w.Helper()
	w.Change(f, func() { annotated(OperationIgnore)(f) })
	w.steady(f)
	w.Change(f, func() { f.Annotations = nil })
}

// passWithoutConfig runs a pass without a configuration.
func (w *world) passWithoutConfig(f *Foo) {
	w.Helper()
	w.setConfigSource(nil, ErrConfigNotFound)
	w.steady(f)
	w.build = nil
	w.restart()
}

// crashInDomain ends the process during a call of the domain.
func (w *world) crashInDomain(f *Foo) {
	w.Helper()
	w.domain.do = func(context.Context, *Foo) error { panic(processEnd{}) }
	w.crash(f)
	w.domain.do = nil
}

// processEnd is a panic that ends the process; nothing recovers from it.
type processEnd struct{}

func (processEnd) EndsProcess() {}

// crash ends the process during a pass.
func (w *world) crash(f *Foo) {
	w.Helper()
	defer func() {
		if r := recover(); r != any(processEnd{}) {
			w.Errorf("want the process to end, got %v", r)
		}
	}()
	result, err := w.pass(f)
	w.Errorf("the process went on with %v, %v", result, err)
}

// passDenied runs a pass while access is denied.
func (w *world) passDenied(f *Foo) {
	w.Helper()
	w.gate.err = ErrAccessDenied
	w.steady(f)
	w.gate.err = nil
}

// passFails runs a pass that fails; the object keeps the finalizer.
func (w *world) passFails(f *Foo) {
	w.Helper()
	if result, err := w.pass(f); err == nil {
		w.Errorf("want an error, got %+v", result)
	}
	if w.Gone(f) {
		w.Fatal("the object was let go")
	}
}

// removeServiceCreated removes the condition that older versions did not write.
func (w *world) removeServiceCreated(f *Foo) {
	w.Helper()
	got := w.get(f)
	meta.RemoveStatusCondition(&got.Status.Conditions, serviceCreated)
	w.Must(api.Status().Update(w.Context(), got))
}

// TestStatusWriteNotFound verifies that a 404 of a status write is an error while the object
// exists.
func TestStatusWriteNotFound(t *testing.T) {
	missing := kerrors.NewNotFound(group.WithResource("foos").GroupResource(), "foo")
	for name, tc := range map[string]struct {
		err  error
		gone bool
		says string
	}{
		"a proxy answers":               {err: proxyNotFound("foos", "foo"), says: "subresource"},
		"there is no status":            {err: missing, says: "subresource"},
		"the object is gone since then": {err: missing, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			f := w.create("foo")
			w.restart()
			w.r.onboarding = clusters.NewTestClusterFromClient("home",
				failingStatusClient{Client: api, answer: func() error {
					if tc.gone {
						w.deleteForce(f)
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

// deleteForce deletes an object including its finalizers.
func (w *world) deleteForce(f *Foo) {
	w.Helper()
	o := w.get(f)
	w.Change(o, func() { o.Finalizers = nil })
	w.Delete(o)
}

// failingStatusClient is a client whose status writes fail.
type failingStatusClient struct {
	client.Client

	answer func() error
}

func (r failingStatusClient) Status() client.SubResourceWriter {
	return failingStatusWriter{r.Client.Status(), r.answer}
}

type failingStatusWriter struct {
	client.SubResourceWriter

	answer func() error
}

func (r failingStatusWriter) Patch(
	context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption,
) error {
	return r.answer()
}

// TestConfigReconcilerIgnoresProxyNotFound verifies that the 404 of a proxy sends no event.
func TestConfigReconcilerIgnoresProxyNotFound(t *testing.T) {
	platform := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return proxyNotFound("fooconfigs", "foo")
		},
	})
	updates := make(chan event.GenericEvent, 1)
	r := NewConfigReconcilerBuilder[*FooConfig]().EmptyObjectProvider(newFooConfig).ProviderName("foo").
		PlatformCluster(clusters.NewTestClusterFromClient("platform", platform)).UpdateChannel(updates).MustBuild()
	if _, err := r.Reconcile(t.Context(), reconcile.Request{
		NamespacedName: client.ObjectKey{Name: "foo"},
	}); err == nil || len(updates) != 0 {
		t.Errorf("want an error and nothing sent, got %v, %d", err, len(updates))
	}
}

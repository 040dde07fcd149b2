package syncer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// useFakeManagers replaces the managers by fake ones.
func (w *world) useFakeManagers() (host, virtual *fakeManager) {
	steps := &stepLog{}
	host, virtual = newFakeManager("host", w.reg.PhysicalManager, steps), newFakeManager(
		"virtual", w.reg.VirtualManager, steps)
	w.reg.PhysicalManager, w.reg.VirtualManager = host, virtual
	return host, virtual
}

// An optionsSyncer defines its own options.
type optionsSyncer struct {
	*mapSyncer

	options syncer.Options
}

func (c optionsSyncer) SyncerOptions() syncer.Options { return c.options }

// TestControllerOptions verifies the number of workers and the backoff of the
// controllers.
func TestControllerOptions(t *testing.T) {
	w := newWorld(t, worldOptions{})
	_, virtual := w.useFakeManagers()
	w.Must(syncer.AddItem(w.reg, optionsSyncer{w.syncer, syncer.Options{MaxConcurrentReconciles: 7}}))
	w.Must(syncer.AddItem(w.reg, fakeConfigMaps{}))
	if diff := cmp.Diff([]string{
		"virtual runs configmaps with 7 workers", "virtual runs faker with 1 workers",
	}, virtual.steps.all()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for _, l := range virtual.limiters {
		request := ctrl.Request{NamespacedName: types.NamespacedName{Name: "a"}}
		first := l.When(request)
		for range 20 {
			l.When(request)
		}
		if last := l.When(request); first != ratelimiter.BackOffBase || last != ratelimiter.BackOffMax {
			t.Errorf("backoff from %s to %s", first, last)
		}
	}
}

// TestControllerReconcilesEventsOfBothClusters verifies that events of both clusters lead
// to passes.
func TestControllerReconcilesEventsOfBothClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a"), virtualMap("b")}})
		host, virtual := w.useFakeManagers()
		w.Must(syncer.AddItem(w.reg, w.syncer))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- virtual.Start(ctx) }()
		synctest.Wait()
		virtual.cache.deliver(virtualMap("a"))
		host.cache.deliver(imageOf("b")) // as it was
		synctest.Wait()
		if diff := cmp.Diff([]string{imageOf("a").Name, imageOf("b").Name}, w.hostNames()); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
		stop()
		w.Must(<-ended)
		synctest.Wait()
	})
}

// A modifyingSyncer is a ControllerModifier, which may fail.
type modifyingSyncer struct {
	*mapSyncer

	err error
}

func (m modifyingSyncer) ModifyController(
	_ *synccontext.RegisterContext, b *builder.Builder,
) (*builder.Builder, error) {
	return b.Named("modified"), m.err
}

// TestControllerModifier verifies that the modified controller runs and that an error is
// returned.
func TestControllerModifier(t *testing.T) {
	w := newWorld(t, worldOptions{})
	_, virtual := w.useFakeManagers()
	w.Must(syncer.AddItem(w.reg, modifyingSyncer{w.syncer, nil}))
	if err := syncer.AddItem(w.reg, modifyingSyncer{w.syncer, errBoom}); !errors.Is(err, errBoom) ||
		!strings.HasPrefix(err.Error(), `cannot modify the controller of "configmaps"`) {
		t.Errorf("got error %v", err)
	}
	if diff := cmp.Diff([]string{"virtual runs modified with 1 workers"}, virtual.steps.all()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestAddItemKindNotServed verifies that the error names the cluster that does not serve
// the kind, and that this is checked before the identity of the virtual cluster is read.
func TestAddItemKindNotServed(t *testing.T) {
	cases := map[string]struct {
		item   func(w *world) syncer.Base
		change func(host, virtual *fakeManager)
		is     error
		want   string
	}{
		"Virtual": {
			func(w *world) syncer.Base { return w.syncer },
			func(_, v *fakeManager) { v.mapper = meta.NewDefaultRESTMapper(nil) }, translate.ErrKindNotServed,
			`cannot register syncer "configmaps": /v1, Kind=ConfigMap in the virtual cluster`,
		},
		"Host": {
			func(w *world) syncer.Base { return w.syncer },
			func(h, _ *fakeManager) { h.mapper = meta.NewDefaultRESTMapper(nil) }, translate.ErrKindNotServed,
			`cannot register syncer "configmaps": /v1, Kind=ConfigMap in the physical cluster`,
		},
		"Fake": {
			func(*world) syncer.Base { return fakeConfigMaps{} },
			func(_, v *fakeManager) { v.mapper = meta.NewDefaultRESTMapper(nil) }, translate.ErrKindNotServed,
			`cannot register fake syncer "faker": /v1, Kind=ConfigMap in the virtual cluster`,
		},
		"Down": {
			func(w *world) syncer.Base { return w.syncer }, func(h, _ *fakeManager) { h.mapper = downMapper{h.mapper} }, errBoom,
			`cannot register syncer "configmaps": cannot discover ConfigMap in the physical cluster: boom`,
		},
		"Unknown": {func(w *world) syncer.Base { return w.syncer }, func(_, v *fakeManager) {
			v.Manager = readerManager{v.Manager, &scriptedReader{responses: []identityResponse{{err: errBoom}}}}
		}, errBoom, `cannot register syncer "configmaps": cannot read the namespace kube-system of the virtual cluster`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{})
			host, virtual := w.useFakeManagers()
			virtual.Manager = readerManager{virtual.Manager, nil} // reading the identity would panic
			tc.change(host, virtual)
			if err := syncer.AddItem(w.reg, tc.item(w)); !errors.Is(err, tc.is) || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
			if added := virtual.steps.all(); added != nil {
				t.Errorf("added: %v", added)
			}
		})
	}
}

// A downMapper is the mapper of a cluster that does not answer.
type downMapper struct{ meta.RESTMapper }

func (downMapper) RESTMapping(_ schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	return nil, errBoom
}

// TestFakeSyncerContextAndReadError verifies that a fake syncer is called with the
// context of its pass, and not at all if the read fails.
func TestFakeSyncerContextAndReadError(t *testing.T) {
	type key struct{}
	w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}})
	tenant := &interceptingClient{Client: w.API}
	w.reg.VirtualManager = clientManager{w.reg.VirtualManager, tenant}
	seen, calls := false, []string(nil)
	pass := syncer.FakeReconciler(w.reg, contextFakeSyncer{
		fakeConfigMaps{calls: &calls}, func(ctx *synccontext.SyncContext) { seen = ctx.Context.Value(key{}) == "pass" },
	})
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: home, Name: "a"}}
	if _, err := pass(context.WithValue(t.Context(), key{}, "pass"), request); err != nil || !seen {
		t.Errorf("got error %v, in its context: %t", err, seen)
	}
	tenant.answer = func(int, *corev1.ConfigMap) (bool, error) { return true, errBoom }
	calls = nil
	if _, err := pass(t.Context(), request); !errors.Is(err, errBoom) || !cmp.Equal(calls, []string{"start", "end"}) {
		t.Errorf("got error %v, calls %q", err, calls)
	}
}

// A contextFakeSyncer observes its context.
type contextFakeSyncer struct {
	fakeConfigMaps

	observe func(*synccontext.SyncContext)
}

func (f contextFakeSyncer) FakeSync(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error) {
	f.observe(ctx)
	return f.fakeConfigMaps.FakeSync(ctx, vObj)
}

// A recordingTypedSyncer records its calls.
type recordingTypedSyncer struct {
	minimalSyncer

	calls *[]string
}

func (s recordingTypedSyncer) Sync(_ *synccontext.SyncContext, p, v *corev1.ConfigMap) (ctrl.Result, error) {
	*s.calls = append(*s.calls, "Sync "+p.Name+" "+v.Name)
	return ctrl.Result{RequeueAfter: time.Second}, nil
}

func (s recordingTypedSyncer) SyncDown(_ *synccontext.SyncContext, v *corev1.ConfigMap) (ctrl.Result, error) {
	*s.calls = append(*s.calls, "SyncDown "+v.Name)
	return ctrl.Result{RequeueAfter: time.Second}, nil
}

func (s recordingTypedSyncer) SyncUp(_ *synccontext.SyncContext, p *corev1.ConfigMap) (ctrl.Result, error) {
	*s.calls = append(*s.calls, "SyncUp "+p.Name)
	return ctrl.Result{RequeueAfter: time.Second}, nil
}

// TestFromTypedCalls verifies that objects of the type are passed to the typed syncer and
// that any other type is an error that names both types.
func TestFromTypedCalls(t *testing.T) {
	var calls []string
	s := syncer.FromTyped(&corev1.ConfigMap{}, recordingTypedSyncer{calls: &calls})
	up, _ := syncer.As[syncer.UpSyncer](s)
	p, v, other := imageOf("a"), virtualMap("a"), &corev1.Secret{}
	cases := map[string]struct {
		call func() (ctrl.Result, error)
		want string // "": refused
	}{
		"Sync":      {func() (ctrl.Result, error) { return s.Sync(nil, p, v) }, "Sync " + p.Name + " a"},
		"SyncHost":  {func() (ctrl.Result, error) { return s.Sync(nil, other, v) }, ""},
		"SyncHere":  {func() (ctrl.Result, error) { return s.Sync(nil, p, other) }, ""},
		"SyncDown":  {func() (ctrl.Result, error) { return s.SyncDown(nil, v) }, "SyncDown a"},
		"DownOther": {func() (ctrl.Result, error) { return s.SyncDown(nil, other) }, ""},
		"SyncUp":    {func() (ctrl.Result, error) { return up.SyncUp(nil, p) }, "SyncUp " + p.Name},
		"UpOther":   {func() (ctrl.Result, error) { return up.SyncUp(nil, other) }, ""},
	}
	for name, tc := range cases {
		calls = nil
		result, err := tc.call()
		if tc.want == "" {
			if err == nil || err.Error() != "cannot sync a *v1.Secret: the syncer is for *v1.ConfigMap" || calls != nil ||
				!result.IsZero() {
				t.Errorf("%s: got %v, %v, calls %q", name, result, err, calls)
			}
			continue
		}
		if err != nil || result.RequeueAfter != time.Second || !cmp.Equal(calls, []string{tc.want}) {
			t.Errorf("%s: got %v, %v, calls %q", name, result, err, calls)
		}
	}
}

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

// processes puts a world's clusters into processes.
func (w *world) processes() (host, virtual *process) {
	told := &journal{}
	host, virtual = newProcess("host", w.reg.PhysicalManager, told), newProcess("virtual", w.reg.VirtualManager, told)
	w.reg.PhysicalManager, w.reg.VirtualManager = host, virtual
	return host, virtual
}

// choosing is a syncer that brings its options.
type choosing struct {
	*mapSyncer

	o syncer.Options
}

func (c choosing) SyncerOptions() syncer.Options { return c.o }

// TestControllersOfSyncers says what is made of a syncer: it has as many workers as its options say, which try again after a second at first and a minute at most.
func TestControllersOfSyncers(t *testing.T) {
	w := newWorld(t, setting{})
	_, virtual := w.processes()
	w.Must(syncer.Add(w.reg, choosing{w.syncer, syncer.Options{MaxConcurrentReconciles: 7}}))
	w.Must(syncer.Add(w.reg, faker{}))
	if diff := cmp.Diff([]string{"virtual runs configmaps with 7 workers", "virtual runs faker with 1 workers"}, virtual.told.all()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for _, l := range virtual.limiters {
		request := ctrl.Request{NamespacedName: types.NamespacedName{Name: "a"}}
		first := l.When(request)
		for range 20 {
			l.When(request)
		}
		if last := l.When(request); first != ratelimiter.BackOffBase || last != ratelimiter.BackOffMax {
			t.Errorf("tries again after %s, and at last %s", first, last)
		}
	}
}

// TestControllerOfASyncer: events of both clusters lead to passes.
func TestControllerOfASyncer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setting{v: []runtime.Object{virtualMap("a"), virtualMap("b")}})
		host, virtual := w.processes()
		w.Must(syncer.Add(w.reg, w.syncer))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- virtual.Start(ctx) }()
		synctest.Wait()
		virtual.cache.shows(virtualMap("a"))
		host.cache.shows(imageOf("b")) // as it was
		synctest.Wait()
		if diff := cmp.Diff([]string{imageOf("a").Name, imageOf("b").Name}, w.hostNames()); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
		stop()
		w.Must(<-ended)
		synctest.Wait()
	})
}

// modifying is an item that changes its controller, or cannot.
type modifying struct {
	*mapSyncer

	err error
}

func (m modifying) ModifyController(_ *synccontext.RegisterContext, b *builder.Builder) (*builder.Builder, error) {
	return b.Named("modified"), m.err
}

// TestControllerIsModified: what a ControllerModifier returns is what runs, and its error is told.
func TestControllerIsModified(t *testing.T) {
	w := newWorld(t, setting{})
	_, virtual := w.processes()
	w.Must(syncer.Add(w.reg, modifying{w.syncer, nil}))
	if err := syncer.Add(w.reg, modifying{w.syncer, errBoom}); !errors.Is(err, errBoom) || !strings.HasPrefix(err.Error(), `cannot modify the controller of "configmaps"`) {
		t.Errorf("got error %v", err)
	}
	if diff := cmp.Diff([]string{"virtual runs modified with 1 workers"}, virtual.told.all()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestKindsThatAreNotServed: it is said in which cluster a kind is not served, before the virtual cluster is asked who it is.
func TestKindsThatAreNotServed(t *testing.T) {
	cases := map[string]struct {
		item   func(w *world) syncer.Base
		change func(host, virtual *process)
		is     error
		want   string
	}{
		"Virtual": {func(w *world) syncer.Base { return w.syncer }, func(_, v *process) { v.mapper = meta.NewDefaultRESTMapper(nil) }, translate.ErrKindNotServed, `cannot register syncer "configmaps": /v1, Kind=ConfigMap in the virtual cluster`},
		"Host":    {func(w *world) syncer.Base { return w.syncer }, func(h, _ *process) { h.mapper = meta.NewDefaultRESTMapper(nil) }, translate.ErrKindNotServed, `cannot register syncer "configmaps": /v1, Kind=ConfigMap in the physical cluster`},
		"Fake":    {func(*world) syncer.Base { return faker{} }, func(_, v *process) { v.mapper = meta.NewDefaultRESTMapper(nil) }, translate.ErrKindNotServed, `cannot register fake syncer "faker": /v1, Kind=ConfigMap in the virtual cluster`},
		"Down":    {func(w *world) syncer.Base { return w.syncer }, func(h, _ *process) { h.mapper = downMapper{h.mapper} }, errBoom, `cannot register syncer "configmaps": cannot ask the physical cluster for ConfigMap: boom`},
		"Unknown": {func(w *world) syncer.Base { return w.syncer }, func(_, v *process) {
			v.Manager = managerOf{v.Manager, &answers{who: []says{{err: errBoom}}}}
		}, errBoom, `cannot register syncer "configmaps": cannot read the namespace kube-system of the virtual cluster`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{})
			host, virtual := w.processes()
			virtual.Manager = managerOf{virtual.Manager, nil} // whoever asks it who it is panics
			tc.change(host, virtual)
			if err := syncer.Add(w.reg, tc.item(w)); !errors.Is(err, tc.is) || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
			if added := virtual.told.all(); added != nil {
				t.Errorf("added: %v", added)
			}
		})
	}
}

// downMapper is that of a cluster that does not answer.
type downMapper struct{ meta.RESTMapper }

func (downMapper) RESTMapping(_ schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	return nil, errBoom
}

// TestFakeSyncerReads: a fake syncer is called in the context of its pass, and not at all if it cannot be told whether there is an object.
func TestFakeSyncerReads(t *testing.T) {
	type key struct{}
	w := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}})
	tenant := &answering{Client: w.API}
	w.reg.VirtualManager = clientOf{w.reg.VirtualManager, tenant}
	seen, calls := false, []string(nil)
	pass := syncer.FakeReconciler(w.reg, watching{faker{calls: &calls}, func(ctx *synccontext.SyncContext) { seen = ctx.Context.Value(key{}) == "pass" }})
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

// watching is a faker that sees its context.
type watching struct {
	faker

	sees func(*synccontext.SyncContext)
}

func (f watching) FakeSync(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error) {
	f.sees(ctx)
	return f.faker.FakeSync(ctx, vObj)
}

// telling is a typed syncer that tells what it is given.
type telling struct {
	bare

	told *[]string
}

func (s telling) Sync(_ *synccontext.SyncContext, p, v *corev1.ConfigMap) (ctrl.Result, error) {
	*s.told = append(*s.told, "Sync "+p.Name+" "+v.Name)
	return ctrl.Result{RequeueAfter: time.Second}, nil
}

func (s telling) SyncDown(_ *synccontext.SyncContext, v *corev1.ConfigMap) (ctrl.Result, error) {
	*s.told = append(*s.told, "SyncDown "+v.Name)
	return ctrl.Result{RequeueAfter: time.Second}, nil
}

func (s telling) SyncUp(_ *synccontext.SyncContext, p *corev1.ConfigMap) (ctrl.Result, error) {
	*s.told = append(*s.told, "SyncUp "+p.Name)
	return ctrl.Result{RequeueAfter: time.Second}, nil
}

// TestTypedSyncer: objects of its type are handed on as what they are, and one of another type is an error that names both.
func TestTypedSyncer(t *testing.T) {
	var told []string
	s := syncer.FromTyped(&corev1.ConfigMap{}, telling{told: &told})
	up, _ := syncer.As[syncer.UpSyncer](s)
	p, v, other := imageOf("a"), virtualMap("a"), &corev1.Secret{}
	cases := map[string]struct {
		call func() (ctrl.Result, error)
		told string // "": refused
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
		told = nil
		result, err := tc.call()
		if tc.told == "" {
			if err == nil || err.Error() != "cannot sync a *v1.Secret: the syncer is for *v1.ConfigMap" || told != nil || !result.IsZero() {
				t.Errorf("%s: got %v, %v, told %q", name, result, err, told)
			}
			continue
		}
		if err != nil || result.RequeueAfter != time.Second || !cmp.Equal(told, []string{tc.told}) {
			t.Errorf("%s: got %v, %v, told %q", name, result, err, told)
		}
	}
}

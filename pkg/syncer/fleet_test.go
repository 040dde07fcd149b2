package syncer_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// A fleetSyncer is the syncer of one virtual cluster in a fleet. Its passes block until
// the test ends them.
type fleetSyncer struct {
	*mapSyncer
	stepItem

	pass chan struct{} // closed: passes end at once
}

func (s fleetSyncer) Name() string { return s.stepItem.Name() }
func (s fleetSyncer) RegisterIndices(ctx *synccontext.RegisterContext) error {
	return s.stepItem.RegisterIndices(ctx)
}

func (s fleetSyncer) SyncDown(*synccontext.SyncContext, client.Object) (ctrl.Result, error) {
	s.steps.add("%s: down", s.stepItem.name)
	<-s.pass
	s.steps.add("%s: done", s.stepItem.name)
	return ctrl.Result{}, nil
}

// A fleetTest is a Fleet with a host and a virtual cluster.
type fleetTest struct {
	*world
	*syncer.Fleet[string]

	steps         *stepLog
	host, virtual *fakeManager
	contexts      []*synccontext.RegisterContext
	pass          chan struct{}
	failStep      string // a step, or "new"
	ended         chan error
}

func newFleet(t *testing.T) *fleetTest {
	w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}})
	f := &fleetTest{world: w, steps: &stepLog{}, pass: make(chan struct{}), ended: make(chan error, 1)}
	f.host, f.virtual = newFakeManager("host", w.reg.PhysicalManager, f.steps), newFakeManager(
		"virtual", w.reg.VirtualManager, f.steps)
	f.Fleet = syncer.NewFleet(f.host, func(name string, ctx *synccontext.RegisterContext) (syncer.Syncer, error) {
		f.contexts = append(f.contexts, ctx)
		number := fmt.Sprintf("%s %d", name, len(f.contexts))
		s := fleetSyncer{newMapSyncer(ctx), stepItem{name: number, steps: f.steps, failStep: f.failStep}, f.pass}
		if f.failStep == "new" {
			return s, errBoom
		}
		return s, nil
	})
	return f
}

// engage engages the virtual cluster under a name and returns a function that disengages
// it.
func (f *fleetTest) engage(name string) context.CancelFunc {
	f.Helper()
	ctx, disengage := context.WithCancel(f.Context())
	f.Must(f.Engage(ctx, name, f.virtual))
	synctest.Wait()
	return disengage
}

func (f *fleetTest) start(ctx context.Context) {
	go func() { f.ended <- f.Fleet.Start(ctx) }()
	synctest.Wait()
}

// deliverVirtual delivers an event of the virtual object and returns the number of
// handlers.
func (f *fleetTest) deliverVirtual() int {
	n := f.virtual.cache.deliver(virtualMap("a"))
	synctest.Wait()
	return n
}

func (f *fleetTest) wantSteps(reason string, want ...string) {
	f.Helper()
	if diff := cmp.Diff(want, f.steps.all()); diff != "" {
		f.Errorf("%s\nsteps: -want, +got:\n%s", reason, diff)
	}
	f.steps.mu.Lock()
	defer f.steps.mu.Unlock()
	f.steps.steps = nil
}

// TestFleetEngage verifies that an engaged cluster gets its own syncer with the right
// context, that the syncer runs from the start of the fleet, and that it ends with the
// cluster or the fleet.
func TestFleetEngage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		close(f.pass)
		ctx, stop := context.WithCancel(t.Context())
		disengage := f.engage("red")
		f.wantSteps(
			"All steps run, and the controller is not added to another manager.", "red 1: init", "red 1: indices",
			"red 1: register")
		if f.deliverVirtual() != 0 {
			t.Error("a controller runs before the fleet has started")
		}
		reg := f.contexts[0]
		if diff := cmp.Diff(
			&synccontext.VirtualClusterOptions{Name: "red", TargetNamespace: "red"}, reg.Options); diff != "" {
			t.Errorf("options: -want, +got:\n%s", diff)
		}
		if reg.TargetNamespace != "red" || reg.CurrentNamespace != "red" ||
			*reg.Names != (translate.Names{Suffix: "red", Cluster: "first"}) {
			t.Errorf("got %q, %q, %v", reg.TargetNamespace, reg.CurrentNamespace, reg.Names)
		}
		if reg.VirtualManager.GetClient() != client.Client(f.API) || reg.PhysicalManager.GetClient() != client.Client(f.p) ||
			reg.CurrentNamespaceClient != client.Client(f.p) {
			t.Error("the clients of the clusters are exchanged")
		}
		f.start(ctx)
		if virtual, host := f.deliverVirtual(), f.host.cache.deliver(imageOf("b", unowned)); virtual != 1 || host != 1 {
			t.Errorf("%d handlers of the virtual cluster, %d of the host, want one of each", virtual, host)
		}
		f.wantSteps("The controller runs.", "red 1: down", "red 1: done")
		disengage()
		synctest.Wait()
		if f.host.cache.deliver(imageOf("b", unowned)) != 0 {
			t.Error("a disengaged cluster still has a handler on the host")
		}
		f.engage("red")
		f.engage("blue")
		f.deliverVirtual()
		stop()
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		for _, reg := range f.contexts {
			if reg.Context.Err() == nil {
				t.Error("the context of a syncer outlives the fleet")
			}
		}
		f.virtual.Manager = readerManager{f.virtual.Manager, nil} // reading the identity would panic
		if err := f.Engage(t.Context(), "late", f.virtual); err == nil ||
			!strings.Contains(err.Error(), `"late": the fleet has stopped`) || len(f.contexts) != 3 {
			t.Errorf("engaged after the end: got error %v", err)
		}
	})
}

// TestFleetAwaitsFormerSyncer verifies that a cluster that is engaged again, and the
// end of the fleet, wait for the last pass of the former syncer. A syncer that was
// disengaged before the start delays nothing.
func TestFleetAwaitsFormerSyncer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		ctx, stop := context.WithCancel(t.Context())
		f.engage("red")()
		synctest.Wait()
		disengage := f.engage("red")
		f.start(ctx)
		f.steps.steps = nil
		f.deliverVirtual()
		disengage()
		f.engage("red")
		f.deliverVirtual()
		f.wantSteps(
			"The pass continues and no other one starts.", "red 2: down", "red 3: init", "red 3: indices", "red 3: register")
		f.pass <- struct{}{}
		synctest.Wait()
		f.deliverVirtual()
		f.wantSteps("The former syncer has stopped and the new one runs.", "red 2: done", "red 3: down")
		stop()
		synctest.Wait()
		if len(f.ended) != 0 {
			t.Error("the fleet ended during a pass")
		}
		f.pass <- struct{}{}
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
		f.wantSteps("The pass has ended.", "red 3: done")
		synctest.Wait()
	})
}

// TestFleetEngageErrors verifies that each error names the virtual cluster, that no later
// step runs, and that the context of the syncer ends.
func TestFleetEngageErrors(t *testing.T) {
	initialized := []string{"red 1: init"}
	cases := map[string]struct {
		reason string
		change func(f *fleetTest)
		is     error
		want   string
		steps  []string
		made   int
	}{
		"Identity": {"The identity of the virtual cluster cannot be read.", func(f *fleetTest) {
			f.virtual.Manager = readerManager{
				f.reg.VirtualManager, &scriptedReader{responses: []identityResponse{{err: errBoom}}},
			}
		}, errBoom, "cannot read the namespace kube-system of the virtual cluster", nil, 0},
		"New": {"The syncer cannot be created.", func(f *fleetTest) { f.failStep = "new" }, errBoom, "boom", nil, 1},
		"Init": {
			"The initialization fails.", func(f *fleetTest) { f.failStep = "init" }, errBoom, `cannot initialize "red 1": boom`,
			initialized, 1,
		},
		"NotServed": {
			"Kinds are checked before indices are registered.",
			func(f *fleetTest) { f.host.mapper = meta.NewDefaultRESTMapper(nil) }, translate.ErrKindNotServed,
			`cannot register syncer "red 1": `, initialized, 1,
		},
		"Indices": {
			"The registration of an index fails.", func(f *fleetTest) { f.failStep = "indices" }, errBoom,
			`cannot register the indices of "red 1": boom`, append(initialized, "red 1: indices"), 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				tc.change(f)
				err := f.Engage(t.Context(), "red", f.virtual)
				if !errors.Is(err, tc.is) || !strings.HasPrefix(err.Error(), `cannot engage the virtual cluster "red": `+tc.want) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.want)
				}
				f.wantSteps(tc.reason, tc.steps...)
				if len(f.contexts) != tc.made || tc.made > 0 && f.contexts[0].Context.Err() == nil {
					t.Errorf("%s\n%d syncers were created, or the context has not ended", tc.reason, len(f.contexts))
				}
			})
		})
	}
}

// TestFleetManager verifies the manager that a syncer of a fleet sees: it does not start
// the running cluster, is elected, and has no server. If an informer of the host rejects
// a handler, none is removed.
func TestFleetManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		disengage := f.engage("red")
		m := f.contexts[0].VirtualManager
		select {
		case <-m.Elected():
		default:
			t.Error("the manager is not elected")
		}
		ended := make(chan error, 2)
		ctx, stop := context.WithCancel(t.Context())
		go func() { ended <- m.Start(ctx) }()
		go func() { ended <- m.Start(t.Context()) }()
		synctest.Wait()
		if len(ended) != 0 || f.virtual.running() {
			t.Error("Start returns early or starts the cluster")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		f.host.cache.err = errBoom
		informer, err := f.contexts[0].PhysicalManager.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{})
		f.Must(err)
		if _, err := informer.AddEventHandlerWithOptions(nil, toolscache.HandlerOptions{}); !errors.Is(err, errBoom) {
			t.Errorf("got error %v", err)
		}
		disengage()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if m.GetCache() != f.virtual.GetCache() || m.GetWebhookServer() != nil || m.GetConverterRegistry() != nil ||
			m.AddMetricsServerExtraHandler("/", http.NotFoundHandler()) == nil ||
			m.AddHealthzCheck("", nil) == nil || m.AddReadyzCheck("", nil) == nil {
			t.Error("the manager has a server, or another cache than its cluster")
		}
		if !ptr.Deref(m.GetControllerOptions().SkipNameValidation, false) {
			t.Error("SkipNameValidation is not set")
		}
	})
}

// A multiclusterManager is a manager that accepts runnables of type R.
type multiclusterManager[R any] struct {
	added []R
	err   error
}

func (m *multiclusterManager[R]) Add(r R) error {
	m.added = append(m.added, r)
	return m.err
}

type engager interface {
	manager.Runnable
	Engage(ctx context.Context, name string, c cluster.Cluster) error
}

// TestSetupMulticluster verifies that a fleet is added to a manager whose interface it
// implements, and that any other manager is an error.
func TestSetupMulticluster(t *testing.T) {
	f := newFleet(t)
	none := func(string, *synccontext.RegisterContext) (syncer.Syncer, error) { return nil, errBoom }
	takes := &multiclusterManager[engager]{}
	if err := syncer.SetupMulticluster(takes, f.host, none); err != nil || len(takes.added) != 1 {
		t.Errorf("got %v, %v", takes.added, err)
	}
	if err := takes.added[0].Engage(t.Context(), "red", f.virtual); !errors.Is(err, errBoom) {
		t.Errorf("the added fleet creates other syncers: %v", err)
	}
	takes.err = errBoom
	if err := syncer.SetupMulticluster(takes, f.host, none); !errors.Is(err, errBoom) ||
		!strings.HasPrefix(err.Error(), "cannot add a fleet to the manager") {
		t.Errorf("got %v", err)
	}
	other := &multiclusterManager[interface{ Other(time.Time) }]{}
	if err := syncer.SetupMulticluster(other, f.host, none); err == nil || len(other.added) != 0 ||
		!strings.Contains(err.Error(), "interface { Other") {
		t.Errorf("got %v, %v", other.added, err)
	}
}

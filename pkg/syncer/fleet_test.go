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

// tenantSyncer is the syncer of one virtual cluster of a fleet. A pass of it lasts until it is told to end.
type tenantSyncer struct {
	*mapSyncer
	agent

	pass chan struct{} // closed: passes end at once
}

func (s tenantSyncer) Name() string { return s.agent.Name() }
func (s tenantSyncer) RegisterIndices(ctx *synccontext.RegisterContext) error {
	return s.agent.RegisterIndices(ctx)
}

func (s tenantSyncer) SyncDown(*synccontext.SyncContext, client.Object) (ctrl.Result, error) {
	s.told.note("%s: down", s.agent.name)
	<-s.pass
	s.told.note("%s: done", s.agent.name)
	return ctrl.Result{}, nil
}

// fleet is a Fleet with a host, and with a virtual cluster that comes and goes.
type fleet struct {
	*world
	*syncer.Fleet[string]

	told          *journal
	host, virtual *process
	contexts      []*synccontext.RegisterContext
	pass          chan struct{}
	fails         string // a step, or "new"
	ended         chan error
}

func newFleet(t *testing.T) *fleet {
	w := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}})
	f := &fleet{world: w, told: &journal{}, pass: make(chan struct{}), ended: make(chan error, 1)}
	f.host, f.virtual = newProcess("host", w.reg.PhysicalManager, f.told), newProcess("virtual", w.reg.VirtualManager, f.told)
	f.Fleet = syncer.NewFleet(f.host, func(name string, ctx *synccontext.RegisterContext) (syncer.Syncer, error) {
		f.contexts = append(f.contexts, ctx)
		number := fmt.Sprintf("%s %d", name, len(f.contexts))
		s := tenantSyncer{newMapSyncer(ctx), agent{name: number, told: f.told, fails: f.fails}, f.pass}
		if f.fails == "new" {
			return s, errBoom
		}
		return s, nil
	})
	return f
}

// engage engages the virtual cluster under a name, and returns what lets it go.
func (f *fleet) engage(name string) context.CancelFunc {
	f.Helper()
	ctx, disengage := context.WithCancel(f.Context())
	f.Must(f.Engage(ctx, name, f.virtual))
	synctest.Wait()
	return disengage
}

func (f *fleet) start(ctx context.Context) {
	go func() { f.ended <- f.Fleet.Start(ctx) }()
	synctest.Wait()
}

// shows lets the virtual cluster show its object, and returns to how many.
func (f *fleet) shows() int {
	n := f.virtual.cache.shows(virtualMap("a"))
	synctest.Wait()
	return n
}

func (f *fleet) wantSteps(reason string, want ...string) {
	f.Helper()
	if diff := cmp.Diff(want, f.told.all()); diff != "" {
		f.Errorf("%s\nsteps: -want, +got:\n%s", reason, diff)
	}
	f.told.mu.Lock()
	defer f.told.mu.Unlock()
	f.told.told = nil
}

// TestFleetEngages: a virtual cluster gets a syncer of its own, whose context says which clusters it is between, and under which name. It works from the
// start of the fleet on.
func TestFleetEngages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		close(f.pass)
		ctx, stop := context.WithCancel(t.Context())
		disengage := f.engage("red")
		f.wantSteps("Each step is taken, and its controller runs nowhere else.", "red 1: init", "red 1: indices", "red 1: register")
		if f.shows() != 0 {
			t.Error("a controller runs before the fleet is started")
		}
		reg := f.contexts[0]
		if diff := cmp.Diff(&synccontext.VirtualClusterOptions{Name: "red", TargetNamespace: "red"}, reg.Options); diff != "" {
			t.Errorf("options: -want, +got:\n%s", diff)
		}
		if reg.TargetNamespace != "red" || reg.CurrentNamespace != "red" || *reg.Names != (translate.Names{Suffix: "red", Cluster: "first"}) {
			t.Errorf("got %q, %q, %v", reg.TargetNamespace, reg.CurrentNamespace, reg.Names)
		}
		if reg.VirtualManager.GetClient() != client.Client(f.API) || reg.PhysicalManager.GetClient() != client.Client(f.p) || reg.CurrentNamespaceClient != client.Client(f.p) {
			t.Error("the clusters are mistaken for each other")
		}
		f.start(ctx)
		if virtual, host := f.shows(), f.host.cache.shows(imageOf("b", stranger)); virtual != 1 || host != 1 {
			t.Errorf("%d handlers of the virtual cluster, %d of the host, want one of each", virtual, host)
		}
		f.wantSteps("It works.", "red 1: down", "red 1: done")
		disengage()
		synctest.Wait()
		if f.host.cache.shows(imageOf("b", stranger)) != 0 {
			t.Error("what is disengaged still listens to the host")
		}
		f.engage("red")
		f.engage("blue")
		f.shows()
		stop()
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		for _, reg := range f.contexts {
			if reg.Context.Err() == nil {
				t.Error("a syncer outlives its fleet")
			}
		}
		f.virtual.Manager = managerOf{f.virtual.Manager, nil} // whoever asks it who it is panics
		if err := f.Engage(t.Context(), "late", f.virtual); err == nil || !strings.Contains(err.Error(), `"late": the fleet has stopped`) || len(f.contexts) != 3 {
			t.Errorf("engaged late: got error %v", err)
		}
	})
}

// TestFleetWaitsForTheFormer: a virtual cluster that comes back waits until the last pass of its former syncer is over, and so does the end of the fleet.
// What went before the fleet was started keeps nobody waiting.
func TestFleetWaitsForTheFormer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		ctx, stop := context.WithCancel(t.Context())
		f.engage("red")()
		synctest.Wait()
		disengage := f.engage("red")
		f.start(ctx)
		f.told.told = nil
		f.shows()
		disengage()
		f.engage("red")
		f.shows()
		f.wantSteps("The pass goes on, and nobody makes another one.", "red 2: down", "red 3: init", "red 3: indices", "red 3: register")
		f.pass <- struct{}{}
		synctest.Wait()
		f.shows()
		f.wantSteps("The former is over, and its successor works.", "red 2: done", "red 3: down")
		stop()
		synctest.Wait()
		if len(f.ended) != 0 {
			t.Error("the fleet has ended in the middle of a pass")
		}
		f.pass <- struct{}{}
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
		f.wantSteps("The pass is over.", "red 3: done")
		synctest.Wait()
	})
}

// TestFleetDoesNotEngage: whatever fails, it is said of which virtual cluster, nothing goes on, and the context of what was made ends.
func TestFleetDoesNotEngage(t *testing.T) {
	initialized := []string{"red 1: init"}
	cases := map[string]struct {
		reason string
		change func(f *fleet)
		is     error
		want   string
		steps  []string
		made   int
	}{
		"Identity": {"Nobody says who the virtual cluster is.", func(f *fleet) {
			f.virtual.Manager = managerOf{f.reg.VirtualManager, &answers{who: []says{{err: errBoom}}}}
		}, errBoom, "cannot read the namespace kube-system of the virtual cluster", nil, 0},
		"New":       {"What comes with an error is no syncer.", func(f *fleet) { f.fails = "new" }, errBoom, "boom", nil, 1},
		"Init":      {"It is not initialized.", func(f *fleet) { f.fails = "init" }, errBoom, `cannot initialize "red 1": boom`, initialized, 1},
		"NotServed": {"Indices are of kinds that are served.", func(f *fleet) { f.host.mapper = meta.NewDefaultRESTMapper(nil) }, translate.ErrKindNotServed, `cannot register syncer "red 1": `, initialized, 1},
		"Indices":   {"An index cannot be registered.", func(f *fleet) { f.fails = "indices" }, errBoom, `cannot register the indices of "red 1": boom`, append(initialized, "red 1: indices"), 1},
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
					t.Errorf("%s\n%d syncers were made, or the context goes on", tc.reason, len(f.contexts))
				}
			})
		})
	}
}

// TestFleetManager: the manager that a syncer of a fleet sees starts nothing that runs already, is elected, and serves nothing. Of an informer of the host
// that refuses a handler nothing is taken away.
func TestFleetManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		disengage := f.engage("red")
		m := f.contexts[0].VirtualManager
		select {
		case <-m.Elected():
		default:
			t.Error("it is not elected, and so nothing is started")
		}
		ended := make(chan error, 2)
		ctx, stop := context.WithCancel(t.Context())
		go func() { ended <- m.Start(ctx) }()
		go func() { ended <- m.Start(t.Context()) }()
		synctest.Wait()
		if len(ended) != 0 || f.virtual.running() {
			t.Error("it ends before its context and its cluster, or starts the cluster")
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
		if m.GetCache() != f.virtual.GetCache() || m.GetWebhookServer() != nil || m.GetConverterRegistry() != nil || m.AddMetricsServerExtraHandler("/", http.NotFoundHandler()) == nil ||
			m.AddHealthzCheck("", nil) == nil || m.AddReadyzCheck("", nil) == nil {
			t.Error("it serves something, or has another cache than its cluster")
		}
		if !ptr.Deref(m.GetControllerOptions().SkipNameValidation, false) {
			t.Error("two virtual clusters cannot have controllers of one name")
		}
	})
}

// manyClusters is a manager of many clusters, which takes what R is.
type manyClusters[R any] struct {
	added []R
	err   error
}

func (m *manyClusters[R]) Add(r R) error {
	m.added = append(m.added, r)
	return m.err
}

type engager interface {
	manager.Runnable
	Engage(ctx context.Context, name string, c cluster.Cluster) error
}

// TestSetupMulticluster: a fleet is added to what takes one, and nothing else is.
func TestSetupMulticluster(t *testing.T) {
	f := newFleet(t)
	none := func(string, *synccontext.RegisterContext) (syncer.Syncer, error) { return nil, errBoom }
	takes := &manyClusters[engager]{}
	if err := syncer.SetupMulticluster(takes, f.host, none); err != nil || len(takes.added) != 1 {
		t.Errorf("got %v, %v", takes.added, err)
	}
	if err := takes.added[0].Engage(t.Context(), "red", f.virtual); !errors.Is(err, errBoom) {
		t.Errorf("what is added makes other syncers: %v", err)
	}
	takes.err = errBoom
	if err := syncer.SetupMulticluster(takes, f.host, none); !errors.Is(err, errBoom) || !strings.HasPrefix(err.Error(), "cannot add a fleet to the manager") {
		t.Errorf("got %v", err)
	}
	other := &manyClusters[interface{ Other(time.Time) }]{}
	if err := syncer.SetupMulticluster(other, f.host, none); err == nil || len(other.added) != 0 || !strings.Contains(err.Error(), "interface { Other") {
		t.Errorf("got %v, %v", other.added, err)
	}
}

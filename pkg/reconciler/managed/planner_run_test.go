package managed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/crdgate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A startable manager runs until its context ends, or fails.
type startable struct {
	reader

	client client.Client
	err    error
}

func (s startable) GetClient() client.Client {
	if s.client != nil {
		return s.client
	}

	return s.reader.GetClient()
}

func (s startable) Start(ctx context.Context) error {
	if s.err == nil {
		<-ctx.Done()
	}

	return s.err
}

// many returns a world with volumes that are ready, and a Planner of their kind.
func many(t *testing.T, n int, o ...managed.ReconcilerOption) (*world, *managed.Planner) {
	t.Helper()
	w := newWorld(t, append([]managed.ReconcilerOption{managed.WithDeterministicExternalName(true)}, o...)...)
	w.cloud.Named, w.cloud.PageSize = true, 100
	for i := range n {
		v := atKey()
		v.Name, v.UID, v.Generation, v.Spec.SizeGiB = fmt.Sprintf("v-%04d", i), types.UID(fmt.Sprint("uid-", i)), 1, 1
		w.Create(v)
		r := request()
		r.Name = v.Name
		if _, err := w.r.Reconcile(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	w.taken()

	return w, w.setUp(startable{reader: reader{w.m, w.listener()}})
}

// setUp returns a Planner of a manager with the kind of the world.
func (w *world) setUp(m manager.Manager) *managed.Planner {
	p := managed.NewPlannerOf(m)
	if err := managed.Setup(p.Manager(), w.kind, controller.Options{}, w.o...); err != nil {
		w.Fatal(err)
	}

	return p
}

// runPlanner runs a Planner, and returns the plans by the name of the object.
func runPlanner(t *testing.T, p *managed.Planner, o ...managed.PlanOption) (map[string]managed.Plan, error) {
	t.Helper()
	plans := map[string]managed.Plan{}
	err := p.Run(t.Context(), func(plan managed.Plan) { plans[plan.Object.Name] = plan }, o...)

	return plans, err
}

// TestRun plans many objects, few of which differ, with few lists and nothing else.
func TestRun(t *testing.T) {
	const n, pages = 300, 3
	w, p := many(t, n, managed.WithBulkObservation(0))
	w.cloud.Put(volume.Disk{ID: "v-0003", SizeGiB: 9})
	w.cloud.Put(volume.Disk{ID: "v-0150", SizeGiB: 9})
	w.cloud.Remove("v-0200")
	seen, last := 0, 0
	plans, err := runPlanner(t, p, managed.WithPlanWorkers(7), managed.WithPlannedKinds("volume"),
		managed.WithPlanProgress(func(done, total int) {
			if seen++; done != last+1 || total != n {
				t.Errorf("progress %d of %d after %d", done, total, last)
			}
			last = done
		}))
	if err != nil || len(plans) != n || seen != n {
		t.Fatalf("%d plans, %d reports: %v", len(plans), seen, err)
	}
	got := map[string]string{}
	for name, plan := range plans {
		if !plan.AtRest() {
			got[name] = plan.Action
		}
	}
	want := map[string]string{"v-0003": "Update", "v-0150": "Update", "v-0200": "Create"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if lists, looks := w.cloud.Count("List"), w.cloud.Count("Observe"); lists != pages || looks != len(want) {
		t.Errorf("%d pages of lists and %d observations", lists, looks)
	}
	if got, made := p.Calls(), (managed.PlanCalls{List: pages, Observe: int64(len(want))}); got != made {
		t.Errorf("calls %+v, want %+v", got, made)
	}
	changes := w.cloud.Count("Create") + w.cloud.Count("Update") + w.cloud.Count("Delete")
	if requests, _, events := w.taken(); requests != "" || changes > 0 || events != "" {
		t.Errorf("requests %q, %d changes, events %q", requests, changes, events)
	}
}

// TestRunUnderARateLimit verifies that a call that the rate limit holds back is made later.
func TestRunUnderARateLimit(t *testing.T) {
	_, p := many(t, 20, managed.WithLimits(limit.NewSet(limit.WithRate(500, 500, 500),
		limit.WithMaxWait(1)))) // a nanosecond
	plans, err := runPlanner(t, p)
	if err != nil || len(plans) != 20 {
		t.Fatalf("%d plans: %v", len(plans), err)
	}
	for name, plan := range plans {
		if plan.Err != nil {
			t.Errorf("%s: %v", name, plan.Err)
		}
	}
}

// TestRunWithoutTheExternalSystem verifies that an outage is in the plan of each object, and ends nothing.
func TestRunWithoutTheExternalSystem(t *testing.T) {
	w, p := many(t, 30, managed.WithLimits(limit.NewSet()))
	calls := 0
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if calls++; call == "Observe" && calls > 20 { // half way
			return external.Unavailable(errors.New("no route to host"))
		}

		return nil
	}
	plans, err := runPlanner(t, p, managed.WithPlanWorkers(1))
	failed := 0
	for _, plan := range plans {
		if plan.Err != nil && plan.Action == "" {
			failed++
		}
	}
	if err != nil || len(plans) != 30 || failed < 15 || failed > 25 {
		t.Errorf("%d plans, %d without a decision: %v", len(plans), failed, err)
	}
}

// TestRunWithAStuckClient verifies that the end of the context ends Run, also if a client goes on.
func TestRunWithAStuckClient(t *testing.T) {
	w, p := many(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	defer close(ended)
	w.cloud.Before = func(context.Context, string, resource.Managed) error {
		cancel()
		<-ended

		return nil
	}
	err := p.Run(ctx, func(plan managed.Plan) { t.Errorf("planned %+v", plan) })
	if err == nil || !strings.Contains(err.Error(), "planned 0 of 3 objects") {
		t.Errorf("error %v", err)
	}
}

// TestRunOfGivenObjects plans objects that are not stored, instead of those that are.
func TestRunOfGivenObjects(t *testing.T) {
	_, p := many(t, 2)
	v := atKey()
	v.Spec.SizeGiB = 1
	plans, err := runPlanner(t, p, managed.WithPlannedObjects(v))
	if err != nil || len(plans) != 1 || plans[key.Name].Action != "Create" {
		t.Errorf("%v, %v", plans, err)
	}
}

// TestRunOfReferents verifies that a plan reads the other given objects, and names those that are not stored.
func TestRunOfReferents(t *testing.T) {
	w, p := many(t, 1)
	from, to, stored := atKey(), atKey(), atKey()
	to.Name, stored.Name, stored.UID = "to", "v-0000", "uid-0"
	w.cloud.Before = func(ctx context.Context, call string, mg resource.Managed) error {
		if call != "Observe" || mg.GetName() != key.Name {
			return nil
		}
		for _, name := range []string{"to", "v-0000", "to"} {
			read, of := &volume.Volume{}, types.NamespacedName{Namespace: key.Namespace, Name: name}
			if err := p.Manager().GetClient().Get(ctx, of, read); err != nil {
				return err
			}
			if read.UID == "" || read.Annotations[meta.AnnotationKeyExternalName] != name {
				t.Errorf("read %+v", read)
			}
		}

		return errors.New("not yet")
	}
	plans, err := runPlanner(t, p, managed.WithPlannedObjects(from, to, stored))
	if err != nil {
		t.Fatal(err)
	}
	want := []managed.PlannedReferent{{Kind: plans["to"].Kind, Object: plans["to"].Object}}
	if diff := cmp.Diff(want, plans[key.Name].Referents); diff != "" || plans[key.Name].Err == nil ||
		plans["to"].Referents != nil {
		t.Errorf("-want, +got:\n%s%+v", diff, plans)
	}
}

// TestRunErrors verifies errors that say what to do.
func TestRunErrors(t *testing.T) {
	w, _ := many(t, 3)
	base := startable{reader: reader{w.m, w.listener()}}
	refusing := func(err error) startable {
		s := base
		s.live = interceptor.NewClient(w.API, interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return err },
		})

		return s
	}
	broken := base
	broken.err = errors.New("boom")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	gvr := schema.GroupResource{Resource: "volumes"}
	for name, c := range map[string]struct {
		p       *managed.Planner
		ended   bool // the context
		options []managed.PlanOption
		want    string // of Run
		plan    string // of the kind
	}{
		"no kinds": {p: managed.NewPlannerOf(base), want: "no kind was set up"},
		"another kind": {
			options: []managed.PlanOption{managed.WithPlannedKinds("Bucket")}, want: `no kind "Bucket"; it has Volume`,
		},
		"another object": {
			options: []managed.PlanOption{managed.WithPlannedObjects(&volume.Snapshot{})}, want: `no kind "Snapshot"`,
		},
		"the caches end": {p: w.setUp(broken), want: "the caches have ended: boom"},
		"the time is up": {ended: true, want: "context canceled"},
		"no permission": {
			p: w.setUp(refusing(kerrors.NewForbidden(gvr, "", nil))), plan: "cannot list objects of the kind Volume",
		},
		"kind not served": {
			p: w.setUp(refusing(&apimeta.NoKindMatchError{})), plan: "CustomResourceDefinition has to be installed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.p == nil {
				c.p = w.setUp(base)
			}
			ctx := t.Context()
			if c.ended {
				ctx = ended
			}
			var plans []managed.Plan
			err := c.p.Run(ctx, func(plan managed.Plan) { plans = append(plans, plan) }, c.options...)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if c.plan != "" && (len(plans) != 1 || plans[0].Kind.Kind != "Volume" || plans[0].Err == nil ||
				!strings.Contains(plans[0].Err.Error(), c.plan)) {
				t.Errorf("plans %+v, want one with %q", plans, c.plan)
			}
		})
	}
	if requests, calls, _ := w.taken(); requests != "" || mutating(calls) != "" {
		t.Errorf("requests %q, calls %q", requests, calls)
	}
}

// TestSetupWithAPlanner verifies that no controller is added, also for a kind that may not be installed.
func TestSetupWithAPlanner(t *testing.T) {
	w := newWorld(t)
	p := managed.NewPlannerOf(startable{reader: reader{w.m, w.listener()}})
	if err := managed.SetupGated(p.Manager(), &crdgate.Gate{}, w.kind, controller.Options{}, w.o...); err != nil {
		t.Fatal(err)
	}
	if got := p.Kinds(); len(got) != 1 || got[0].Kind != "Volume" {
		t.Errorf("kinds %v", got)
	}
	other := managed.NewReconciler(p.Manager(), w.kind, append(w.o, managed.WithCluster(w.m))...)
	if plan := other.Plan(t.Context(), atKey()); plan.Err == nil {
		t.Error("a reconciler of another cluster plans")
	}
	if _, err := other.Reconcile(t.Context(), request()); err == nil || !strings.Contains(err.Error(), "WithCluster") {
		t.Errorf("a reconciler of another cluster reconciles: %v", err)
	}
}

package managed

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/dryrun"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/listcache"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// planRound is the time for which a list serves plans: a plan ends long before.
const planRound = 365 * 24 * time.Hour

// defaultPlanWorkers is the default of [WithPlanWorkers].
const defaultPlanWorkers = 10

// A Planner plans all objects of the kinds of a provider. Make one with [NewPlanner], and set up the kinds with its
// manager as in the provider itself. Then call Run once.
//
// Nothing is changed, for three reasons. A plan ends before the external system is changed. The client of the external
// system refuses all changes. The client of the manager answers writes itself, and the transport below it refuses all
// requests but reads and dry runs. Code of the provider that has another client, and changes something with it when it
// connects or observes, is not prevented from doing so.
type Planner struct {
	manager    *planningManager
	namespaces []string // that the caches are restricted to; none: all

	pages, observations atomic.Int64 // calls of ListPage and Observe

	// offer has the objects that are planned instead of those that are stored, and unstored those of them that are not
	// stored. Nothing changes them while plans are made.
	offer    *dryrun.Offer
	unstored []PlannedReferent

	mu          sync.Mutex
	reconcilers []*Reconciler
}

// PlanCalls counts the calls to the clients of the external system. The zero value is none.
type PlanCalls struct {
	// List is the number of pages of lists, and Observe that of observations of single resources.
	List    int64 `json:"list"`
	Observe int64 `json:"observe"`
}

// Calls returns how many calls the plans have made so far. It is safe for concurrent use.
func (p *Planner) Calls() PlanCalls { return PlanCalls{p.pages.Load(), p.observations.Load()} }

// NewPlanner returns a Planner for the cluster of cfg. The options are those of the provider's manager. The manager
// elects no leader, serves nothing, and runs nothing that is added to it, so no controller either.
func NewPlanner(cfg *rest.Config, o manager.Options) (*Planner, error) {
	o.LeaderElection, o.LeaderElectionResourceLockInterface = false, nil
	o.Metrics.BindAddress, o.HealthProbeBindAddress, o.PprofBindAddress = "0", "0", ""
	o.Controller.SkipNameValidation = new(true)
	o.GracefulShutdownTimeout = new(time.Duration(0)) // there is nothing to end but reads
	m, err := manager.New(readOnly(cfg), o)
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a manager")
	}
	p := NewPlannerOf(m)
	p.namespaces = slices.Sorted(maps.Keys(o.Cache.DefaultNamespaces))

	return p, nil
}

// NewPlannerOf returns a Planner over a manager, such as that of a test. The manager must not be started. Its transport
// does not refuse requests that would change something, unlike that of [NewPlanner]. The two other reasons why nothing
// is changed apply.
func NewPlannerOf(m manager.Manager) *Planner {
	p := &Planner{}
	p.manager = newPlanningManager(m, p)

	return p
}

// Manager returns the manager with which the kinds are set up. It must not be started.
func (p *Planner) Manager() manager.Manager { return p.manager }

// Kinds returns the kinds that were set up, in their order.
func (p *Planner) Kinds() []schema.GroupVersionKind {
	p.mu.Lock()
	defer p.mu.Unlock()
	kinds := make([]schema.GroupVersionKind, len(p.reconcilers))
	for i, r := range p.reconcilers {
		kinds[i] = schema.GroupVersionKind(r.of)
	}

	return kinds
}

// planWith lets a reconciler only plan if its cluster is the manager of a Planner. It then reports nowhere, subscribes
// to nothing, and calls neither the finalizer nor the publisher of the author, which are assumed to succeed.
func (r *Reconciler) planWith(m manager.Manager) {
	of, ok := r.cluster.(*planningManager)
	if !ok {
		if isPlanning(m) && r.invalid == nil {
			r.invalid = errors.New("cannot plan: give no other cluster than the manager of the Planner by WithCluster")
		}

		return
	}
	r.planner = of.planner
	if r.finalizer != nil {
		r.finalizer = unwrittenFinalizer{}
	}
	if r.publisher != nil {
		r.publisher = unwrittenPublisher{}
	}
	r.recorder, r.warningRecorder, r.changes = event.NewNopRecorder(), nil, nil
	r.observability = telemetry.Options{Registerer: prometheus.NewRegistry()}
	r.fence, r.lease, r.restores, r.states = nil, nil, nil, nil
	r.notifier, r.spread = nil, false
	of.planner.mu.Lock()
	defer of.planner.mu.Unlock()
	of.planner.reconcilers = append(of.planner.reconcilers, r)
}

// isPlanning reports whether a manager is that of a Planner.
func isPlanning(m manager.Manager) bool {
	_, planning := m.(*planningManager)

	return planning
}

// refusal returns why the reconciler reconciles nothing, or nil.
func (r *Reconciler) refusal() error {
	if r.invalid == nil && r.planner != nil {
		return errPlanned
	}

	return r.invalid
}

// An unwrittenFinalizer counts as written.
type unwrittenFinalizer struct{}

func (unwrittenFinalizer) AddFinalizer(context.Context, resource.Object) error { return nil }

func (unwrittenFinalizer) RemoveFinalizer(context.Context, resource.Object) error { return nil }

// An unwrittenPublisher counts as having published.
type unwrittenPublisher struct{}

func (unwrittenPublisher) PublishConnection(context.Context, resource.Managed, ConnectionDetails) (bool, error) {
	return true, nil
}

// planMember returns the member of the list of the connection for a plan, and how it leaves the list. There is none
// without lists.
func (r *Reconciler) planMember(mg resource.Managed) (member *listcache.Member, leave func()) {
	if r.lists == nil {
		return nil, func() {}
	}
	if known := r.objects.Peek(client.ObjectKeyFromObject(mg), mg.GetUID()); known != nil && known.member != nil {
		return known.member, func() {}
	}
	member = listcache.NewMember(listcache.Key{Namespace: mg.GetNamespace(), Name: mg.GetName()})

	return member, func() { r.lists.Leave(member) }
}

// joinLists adds an object to the list of its connection before the first plan. So the first plan makes the list for
// all of them.
func (r *Reconciler) joinLists(mg resource.Managed) {
	if r.lists == nil {
		return
	}
	known := r.objects.Of(client.ObjectKeyFromObject(mg), mg.GetUID())
	if known.member == nil {
		known.member = listcache.NewMember(listcache.Key{Namespace: mg.GetNamespace(), Name: mg.GetName()})
	}
	name := meta.GetExternalName(mg)
	if name == "" && r.named {
		name = mg.GetName()
	}
	r.lists.Join(known.member, connectionName(mg), "", name)
}

// stored returns all objects of the kind in the cache. They must not be changed.
func (r *Reconciler) stored(ctx context.Context) ([]resource.Managed, error) {
	return r.listFrom(ctx, r.client)
}

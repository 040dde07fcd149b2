package managed

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// FinalizerName is the finalizer that keeps a managed resource until its
// external resource is gone.
const FinalizerName = "finalizer.managedresource.krateo.io"

// ControllerName returns the recommended name of the controller for a kind.
func ControllerName(kind string) string { return "managed/" + strings.ToLower(kind) }

// A Cluster is where managed resources live. A controller-runtime manager and
// a cluster.Cluster are one.
type Cluster interface {
	GetClient() client.Client
	GetAPIReader() client.Reader
	GetScheme() *runtime.Scheme
}

// A Reconciler keeps one kind of managed resource and the external resources
// behind it in step. Make one with [NewReconciler], or let [Setup] make it and
// its controller in one call. It is safe for concurrent use for different
// objects; controller-runtime never hands out the same object twice at a time.
type Reconciler struct {
	of      resource.ManagedKind
	cluster Cluster
	client  client.Client

	connecter ExternalConnectDisconnecter
	finalizer resource.Finalizer        // nil: ours, written together with other things
	critical  CriticalAnnotationUpdater // nil: a patch of what Create changed

	timeout           time.Duration
	pollInterval      time.Duration
	minPollInterval   time.Duration
	grace             time.Duration
	volatileInterval  time.Duration
	pollIntervalHook  PollIntervalHook
	named             bool
	volatile          []mergepatch.Path
	ignoredFinalizers map[string]bool

	log     logging.Logger
	record  event.Recorder
	clock   clock.PassiveClock
	random  func() float64 // uniform in [0,1)
	memory  *memory
	metrics metrics
	pruned  *prunedFields
}

// NewReconciler returns a Reconciler of the kind. Without options it manages
// nothing outside; give it at least [WithExternalConnecter]. It panics if the
// kind is not registered in the scheme of the manager, or if its Go type is no
// resource.Managed: both are errors of the program.
func NewReconciler(m manager.Manager, of resource.ManagedKind, o ...ReconcilerOption) *Reconciler {
	r := &Reconciler{
		of:                of,
		cluster:           m,
		connecter:         NewNopDisconnecter(&NopConnecter{}),
		timeout:           defaultTimeout,
		pollInterval:      defaultPollInterval,
		minPollInterval:   defaultMinPollInterval,
		grace:             defaultCreationGracePeriod,
		volatileInterval:  defaultVolatileInterval,
		ignoredFinalizers: map[string]bool{"foregroundDeletion": true, "orphan": true},
		log:               logging.NewNopLogger(),
		record:            event.NewNopRecorder(),
		clock:             clock.RealClock{},
		random:            rand.Float64,
		memory:            newMemory(),
		pruned:            &prunedFields{},
	}
	for _, option := range o {
		option(r)
	}
	r.client = r.cluster.GetClient()
	r.metrics = newMetrics(of)
	_ = r.newManaged()

	r.log.Info("Reconciler made", "kind", of.Kind, "createClass", r.class(), "pollInterval", r.pollInterval.String())

	return r
}

// Class names what makes a create safe to repeat.
func (r *Reconciler) class() string {
	if r.named {
		return "Named"
	}

	return "Opaque"
}

// NewManaged returns an empty object of the kind, and panics if there is none.
func (r *Reconciler) newManaged() resource.Managed {
	// a kind that is no resource.Managed is a programmer's error, as documented
	return resource.MustCreateObject(schema.GroupVersionKind(r.of), r.cluster.GetScheme()).(resource.Managed)
}

// Reconcile makes one pass over one managed resource. Its errors are redacted
// and bounded; errors.Is and errors.As see through them.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout+persistTimeout)
	defer cancel()

	mg, err := r.read(ctx, req.NamespacedName)
	if resource.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, errors.Wrap(err, "cannot get managed resource")
	}
	if err != nil {
		r.memory.forget(req.NamespacedName)

		return reconcile.Result{}, nil
	}

	p := r.begin(ctx, mg)
	defer p.end(ctx)

	outcome, err := p.run(ctx)

	return p.report(ctx, outcome, err)
}

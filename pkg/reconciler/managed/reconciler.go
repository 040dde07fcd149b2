package managed

import (
	"context"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/records"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/deadline"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/listcache"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/reference"
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
	empty   reflect.Type // of the kind, which objects of it point to
	cluster Cluster
	client  client.Client

	connecter    ExternalConnectDisconnecter
	initializers []Initializer
	resolver     ReferenceResolver // nil: the object itself, if it can
	graph        *reference.Graph
	tracker      *reference.Tracker
	watching     atomic.Bool               // referents are watched
	watches      []watch                   // besides the kind and referents
	publisher    ConnectionPublisher       // nil: the Secret that the object names
	secretType   corev1.SecretType         // of Secrets that are made, or the default of the API server
	finalizer    resource.Finalizer        // nil: ours, written together with other things
	critical     CriticalAnnotationUpdater // nil: a patch of what Create changed

	timeout             time.Duration
	pollInterval        time.Duration
	minPollInterval     time.Duration
	grace               time.Duration
	volatileInterval    time.Duration
	pollIntervalHook    PollIntervalHook
	named               bool
	tokens              bool
	strictCreateErrors  bool
	createErrorLog      createErrorLog // errors of Create
	detailsOfCreation   bool           // may be told, and by Create alone
	guards              guards
	restoreElsewhere    bool // what was restored may have another namespace or name than before
	unchecked           bool // the health endpoint does not ask for held workers
	recreateOnRequest   bool
	adoption            lifecycle.Adoptions
	limits              *gates.Set                  // nil: none
	bulk                bool                        // lists are shared
	staleness           time.Duration               // of a list that still counts
	notifier            ExternalEventSource         // nil: nobody tells
	watchedPollInterval time.Duration               // while somebody does
	fence               func(context.Context) error // nil: nobody is asked
	lease               func() time.Time            // nil: no deadline
	restores            *controller.RestoreDetector // nil: nobody wants to know
	volatile            []mergepatch.Path
	ignoredFinalizers   map[string]bool
	predecessors        []string // the domains of their annotations
	retired             retired
	supported           []commonv1.ManagementPolicies // nil: all
	deletionPolicy      func(resource.Managed) string // nil: the kind has none in its spec
	kstatus             bool
	spread              bool // what is well is looked at later, when the process begins

	log              logging.Logger
	recorder         event.Recorder
	pace             *event.PacedRecorder // what Setup made, ended with the controller
	warningRecorder  event.Recorder       // nil: record
	changes          changelog.Sink       // nil: none
	clock            clock.PassiveClock
	createdAt        time.Time                 // shortly before now
	elected          atomic.Pointer[time.Time] // see electedAt; nil: it waits
	random           func() float64            // uniform in [0,1)
	objects          *records.Records[objectState]
	states           *objectstate.Handle // nil: nobody wants to get at the memory
	pruned           *prunedFields
	lists            *listcache.Cache // nil: nobody wants to know
	waker            waker
	calls            calls
	inFlight         inFlight
	stopRestoreWatch func() // the detector of restores

	provider, providerVersion string

	observability telemetry.Options
	telemetry     *telemetry.Recorder
}

// NewReconciler returns a Reconciler of the kind. Without options it manages
// nothing outside; give it at least [WithExternalConnecter]. A manager that is
// not elected yet is given a runnable that notes when it is. It panics if the
// kind is not registered in the scheme of the manager, or if its Go type is no
// resource.Managed: both are errors of the program.
func NewReconciler(m manager.Manager, of resource.ManagedKind, o ...ReconcilerOption) *Reconciler {
	r := &Reconciler{
		of:                of,
		cluster:           m,
		connecter:         NewNopDisconnecter(&NopConnecter{}),
		pollInterval:      defaultPollInterval,
		minPollInterval:   defaultMinPollInterval,
		timeout:           defaultTimeout,
		grace:             defaultCreationGracePeriod,
		volatileInterval:  defaultVolatileInterval,
		spread:            true,
		ignoredFinalizers: map[string]bool{"foregroundDeletion": true, "orphan": true, UnclaimedFinalizer: true},
		log:               logging.NewNopLogger(),
		recorder:          event.NewNopRecorder(),
		clock:             clock.RealClock{},
		random:            rand.Float64,
		pruned:            &prunedFields{},
	}
	for _, option := range o {
		option(r)
	}
	r.createdAt = r.clock.Now().Add(-1) // no instant since is zero
	r.awaitElection(m)
	if r.objects = records.New(r.forget); r.states != nil {
		r.states.Keeper = snapshotter{r.objects}
	}
	if r.stopRestoreWatch = func() {}; r.restores != nil {
		r.stopRestoreWatch = r.restores.BeforeEnd(r.writeBack)
	}
	r.client = r.cluster.GetClient()
	r.telemetry = r.newTelemetry()
	r.tracker = r.newTracker()
	r.lists = r.newListCache()
	r.empty = reflect.TypeOf(r.example()).Elem()
	r.deletionPolicy = deletionPolicyOf(reflect.PointerTo(r.empty))

	r.log.Info("Reconciler made", "kind", of.Kind, "createClass", r.class(), "pollInterval", r.pollInterval.String())

	return r
}

// class names what makes a create safe to repeat.
func (r *Reconciler) class() string {
	switch {
	case r.named:
		return "Named"
	case r.tokens:
		return "Token"
	default:
		return "Opaque, or Findable if clients are a CreationRecoverer"
	}
}

// example returns an empty object of the kind, and panics if there is none.
func (r *Reconciler) example() resource.Managed {
	// a kind that is no resource.Managed is a programmer's error, as documented
	return resource.MustCreateObject(schema.GroupVersionKind(r.of), r.cluster.GetScheme()).(resource.Managed)
}

// newManaged returns what example does, without asking the scheme again.
func (r *Reconciler) newManaged() resource.Managed {
	return reflect.New(r.empty).Interface().(resource.Managed) // as the example is
}

// Reconcile makes one pass over one managed resource. Its errors are redacted
// and bounded; errors.Is and errors.As see through them.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (result reconcile.Result, err error) {
	r.noteElected()
	ctx, cancel := deadline.In(ctx, r.timeout+persistTimeout)
	defer cancel()
	if r.restores != nil {
		r.inFlight.begin(req.NamespacedName)
		defer r.inFlight.end(req.NamespacedName)
	}
	read, f, err := r.admitFacts(ctx, req.NamespacedName)
	if f.Reading != lifecycle.Found {
		return r.withoutObject(req.NamespacedName, lifecycle.Admit(f), err).answer()
	}

	r.warnDeleted(req.NamespacedName, read.GetUID())
	known := r.objects.Of(req.NamespacedName, read.GetUID()).acquire()
	ctx, counted := r.telemetry.Begin(ctx, &known.counted, read)
	p := r.newPass(read, known)
	ctx = redact.Collect(ctx, &p.secrets)
	defer func() { counted.End(p.outcomeLabel, err) }()
	defer p.close(ctx)

	if f.Deferrable = p.deferred; lifecycle.Admit(f) == lifecycle.Defer {
		return p.deferPass().answer()
	}
	outcome, failure := p.run(ctx)

	return p.conclude(ctx, outcome, failure)
}

// admitFacts reads the object, and returns what is known before anything is observed.
func (r *Reconciler) admitFacts(ctx context.Context,
	key types.NamespacedName) (read resource.Managed, f lifecycle.AdmitFacts, err error) {
	if f.Restored = r.restored() != nil; f.Restored {
		return nil, f, nil
	}
	read, err = r.read(ctx, key)
	switch {
	case err == nil:
		f.Reading = lifecycle.Found
	case errors.Is(err, errDeletedButCached):
		f.Reading = lifecycle.DeletedButCached
	case isAbsentError(err):
		f.Reading, f.MayRemain = lifecycle.NotFound, r.mayBeThere(ctx, key)
	}

	return read, f, err
}

// withoutObject ends a request of the queue for which there is no object to reconcile.
func (r *Reconciler) withoutObject(key types.NamespacedName, a lifecycle.Admission, err error) next {
	switch a {
	case lifecycle.AwaitRestart, lifecycle.AwaitCache:
		return next{after: noticedIn, priority: new(controller.PriorityPoll)}
	case lifecycle.ReturnError:
		return next{err: redact.Error(errors.Wrap(err, "cannot get managed resource"))}
	default:
		r.warnDeleted(key, "")
		r.objects.Forget(key)
		r.tracker.Forget(key)

		return next{}
	}
}

// forget what was known of an object that is gone.
func (r *Reconciler) forget(o *objectState) {
	r.telemetry.Forget(&o.counted)
	o.cancelReservation()
	if o.member != nil {
		r.lists.Leave(o.member)
		r.telemetry.Watches(r.lists.Watches())
	}
}

package managed

import (
	"context"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/deadline"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/listcache"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/reference"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// FinalizerName is the finalizer that keeps a managed resource until its external resource is gone.
const FinalizerName = "finalizer.managedresource.krateo.io"

// ControllerName returns the recommended name of the controller for a kind.
func ControllerName(kind string) string { return "managed/" + strings.ToLower(kind) }

// A Cluster is the Kubernetes cluster of the managed resources. A controller-runtime manager and a cluster.Cluster
// implement it.
type Cluster interface {
	GetClient() client.Client
	GetAPIReader() client.Reader
	GetScheme() *runtime.Scheme
}

// A Reconciler reconciles the managed resources of one kind with their external resources. Make one with
// [NewReconciler], or call [Setup], which makes a Reconciler and its controller. It is safe for concurrent use for
// different objects. A controller of controller-runtime never reconciles the same object twice at a time.
type Reconciler struct {
	config

	of             resource.ManagedKind
	empty          reflect.Type                  // of the kind, which objects of it point to
	deletionPolicy func(resource.Managed) string // nil: the kind has none in its spec

	client    client.Client
	createdAt time.Time                 // shortly before now
	elected   atomic.Pointer[time.Time] // see electedAt; nil: it waits
	objects   *objectMemory
	tracker   *reference.Tracker
	watching  atomic.Bool      // referents are watched
	lists     *listcache.Cache // nil: neither lists nor notifications
	pruned    *prunedFields
	waker     waker
	calls     calls
	inFlight  inFlight

	createErrorLog   createErrorLog       // errors of Create
	pace             *event.PacedRecorder // what Setup made, ended with the controller
	telemetry        *telemetry.Recorder
	stopRestoreWatch func() // the detector of restores
	invalid          error  // what is wrong with the options
}

// NewReconciler returns a Reconciler of the kind. Give at least [WithExternalConnecter]. A Reconciler without options
// changes nothing outside of Kubernetes. If the manager is not elected yet, NewReconciler adds a runnable to it that
// records the election.
//
// NewReconciler panics if the kind is not registered in the scheme of the manager, or if the Go type of the kind does
// not implement resource.Managed. It also panics if the cluster, the logger or the clock is nil.
//
// If an option contradicts another option or has an undefined value, each Reconcile only returns a terminal error. The
// error names all such options. [Setup] returns that error itself.
func NewReconciler(m manager.Manager, of resource.ManagedKind, o ...ReconcilerOption) *Reconciler {
	r := &Reconciler{config: defaultConfig(m), of: of, pruned: &prunedFields{}}
	for _, option := range o {
		option(r)
	}
	r.invalid = redact.Error(validate(&r.config))
	r.planWith(m)
	r.inspect()
	r.createdAt = r.clock.Now().Add(-1) // no instant since is zero
	r.awaitElection(m)
	if r.objects = newObjectMemory(r.forget); r.states != nil {
		r.states.Keeper = snapshotter{r.objects.Records}
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

	r.log.Info("Reconciler made", "kind", of.Kind, "createClass", r.declaredClass(),
		"pollInterval", r.pollInterval.String())

	return r
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

// example returns an empty object of the kind, and panics if there is none.
func (r *Reconciler) example() resource.Managed {
	// a kind that is no resource.Managed is a programmer's error, as documented
	return resource.MustCreateObject(schema.GroupVersionKind(r.of), r.cluster.GetScheme()).(resource.Managed)
}

// declaredClass names what makes a create safe to repeat.
func (r *Reconciler) declaredClass() string {
	switch {
	case r.named:
		return "Named"
	case r.tokens:
		return "Token"
	default:
		return "Opaque, or Findable if clients are a CreationRecoverer"
	}
}

// newManaged returns an empty object of the kind, like example, but without the scheme.
func (r *Reconciler) newManaged() resource.Managed {
	return reflect.New(r.empty).Interface().(resource.Managed) // as the example is
}

// Reconcile makes one pass over one managed resource. The text of its error is redacted and limited in length.
// errors.Is and errors.As find the errors that it wraps.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (result reconcile.Result, err error) {
	if err := r.refusal(); err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	ctx, cancel := deadline.In(ctx, r.timeout+persistTimeout)
	defer cancel()
	if r.restores != nil {
		r.inFlight.add(req.NamespacedName)
		defer r.inFlight.remove(req.NamespacedName)
	}
	read, f, err := r.readFacts(ctx, req.NamespacedName)
	if f.Reading != lifecycle.Found {
		logAdmission(r.log, req, f)

		return r.withoutObject(req.NamespacedName, lifecycle.Admit(f), err).answer()
	}

	known := r.stateOf(req.NamespacedName, read.GetUID())
	ctx, counted := r.telemetry.Begin(ctx, &known.counted, read)
	p := r.newPass(read, known)
	ctx = redact.Collect(ctx, &p.secrets)
	defer func() { counted.End(p.outcomeLabel, err) }()
	defer p.close(ctx)

	if f.Deferrable = p.deferred; lifecycle.Admit(f) == lifecycle.Defer {
		logAdmission(r.log, req, f)

		return p.deferPass().answer()
	}
	outcome, failure := p.run(ctx)

	return p.conclude(ctx, outcome, failure)
}

// readFacts reads the object, and returns what is known before anything is observed.
func (r *Reconciler) readFacts(ctx context.Context,
	key types.NamespacedName) (read resource.Managed, f lifecycle.AdmitFacts, err error) {
	r.noteElected()
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
		r.inspected.forget(key)
		r.tracker.Forget(key)

		return next{}
	}
}

// stateOf returns the memory of an object. It warns if another object had the name and may have left its external
// resource.
func (r *Reconciler) stateOf(key types.NamespacedName, uid types.UID) *objectState {
	r.warnDeleted(key, uid)

	return r.objects.Of(key, uid).acquire(r.objects.unused)
}

// deferPass defers the first pass over a healthy object to a random moment of its poll interval, or to the next list.
// It calls and writes nothing.
func (p *schedule) deferPass() next {
	p.outcomeLabel, p.nextPriority = outcomes[postponed].name, lifecycle.Poll
	after := time.Duration(p.r.random() * float64(p.interval()))
	if p.r.bulk {
		p.joinList(connectionName(p.mg), "")
		if at, ok := p.r.lists.AlignPoll(connectionName(p.mg), p.now(), p.now().Add(p.interval()), 0,
			p.r.random()); ok {
			after = at.Sub(p.now())
		}
	}

	return next{after: max(after, time.Millisecond), priority: p.queuePriority()}
}

package managed

import (
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/deadline"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/listcache"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A pass is one reconcile of one object.
type pass struct {
	r      *Reconciler
	state  *objectState
	logger logging.Logger // nil: nothing was logged yet

	mg     resource.Managed // as this pass has it: with what it learned
	read   resource.Managed // as it was read, in part the cache's own: nobody changes it
	newest resource.Managed // as the API server last answered
	policy error            // a policy that is not understood

	generation   int64 // what this pass works on
	priority     lifecycle.Priority
	nextPriority lifecycle.Priority // that of the pass after this one

	external    ExternalClient
	disconnects []ExternalDisconnecter
	observation ExternalObservation

	prepared      bool           // initialised, and references resolved
	initPatch     map[string]any // what that changed besides metadata and status
	initLabels    map[string]any // and in the labels
	lateInitPatch map[string]any // what Observe filled in and has to be stored

	restored         bool              // the record of a creation was put back and is not stored yet
	requested        string            // the request of the user's that this pass handles
	details          [sha256.Size]byte // of the connection details that were observed
	detailsPending   bool              // they are not published
	detailsPublished bool              // they were published in this pass
	publishErr       error             // why they could not be
	observedOnce     bool              // an observation was made in this pass

	recoverer CreationRecoverer // nil: the client is none
	backend   BackendIdentifier // nil: the client is none
	system    string            // what that said after Connect

	connection  Connection
	lister      ExternalLister      // nil: the client is none, or not wanted as one
	member      *listcache.Member   // nil: nobody wants to know
	gate        *gates.Gate         // nil: there are no limits
	createToken func(error)         // of the gate
	admitted    bool                // the gate has let a call of this pass through
	operation   *external.Operation // that the external system is at work on

	inherited           string        // the attempt of the object that this one was restored from
	recoveryGrace       time.Duration // how long a lookup that found nothing may be wrong
	searchedFirst       bool          // and it was for the first attempt, whose record may be lost
	recoveryWindow      time.Duration // the window of the lookup, as the client says
	recoveryNegative    bool          // a lookup has proved that nothing was created
	recoveredUnobserved bool          // a lookup has found what Observe does not show
	repeatsAttempt      bool          // the create repeats an attempt whose result is not known
	retained            bool          // the resource is to stay, although the object goes

	lastFacts lifecycle.Facts // what the last decision was made from
	released  bool            // this pass has let the object go

	healthy        bool  // the object says so
	deferred       bool  // it is well, and looked at later
	observed       bool  // observation is the state now
	mutated        bool  // the one change outside was made
	created        bool  // it was a Create, and succeeded
	claimed        bool  // the object was claimed in this pass
	finalizerAdded bool  // a finalizer of the author's was added in this pass
	seenOwned      bool  // an observation of this pass found what is ours
	alreadyExists  error // Create said that the name is taken

	secrets          redact.Secrets      // that became known
	observedDetails  []ConnectionDetails // that were observed
	cachedMask       *redact.Mask        // of both, when there were
	cachedMaskInputs int                 // so many of them
	outcomeLabel     string              // the outcome
	events           []event.Event
	changes          []changelog.Entry // that were made outside
}

func (r *Reconciler) newPass(read resource.Managed, known *objectState) *pass {
	mg := r.ownCopy(read)
	p := &pass{
		r: r, mg: mg, read: read, newest: read, generation: mg.GetGeneration(),
		state:  known,
		policy: r.checkPolicies(mg), requested: request(mg),
	}
	p.restore()
	p.restored = p.takeOverMarks() || p.restored
	retires := p.retires()
	p.restored = p.restoreIdentity() || p.restored || p.unheld() || retires
	s := p.priorityFacts()
	p.priority, p.nextPriority, p.state.Known = s.Priority(), s.Priority(), true
	p.healthy, p.deferred = s.Healthy, r.spread && s.Deferrable()
	if p.applyNotification(); p.priority != lifecycle.Poll || p.deferred && p.heldByOthers() {
		p.deferred = false
	}

	return p
}

// ownCopy returns what a pass may change: a copy of the object, which has its own name as external
// name if it is to have that.
func (r *Reconciler) ownCopy(read resource.Managed) resource.Managed {
	mg := clone(read)
	r.name(mg)

	return mg
}

// MaxActions is the bound that the tests of package lifecycle prove.
const maxActions = 7

// run decides and acts until an action ends the pass.
func (p *pass) run(ctx context.Context) (outcome, error) {
	for range maxActions {
		p.lastFacts = p.facts()
		action := lifecycle.Decide(p.lastFacts)
		if logging.DebugEnabled(p.r.log) {
			p.log().Debug("Decided", "action", action.String())
		}
		ending, ends := endings[action]
		switch {
		case action == lifecycle.Ignore:
			return p.ignore(ctx)
		case action == lifecycle.Refuse:
			return ending, p.ask(ctx)
		case action == lifecycle.RestoreRecord:
			return ending, p.restoreReplaced(ctx)
		case ends && ending.requeue == never:
			return ending, p.finishDeletion(ctx)
		case ends:
			if err := p.storeUnasked(ctx); err != nil {
				return ending, err
			}

			return ending, p.publishErr
		}
		if err := steps[action](p, ctx); err != nil {
			return outcome{}, err
		}
		if p.operation != nil {
			return p.inProgress(), nil
		}
	}

	return outcome{}, errors.New("the pass did not end: this is a defect of the reconciler")
}

// facts are what is known at this moment, as plain values. Before an observation there
// are those that may do without one; to find out the others takes as long as an
// observation from memory.
func (p *pass) facts() lifecycle.Facts {
	f := lifecycle.Facts{
		Paused:       p.r.halted(p.mg),
		Invalid:      p.policy != nil,
		Deleted:      meta.WasDeleted(p.mg),
		HasFinalizer: p.hasFinalizer(),
	}
	if p.observed {
		p.addObserved(&f)
	}
	if f.NeedsPermission() {
		f.May = p.may()
	}

	return f
}

// addObserved adds the facts that matter once something was observed.
func (p *pass) addObserved(f *lifecycle.Facts) {
	if f.Presence = lifecycle.Absent; p.observation.ResourceExists {
		f.Presence = lifecycle.Present
	}
	f.UpToDate = p.observation.ResourceUpToDate
	f.ForeignFinalizers = len(p.foreignFinalizers()) > 0
	f.Class = p.class()
	f.NameKnown = meta.GetExternalName(p.mg) != ""
	f.Doubt = p.doubt()
	lost := p.unresolved()
	f.Attempt = p.attempt(lost)
	f.DeleteSent = p.deleteSent()
	if p.notOwned() {
		f.Ownership = lifecycle.Foreign
	}
	f.SettlesCreate = lost && !p.claimed && p.settlesCreate()
	f.Dirty = f.SettlesCreate || !p.claimed && (p.learned() || p.adopts())
	f.Unpublished = p.detailsPending
	f.Mutated = p.mutated
}

// attempt returns what is known of the last attempt to create, whose result is lost
// or not.
func (p *pass) attempt(lost bool) lifecycle.Attempt {
	switch {
	case p.superseded() != "":
		return lifecycle.Superseded
	case p.recoveryNegative || abandoned(p.mg):
		return lifecycle.Settled
	case lost:
		return lifecycle.Unknown
	case p.createdUnobserved():
		return lifecycle.CreatedUnobserved
	case p.replaced():
		return lifecycle.Replaced
	default:
		return lifecycle.Settled
	}
}

// doubt returns why an absence, or that what exists is not ours, may not be so.
func (p *pass) doubt() lifecycle.Doubt {
	settling, unconfirmed := p.creationGrace() > 0 && !p.observation.ResourceExists, p.notFoundGrace() > 0
	switch {
	case settling:
		return lifecycle.Grace
	case unconfirmed:
		return lifecycle.Unconfirmed
	default:
		return lifecycle.NoDoubt
	}
}

// hasFinalizer says whether our finalizer keeps the object. Whether a finalizer of the
// author's does cannot be told by its name: the author's code is asked to add it once in each
// pass of a live object, and it is taken to keep a deleted one as long as it was
// not removed and there is a finalizer that may be it. So is a deleted object
// without any finalizer, which only exists in tests.
func (p *pass) hasFinalizer() bool {
	deleted := meta.WasDeleted(p.mg)
	if p.r.finalizer != nil && !deleted {
		return p.finalizerAdded
	}
	if p.r.finalizer != nil && slices.ContainsFunc(p.mg.GetFinalizers(),
		func(name string) bool { return !p.r.ignoredFinalizers[name] }) {
		return !p.state.FinalizerRemoved
	}

	return meta.FinalizerExists(p.mg, FinalizerName) ||
		deleted && (len(p.mg.GetFinalizers()) == 0 || p.r.retired.on(p.mg))
}

// foreignFinalizers returns the finalizers of others that are to be gone before the
// external resource is deleted.
func (p *pass) foreignFinalizers() []string {
	if !meta.WasDeleted(p.mg) {
		return nil
	}
	var others []string
	for _, name := range p.mg.GetFinalizers() {
		if name != FinalizerName && !p.r.ignoredFinalizers[name] {
			others = append(others, name)
		}
	}
	ours := meta.FinalizerExists(p.mg, FinalizerName)
	if p.r.finalizer != nil && !ours && len(others) == 1 {
		return nil // it is the author's own, whose name nobody knows
	}

	return others
}

// creationGrace returns how much is left of the time during which a resource that was
// created may not show.
func (p *pass) creationGrace() time.Duration {
	mark := created(p.mg)
	// Under a name of our choice a finalizer without a mark means created here,
	// maybe just before this process began, if it is not there.
	lately := meta.WasDeleted(p.mg) && !p.observation.ResourceExists && p.hasFinalizer() &&
		p.state.Seen == objectstate.CreationRef{}
	if p.r.named && (p.state.Creation == createdHere || lately) {
		mark = createdHere
	}
	if mark != p.state.Creation {
		p.state.Creation, p.state.Since = mark, p.r.at(p.now())
	}
	if mark == "" {
		return 0
	}

	window := p.r.grace
	if p.class() != lifecycle.Findable { // there it is looked up
		window += p.patience()
	}

	return max(window-p.now().Sub(p.r.time(p.state.Since)), 0)
}

// CreatedHere stands for a creation by this process that needs no mark.
const createdHere = "by this process"

// createdUnobserved says whether a creation succeeded and no observation ever found its
// result: neither one of this process, nor an earlier one that said so in the
// status.
func (p *pass) createdUnobserved() bool {
	if p.r.named {
		return p.state.Creation == createdHere && p.state.Seen == objectstate.CreationRef{}
	}
	this := creation(p.mg, p.mg)
	if this.Mark == "" || p.state.Seen == this {
		return false
	}
	_, told := p.observedInStatus(this)

	return !told
}

// settlesCreate says whether an observation has shown what became of a create whose
// result was not known.
func (p *pass) settlesCreate() bool {
	return !p.r.named && p.observed && p.observation.ResourceExists && p.unresolved()
}

// deleteSent says whether a delete was sent so lately that it need not be sent
// again.
func (p *pass) deleteSent() bool {
	sent := p.state.DeleteSent

	return !sent.IsZero() && p.now().Sub(sent) < p.r.pollInterval
}

// close tells what was changed, and disconnects. A failure to do so is told, and
// changes nothing.
func (p *pass) close(ctx context.Context) {
	p.logChanges(ctx)
	p.state.LastDisconnectErr = p.disconnect(ctx)
	p.recordLeftover()
	p.rememberOperation()
	p.state.release()
}

// disconnect returns the last complaint about it.
func (p *pass) disconnect(ctx context.Context) (failed string) {
	if len(p.disconnects) == 0 {
		return ""
	}
	ctx, cancel := deadline.In(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	for _, d := range p.disconnects {
		if err := p.redact(p.instrument(ctx, telemetry.Disconnect, d.Disconnect)); err != nil {
			failed = err.Error()
			if p.state.LastDisconnectErr != failed {
				p.emitEvent(event.Warning(reasonCannotDisconnect, err))
			}
		}
	}

	return failed
}

// request returns what the user asked a pass for, if they did since the last.
func request(mg resource.Managed) string {
	token := mg.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt]
	if r, ok := mg.(resource.ReconcileRequestee); ok && r.GetLastHandledReconcileAt() != token {
		return token
	}

	return ""
}

// log returns the logger of the pass. Most passes log nothing, and need none.
func (p *pass) log() logging.Logger {
	if p.logger == nil {
		key := client.ObjectKeyFromObject(p.read)
		p.logger = p.r.log.WithValues("object", key.String(), "uid", p.read.GetUID(), "version",
			p.read.GetResourceVersion())
	}

	return p.logger
}

func (p *pass) now() time.Time { return p.r.clock.Now() }

func isReady(mg resource.Managed) bool {
	return mg.GetCondition(commonv1.TypeReady).Status == "True"
}

func clone(mg resource.Managed) resource.Managed {
	// a deep copy has the type of its original
	return mg.DeepCopyObject().(resource.Managed)
}

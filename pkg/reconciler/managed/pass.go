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
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/roll"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A pass is one reconcile of one object.
type pass struct {
	r      *Reconciler
	memo   *memo
	logger logging.Logger // nil: nothing was logged yet

	mg     resource.Managed // as this pass has it: with what it learned
	read   resource.Managed // as it was read, in part the cache's own: nobody changes it
	newest resource.Managed // as the API server last answered
	policy error            // a policy that is not understood

	generation int64 // what this pass works on
	urgency    lifecycle.Urgency
	next       lifecycle.Urgency // that of the pass after this one

	external    ExternalClient
	disconnects []ExternalDisconnecter
	observation ExternalObservation

	prepared bool           // initialised, and references resolved
	fills    map[string]any // what that changed besides metadata and status
	labels   map[string]any // and in the labels
	late     map[string]any // what Observe filled in and has to be stored

	restored      bool              // the record of a creation was put back and is not stored yet
	requested     string            // the request of the user's that this pass handles
	details       [sha256.Size]byte // of the connection details that were observed
	unsaid        bool              // they are not published
	publishedNow  bool              // they were published in this pass
	unpublishable error             // why they could not be
	looked        bool              // an observation was made in this pass

	recoverer CreationRecoverer // nil: the client is none
	backend   BackendIdentifier // nil: the client is none
	system    string            // what that said after Connect

	connection    Connection
	lister        ExternalLister      // nil: the client is none, or not wanted as one
	place         *roll.Place         // nil: nobody wants to know
	gate          *gates.Gate         // nil: there are no limits
	leaveToCreate func(error)         // of the gate
	called        bool                // the gate has let a call of this pass through
	pending       *external.Operation // that the external system is at work on

	inherited     string        // the attempt of the object that this one was restored from
	searching     time.Duration // how long a lookup that found nothing may be wrong
	searchedFirst bool          // and it was for the first attempt, whose record may be lost
	recovery      time.Duration // the window of the lookup, as the client says
	absent        bool          // a lookup has proved that nothing was created
	shown         bool          // a lookup has found what Observe does not show
	repeats       bool          // the create repeats an attempt whose result is not known
	spared        bool          // the resource is to stay, although the object goes

	last     lifecycle.Facts // what the last decision was made from
	released bool            // this pass has let the object go

	well      bool  // the object says so
	waits     bool  // it is well, and looked at later
	observed  bool  // observation is the state now
	acted     bool  // the one change outside was made
	made      bool  // it was a Create, and succeeded
	claimed   bool  // the object was claimed in this pass
	finalized bool  // a finalizer of the author's was added in this pass
	found     bool  // an observation of this pass found what is ours
	taken     error // Create said that the name is taken

	secrets  redact.Secrets      // that became known
	told     []ConnectionDetails // that were observed
	masked   *redact.Mask        // of both, when there were
	maskedOf int                 // so many of them
	ended    string              // the outcome
	events   []event.Event
	changes  []changelog.Entry // that were made outside
}

func (r *Reconciler) begin(read resource.Managed, known *memo) *pass {
	mg := r.own(read)
	p := &pass{
		r: r, mg: mg, read: read, newest: read, generation: mg.GetGeneration(),
		memo:   known,
		policy: r.checkPolicies(mg), requested: request(mg),
	}
	p.restore()
	p.restored = p.takeOverMarks() || p.restored
	retires := p.retires()
	p.restored = p.restoreIdentity() || p.restored || p.unheld() || retires
	s := p.standing()
	p.urgency, p.next, p.memo.Known = s.Urgency(), s.Urgency(), true
	p.well, p.waits = s.Well, r.spread && s.MayWait()
	if p.heard(); p.urgency != lifecycle.Poll || p.waits && p.unkept() {
		p.waits = false
	}

	return p
}

// own returns what a pass may change: a copy of the object, which has its own name as external
// name if it is to have that.
func (r *Reconciler) own(read resource.Managed) resource.Managed {
	mg := clone(read)
	r.name(mg)

	return mg
}

// MaxActions is the bound that the tests of package lifecycle prove.
const maxActions = 7

// run decides and acts until an action ends the pass.
func (p *pass) run(ctx context.Context) (outcome, error) {
	for range maxActions {
		p.last = p.facts()
		action := lifecycle.Decide(p.last)
		if logging.DebugEnabled(p.r.log) {
			p.log().Debug("Decided", "action", action.String())
		}
		ending, ends := endings[action]
		switch {
		case action == lifecycle.Rest:
			return p.rest(ctx)
		case action == lifecycle.Refuse:
			return ending, p.askUser(ctx)
		case action == lifecycle.Restore:
			return ending, p.restoreReplaced(ctx)
		case ends && ending.again == never:
			return ending, p.letGo(ctx)
		case ends:
			if err := p.storeUnasked(ctx); err != nil {
				return ending, err
			}

			return ending, p.unpublishable
		}
		if err := steps[action](p, ctx); err != nil {
			return outcome{}, err
		}
		if p.pending != nil {
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
		Paused:  p.r.halted(p.mg),
		Invalid: p.policy != nil,
		Deleted: meta.WasDeleted(p.mg),
		Held:    p.held(),
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
	f.Awaited = len(p.awaited()) > 0
	f.Class = p.class()
	f.NameKnown = meta.GetExternalName(p.mg) != ""
	f.Doubt = p.doubt()
	lost := p.unresolved()
	f.Attempt = p.attempt(lost)
	f.DeleteSent = p.deleteSent()
	if p.stranger() {
		f.Ownership = lifecycle.Foreign
	}
	f.Resolves = lost && !p.claimed && p.resolves()
	f.Learned = f.Resolves || !p.claimed && (p.learned() || p.adopts())
	f.Unpublished = p.unsaid
	f.Acted = p.acted
}

// attempt returns what is known of the last attempt to create, whose result is lost
// or not.
func (p *pass) attempt(lost bool) lifecycle.Attempt {
	switch {
	case p.superseded() != "":
		return lifecycle.Superseded
	case p.absent || abandoned(p.mg):
		return lifecycle.Settled
	case lost:
		return lifecycle.Unknown
	case p.unseen():
		return lifecycle.Unseen
	case p.replaced():
		return lifecycle.Replaced
	default:
		return lifecycle.Settled
	}
}

// doubt returns why an absence, or that what exists is not ours, may not be so.
func (p *pass) doubt() lifecycle.Doubt {
	settling, unconfirmed := p.window() > 0 && !p.observation.ResourceExists, p.unconfirmed() > 0
	switch {
	case settling:
		return lifecycle.Grace
	case unconfirmed:
		return lifecycle.Unconfirmed
	default:
		return lifecycle.NoDoubt
	}
}

// held says whether our finalizer keeps the object. Whether a finalizer of the
// author's does cannot be told by its name: the author's code is asked to add it once in each
// pass of a live object, and it is taken to keep a deleted one as long as it was
// not removed and there is a finalizer that may be it. So is a deleted object
// without any finalizer, which only exists in tests.
func (p *pass) held() bool {
	deleted := meta.WasDeleted(p.mg)
	if p.r.finalizer != nil && !deleted {
		return p.finalized
	}
	if p.r.finalizer != nil && slices.ContainsFunc(p.mg.GetFinalizers(), func(name string) bool { return !p.r.ignoredFinalizers[name] }) {
		return !p.memo.FinalizerRemoved
	}

	return meta.FinalizerExists(p.mg, FinalizerName) || deleted && (len(p.mg.GetFinalizers()) == 0 || p.r.retired.on(p.mg))
}

// awaited returns the finalizers of others that are to be gone before the
// external resource is deleted.
func (p *pass) awaited() []string {
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

// window returns how much is left of the time during which a resource that was
// created may not show.
func (p *pass) window() time.Duration {
	mark := created(p.mg)
	// Under a name of our choice a finalizer without a mark means created here,
	// maybe just before this process began, if it is not there.
	lately := meta.WasDeleted(p.mg) && !p.observation.ResourceExists && p.held() && p.memo.Seen == objectstate.CreationRef{}
	if p.r.named && (p.memo.Creation == createdHere || lately) {
		mark = createdHere
	}
	if mark != p.memo.Creation {
		p.memo.Creation, p.memo.Since = mark, p.r.at(p.now())
	}
	if mark == "" {
		return 0
	}

	window := p.r.grace
	if p.class() != lifecycle.Findable { // there it is looked up
		window += p.patience()
	}

	return max(window-p.now().Sub(p.r.time(p.memo.Since)), 0)
}

// CreatedHere stands for a creation by this process that needs no mark.
const createdHere = "by this process"

// unseen says whether a creation succeeded and no observation ever found its
// result: neither one of this process, nor an earlier one that said so in the
// status.
func (p *pass) unseen() bool {
	if p.r.named {
		return p.memo.Creation == createdHere && p.memo.Seen == objectstate.CreationRef{}
	}
	this := creation(p.mg, p.mg)
	if this.Mark == "" || p.memo.Seen == this {
		return false
	}
	_, told := p.toldFound(this)

	return !told
}

// resolves says whether an observation has shown what became of a create whose
// result was not known.
func (p *pass) resolves() bool {
	return !p.r.named && p.observed && p.observation.ResourceExists && p.unresolved()
}

// deleteSent says whether a delete was sent so lately that it need not be sent
// again.
func (p *pass) deleteSent() bool {
	sent := p.memo.DeleteSent

	return !sent.IsZero() && p.now().Sub(sent) < p.r.pollInterval
}

// end tells what was changed, and disconnects. A failure to do so is told, and
// changes nothing.
func (p *pass) end(ctx context.Context) {
	p.logChanges(ctx)
	p.memo.LastDisconnectErr = p.disconnect(ctx)
	p.keepBond()
	p.rememberOperation()
	p.memo.rest()
}

// disconnect returns the last complaint about it.
func (p *pass) disconnect(ctx context.Context) (failed string) {
	if len(p.disconnects) == 0 {
		return ""
	}
	ctx, cancel := deadline.In(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	for _, d := range p.disconnects {
		if err := p.redact(p.step(ctx, telemetry.Disconnect, d.Disconnect)); err != nil {
			failed = err.Error()
			if p.memo.LastDisconnectErr != failed {
				p.mention(event.Warning(reasonCannotDisconnect, err))
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
		p.logger = p.r.log.WithValues("object", key.String(), "uid", p.read.GetUID(), "version", p.read.GetResourceVersion())
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

package managed

import (
	"crypto/sha256"
	"time"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/listcache"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A journal has what a pass reports: events, log lines, entries of the change log and the label of its outcome. It
// also has the secret values, and redacts the reports.
type journal struct {
	r     *Reconciler
	state *objectState
	read  resource.Managed // the object as it was read, in part the cache's own: it is never changed
	mg    resource.Managed // the object with what this pass has learned

	generation int64 // that this pass works on

	logger       logging.Logger // nil: nothing was logged yet
	outcomeLabel string
	events       []event.Event     // to be emitted at the end
	changes      []changelog.Entry // made in the external system

	secrets          redact.Secrets      // that became known
	observedDetails  []ConnectionDetails // that were observed
	cachedMask       *redact.Mask        // of both
	cachedMaskInputs int                 // how many of observedDetails it covers
}

// An object is the managed resource in a pass: its stored version, its desired version, and the methods that write
// it.
type object struct {
	journal

	newest    resource.Managed // as the API server last answered
	requested string           // the request for a reconcile that this pass handles
	policy    error            // a policy that is not understood
	priority  lifecycle.Priority
	healthy   bool // its status says so

	prepared      bool           // initialized, and references resolved
	initPatch     map[string]any // what that changed besides metadata and status
	initLabels    map[string]any // and in the labels
	lateInitPatch map[string]any // what Observe filled in and has to be stored

	claimed        bool // finalizer, external name and result were stored in this pass
	finalizerAdded bool // a finalizer of the author's was added in this pass
}

// A creationRecord has all information about the creation of the external resource: from the object, from the memory,
// and from the observations and actions of this pass. Facts are derived from it; it makes no decision.
type creationRecord struct {
	object

	restored       bool   // the record of a creation was put back and is not stored yet
	inherited      string // the attempt of the object that this one was restored from
	repeatsAttempt bool   // the create repeats an attempt whose result is not known

	observation  ExternalObservation
	differences  *differences // of the observation; nil: none, which most passes have
	observed     bool         // the observation is current
	listed       bool         // it is what a list shows, and not confirmed yet
	observedOnce bool         // an observation was made in this pass
	seenOwned    bool         // an observation of this pass found what is ours

	mutated       bool  // the one change in the external system was made
	created       bool  // it was a Create, and succeeded
	alreadyExists error // Create said that the name is taken
	released      bool  // the finalizer was removed
	retained      bool  // the resource is to stay, although the object is deleted
}

// A clientSession has the client of the object and its optional interfaces. It also has the limits, timeouts and
// records of its calls.
type clientSession struct {
	creationRecord

	external    ExternalClient
	disconnects []ExternalDisconnecter
	operation   *external.Operation // that the external system has in progress

	recoverer      CreationRecoverer // nil: the client is none
	recoveryWindow time.Duration     // of the recoverer
	backend        BackendIdentifier // nil: the client is none
	system         string            // what that said after Connect

	connection Connection
	lister     ExternalLister    // nil: the client is none, or lists are not shared
	unlisted   row               // the outcome, if the list is not complete yet
	listAfter  time.Duration     // when the list that another pass makes may be complete
	member     *listcache.Member // nil: there are neither lists nor notifications

	gate         *gates.Gate // nil: there are no limits
	createPermit func(error) // of the gate, acquired before Create
	permitted    bool        // the gate has let a call of this pass through
}

// A recovery looks up the resource of an attempt whose result is unknown.
type recovery struct {
	clientSession

	recoveryGrace       time.Duration // how long a lookup that found nothing may be wrong
	searchedFirst       bool          // it was for the first attempt, whose record may be lost
	recoveryNegative    bool          // a lookup has proved that nothing was created
	recoveredUnobserved bool          // a lookup has found what Observe does not show
}

// A schedule determines when and with which priority the object is reconciled again.
type schedule struct {
	recovery

	nextPriority lifecycle.Priority
	deferred     bool // it is healthy, and reconciled later
}

// A publication publishes the connection details of the external resource.
type publication struct {
	schedule

	details          [sha256.Size]byte // the digest of the connection details that were observed
	detailsPending   bool              // they are not published
	detailsPublished bool              // they were published in this pass
	publishErr       error             // why they could not be
}

// objectOf returns the object of a pass: as it was read, and as the pass may change it.
func (r *Reconciler) objectOf(read, mg resource.Managed, known *objectState) object {
	return object{
		journal: journal{r: r, state: known, read: read, mg: mg, generation: mg.GetGeneration()},
		newest:  read,
	}
}

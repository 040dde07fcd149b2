// Package objectstate is what a managed reconciler remembers of each object beyond what is
// stored in it. It holds plain values only, so that a snapshot can be taken, compared and
// restored; what belongs to a running process (metrics, places in lists and queues) stays in
// the reconciler. Losing a state, by a restart, may cost time or a request, never safety.
package objectstate

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// An Instant is a time in a third of the room: how long after the reconciler was made, by
// its clock. Zero is none.
type Instant time.Duration

// A State is kept for each object, whether anything happens to it or not: it is small. The
// zero value is that of an object of which nothing is known. It is not safe for concurrent
// use: only the pass of that object uses it.
type State struct {
	Object
	Resource
}

// An Object is what is known of an object itself, and of its last pass.
type Object struct {
	Version string // resourceVersion answered by our last write
	Live    bool   // it was written, or read from the API server itself, in this process

	Known       bool // a pass was made by this process
	Failed      bool // the last pass failed
	PendingEcho bool // annotations were written in this pass
	Gone        bool // its finalizer was removed, and the answer to that was that nobody keeps it

	Kept  bool // our finalizer kept it
	Stays bool // nothing is left over if the object goes now: there is nothing, or it is to stay
}

// A Resource is what is known of the external resource of an object.
type Resource struct {
	Seen     CreationRef // whose external resource an observation found
	Creation string      // the creation whose window is running: its mark, or our own
	Since    Instant     // when this process first knew of it
	Backend  *string     // the external system that the object says its resource is in; nil: none
}

// A Cold is the part that says nothing of most objects, most of the time: it is kept for
// those with which not all is well, and for those with connection details.
type Cold struct {
	Retries
	Deletion
	Attempts
	Publication
	Reports
}

// Retries are what passes wait for, and how often they have waited.
type Retries struct {
	TriedIntent UserIntent // what a user asked for and the last pass tried, while the object does not tell
	Changed     Instant    // when this process first changed what its passes wait for since

	Stop Stop // the terminal error in which the last pass ended, if its cause can be told

	Backoffs  int // consecutive passes that doubled their wait
	Unchanged int // consecutive passes whose Update did not show
	Conflicts int // consecutive passes that ended in a conflict
}

// A Deletion is how far the deletion of an object is.
type Deletion struct {
	DeleteSent       time.Time // when the last Delete was sent
	FinalizerRemoved bool      // the author's finalizer was removed
	Retained         bool      // it was told that the external resource stays, whatever is deleted
	LeftoverName     string    // the external name, as the object has it, of what was not found yet
	NotFoundSince    time.Time // when what is to be deleted was first not found, or found to be another's
	NotFoundName     string    // and under which name
}

// Attempts are what is known of attempts to create the external resource.
type Attempts struct {
	Called           Intent            // Create was called for it, and its result is not known
	Made             CreationRef       // what the last Create made, until an observation has found it
	Operation        string            // the handle of what the external system has begun and not ended
	Uncalled         []Intent          // what was sent to the API server, and Create was not called for
	Search           string            // the attempt that is being looked up
	SearchSince      time.Time         // since when this process knows of it
	Unfound          int               // consecutive resources that were created, and not found since
	Unwritten        map[string]string // annotations that tell how the last create ended, and could not be stored
	Altered          string            // the external name that the API server stored instead of theirs
	UnknownCreateErr string            // how the last create ended whose result is not known
}

// A Publication is what became of connection details.
type Publication struct {
	Published   [sha256.Size]byte // the connection details that were published last
	PublishedAs string            // how the status tells that
	Undelivered map[string][]byte // the connection details that Create told, until they are published
	Details     string            // what became of the details of the last creation, which the object may call pending
}

// Reports are what was reported last, so that it is not repeated, and what became of the status.
type Reports struct {
	Reworded          Rewordings        // how often a failure was told in other words
	LastWarnings      map[string]string // the last message of a warning, by reason; never empty
	LastDisconnectErr string            // the last complaint about a disconnect
	LastStatusErr     string            // the last complaint about a status that cannot be written
	LastReverted      string            // the last complaint about fields that were unset again
	LastBadInterval   string            // the last complaint about a poll interval
	Dropped           Dropped           // the change of the status that the API server did not store
	VolatileWritten   time.Time         // when volatile fields were last written
}

// An Intent is what an object is marked with before Create is called.
type Intent struct {
	Pending string // the time
	Attempt string // the id
	Before  string // what the annotation of the attempt said before
}

// Dropped is a change of the status that the API server accepted and did not store.
type Dropped struct {
	Change [sha256.Size]byte // what it was, and of what
	Times  int               // how often it was sent
	Until  time.Time         // when it may be sent again
}

// An UserIntent is what a user asks of an object.
type UserIntent struct {
	Generation int64
	Deleted    bool
	Request    string
}

// A Stop is what is known of a terminal error.
type Stop struct {
	Version  string // of the object
	Revision string // of the connection
	Due      time.Time
	Until    time.Time
}

// Rewordings are how often the text of one failure has changed.
type Rewordings struct {
	Of    string    // the failure, whatever its text
	Since time.Time // when it was told first
	Told  int       // how often in other words since
}

// A CreationRef identifies the external resource that an object stands for: the creation or
// adoption that it is marked with, and the external name.
type CreationRef struct{ Mark, Name string }

// ParseCreationRef reads what String wrote, and returns nothing of any other text.
func ParseCreationRef(text string) CreationRef {
	mark, quoted, ok := strings.Cut(text, " of ")
	name, err := strconv.Unquote(quoted)
	if !ok || err != nil || mark == "" {
		return CreationRef{}
	}

	return CreationRef{mark, name}
}

// String returns the reference as the condition Created tells it.
func (c CreationRef) String() string { return c.Mark + " of " + strconv.Quote(c.Name) }

// Is reports whether a text is what String returns.
func (c CreationRef) Is(text string) bool {
	_, name := c.MatchesCondition(text)

	return name
}

// MatchesCondition reports whether a text of the condition Created is about the creation, and
// whether it is about this name of it, too.
func (c CreationRef) MatchesCondition(text string) (creation, name bool) {
	rest, marked := strings.CutPrefix(text, c.Mark)
	rest, creation = strings.CutPrefix(rest, " of ")
	var quoted [128]byte // of the stack: a pass asks several times

	return marked && creation, marked && creation && rest == string(strconv.AppendQuote(quoted[:0], c.Name))
}

// A Key names an object. Another object of the same name has another UID.
type Key struct {
	Object types.NamespacedName
	UID    types.UID
}

// A Record is all that is remembered of one object.
type Record struct {
	State
	*Cold // nil: says nothing

	Written map[string][]string // annotations as this process wrote them lately
}

// Clone returns a copy that shares nothing with the record.
func (r Record) Clone() Record {
	if r.Cold != nil {
		cold := *r.Cold
		cold.LastWarnings = maps.Clone(cold.LastWarnings)
		cold.Uncalled = slices.Clone(cold.Uncalled)
		cold.Unwritten = maps.Clone(cold.Unwritten)
		cold.Undelivered = maps.Clone(cold.Undelivered) // whose values nobody changes
		r.Cold = &cold
	}
	r.Written = maps.Clone(r.Written)
	for key, values := range r.Written {
		r.Written[key] = slices.Clone(values)
	}

	return r
}

// A Keeper is who remembers: a reconciler. Neither method is safe while a pass is made.
type Keeper interface {
	// Records calls visit with each record, whose contents may be read until it returns.
	Records(visit func(Key, Record))
	// Replace forgets everything, and remembers this instead. It keeps what it is given.
	Replace(map[Key]Record)
}

// A Handle is how somebody gets to what a reconciler remembers: whoever makes the reconciler
// hands one in, and the reconciler puts itself there. The zero value holds nobody.
type Handle struct{ Keeper }

// Snapshot returns a copy of what is remembered.
func (h *Handle) Snapshot() map[Key]Record {
	out := map[Key]Record{}
	if h.Keeper != nil {
		h.Records(func(k Key, r Record) { out[k] = r.Clone() })
	}

	return out
}

// Restore makes the reconciler remember what a snapshot says. The snapshot can be restored
// again.
func (h *Handle) Restore(snapshot map[Key]Record) {
	if h.Keeper == nil {
		return
	}
	records := map[Key]Record{}
	for k, r := range snapshot {
		records[k] = r.Clone()
	}
	h.Replace(records)
}

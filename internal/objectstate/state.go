// Package objectstate defines the memory of a managed reconciler for each object, in addition to the stored object. The
// memory has only plain values, so that a snapshot can be taken, compared and restored. Parts of a running process,
// such as metrics, list members and reservations, are elsewhere in the reconciler. A restart of the process loses the
// memory. The loss may cost time or a request, but does not affect safety. Start with State and Cold.
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

// An Instant is a time that takes a third of the memory of a time.Time. It is the time since the reconciler was made,
// by the reconciler's clock. Zero means unknown.
type Instant time.Duration

// A State is kept for each object, and is therefore small. The zero value is the state of an unknown object. It is
// not safe for concurrent use. Only the pass of the object uses it.
type State struct {
	Object
	Resource
}

// An Object is the state of an object itself, and of its last pass.
type Object struct {
	Version string // resourceVersion in the response to our last write
	Live    bool   // this process wrote the object, or read it from the API server itself

	Known       bool // a pass was made by this process
	Failed      bool // the last pass failed
	PendingEcho bool // annotations were written in this pass
	Gone        bool // our finalizer was removed, and no other finalizer keeps the object

	HadFinalizer bool // our finalizer kept the object in a pass of this process
	NoLeftover   bool // nothing is left over if the object is removed now, or the policies say that it stays
}

// A Resource is the state of the external resource of an object.
type Resource struct {
	Seen     CreationRef // the creation whose external resource was observed
	Creation string      // the creation whose grace period is running: its mark, or our own
	Since    Instant     // when this process began to wait for the effect of a create or of a later update
	Backend  *string     // the identity of the external system according to the object; nil: none
}

// A Cold is the part of the state that is usually empty. Only an unhealthy object, an object with connection details,
// or an object with a request that its status cannot show as handled, has one.
type Cold struct {
	Retries
	Deletion
	Attempts
	Publication
	Reports
}

// Retries are the events for which passes wait, and how often passes have waited.
type Retries struct {
	TriedIntent UserIntent // the request of a user that the last pass handled, while the status does not show it
	Changed     Instant    // the time of the change whose effect the passes wait for

	Stop Stop // the terminal error of the last pass, if its cause is known

	Backoffs  int // consecutive passes with backoff
	Unchanged int // consecutive passes whose Update had no visible effect
	Conflicts int // consecutive passes that ended in a conflict
}

// A Deletion is the progress of the deletion of an object.
type Deletion struct {
	DeleteSent       time.Time // when the last Delete was sent
	FinalizerRemoved bool      // the author's finalizer was removed
	Retained         bool      // it was reported that the external resource stays, whatever is deleted
	LeftoverName     string    // external name of a resource that is being deleted, or not observed yet
	NotFoundSince    time.Time // when first not found, or found with another owner
	NotFoundName     string    // the external name that NotFoundSince is about
}

// Attempts are the known attempts to create the external resource.
type Attempts struct {
	Called           Intent            // the intent for which Create was called, with an unknown result
	Made             CreationRef       // the result of the last Create, until it is observed
	Operation        string            // the handle of a pending operation of the external system
	Uncalled         []Intent          // intents that were sent to the API server, without a call of Create
	Search           string            // the attempt that is being looked up
	SearchSince      time.Time         // when this process first knew of the attempt in Search
	Unfound          int               // consecutive resources that were created, and not found since
	Unwritten        map[string]string // annotations with the result of the last create, which could not be stored
	Altered          string            // the external name that the API server stored in place of ours
	UnknownCreateErr string            // the error of the last create with unknown result
}

// A Publication is the state of the connection details.
type Publication struct {
	Published   [sha256.Size]byte // the digest of the connection details that were published last
	PublishedAs string            // the form of Published in the status
	Undelivered map[string][]byte // connection details that Create returned, until they are published
	Details     string            // the state of the details of the last creation, which the object may call pending
}

// Reports are the last reports, which the reconciler does not repeat, and the results of status writes.
type Reports struct {
	Answered          string            // the last answered request for a reconcile that the status does not have
	Reworded          Rewordings        // how often the message of a failure changed
	LastWarnings      map[string]string // the last message of a warning, by reason; never empty
	LastDisconnectErr string            // the last reported error of a disconnect
	LastStatusErr     string            // the last reported error of a status write
	LastReverted      string            // the last report about fields that were unset again
	LastBadInterval   string            // the last report about a poll interval
	Dropped           Dropped           // the change of the status that the API server did not store
	VolatileWritten   time.Time         // when volatile fields were last written
}

// An Intent has the annotations of an object that record a creation, as they were before Create was called.
type Intent struct {
	Pending string // the time of the creation
	Attempt string // the id of the attempt
	Before  string // the former value of the annotation of the attempt
}

// A Dropped is a change of the status that the API server accepted but did not store.
type Dropped struct {
	Change [sha256.Size]byte // the digest of the change and its base
	Times  int               // how often the change was sent
	Until  time.Time         // when the change may be sent again
}

// A UserIntent is the request of a user.
type UserIntent struct {
	Generation int64
	Deleted    bool
	Request    string
}

// A Stop is the context of a terminal error.
type Stop struct {
	Version  string // the resourceVersion of the object
	Revision string // the revision of the connection
	Due      time.Time
	Until    time.Time
}

// Rewordings count how often the message of one failure has changed.
type Rewordings struct {
	Of    string    // the failure without its message
	Since time.Time // when the failure was reported first
	Count int       // how often it was reported with another message since then
}

// A CreationRef identifies the external resource of an object. It consists of the creation or adoption that the
// annotations record, and of the external name.
type CreationRef struct{ Mark, Name string }

// ParseCreationRef parses the result of String. For any other text it returns the zero value.
func ParseCreationRef(text string) CreationRef {
	mark, quoted, ok := strings.Cut(text, " of ")
	name, err := strconv.Unquote(quoted)
	if !ok || err != nil || mark == "" {
		return CreationRef{}
	}

	return CreationRef{mark, name}
}

// String returns the text for the reference in the message of the condition Created.
func (c CreationRef) String() string { return c.Mark + " of " + strconv.Quote(c.Name) }

// Is reports whether a text equals the result of String.
func (c CreationRef) Is(text string) bool {
	_, name := c.MatchesCondition(text)

	return name
}

// MatchesCondition compares the reference with the argument text, the message of a condition Created. The result
// creation is true if the message is about the creation. The result name is true if the message also has the external
// name.
func (c CreationRef) MatchesCondition(text string) (creation, name bool) {
	rest, marked := strings.CutPrefix(text, c.Mark)
	rest, creation = strings.CutPrefix(rest, " of ")
	var quoted [128]byte // on the stack: a pass calls this several times

	return marked && creation, marked && creation && rest == string(strconv.AppendQuote(quoted[:0], c.Name))
}

// A Key identifies an object. Two objects with the same name have different UIDs.
type Key struct {
	Object types.NamespacedName
	UID    types.UID
}

// A Record is the whole memory of one object.
type Record struct {
	State
	*Cold // nil: empty

	Written map[string][]string // annotations that this process wrote recently
}

// Clone returns a copy that shares nothing with the record.
func (r Record) Clone() Record {
	if r.Cold != nil {
		cold := *r.Cold
		cold.LastWarnings = maps.Clone(cold.LastWarnings)
		cold.Uncalled = slices.Clone(cold.Uncalled)
		cold.Unwritten = maps.Clone(cold.Unwritten)
		cold.Undelivered = maps.Clone(cold.Undelivered) // whose values are immutable
		r.Cold = &cold
	}
	r.Written = maps.Clone(r.Written)
	for key, values := range r.Written {
		r.Written[key] = slices.Clone(values)
	}

	return r
}

// A Keeper holds the memory of a reconciler, one Record for each object. The reconciler implements it. Its methods must
// not be called during a pass.
type Keeper interface {
	// Records calls visit with each record. Visit may read the content of the record until it returns.
	Records(visit func(Key, Record))
	// Replace replaces all records. The Keeper takes ownership of the map.
	Replace(map[Key]Record)
}

// A Handle gives access to the memory of a reconciler. The code that makes the reconciler passes a Handle to it, and
// the reconciler sets the Keeper. The zero value has no reconciler.
type Handle struct{ Keeper }

// Snapshot returns a copy of the memory.
func (h *Handle) Snapshot() map[Key]Record {
	out := map[Key]Record{}
	if h.Keeper != nil {
		h.Records(func(k Key, r Record) { out[k] = r.Clone() })
	}

	return out
}

// Restore replaces the memory with a snapshot. The snapshot can be restored again.
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

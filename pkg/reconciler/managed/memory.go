package managed

import (
	"crypto/sha256"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/roll"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
)

// A memo is what the process knows about one object beyond what is stored in it.
// Losing it (a restart) may cost time or a request, never safety. Only the pass of
// that object uses it, apart from wrote, which the watch predicate reads.
type memo struct {
	counted telemetry.Object
	place   *roll.Place // nil: nobody wanted to know yet

	version string // resourceVersion answered by our last write
	live    bool   // it was written, or read from the API server itself, in this process

	known  bool // a pass was made by this process
	failed bool // the last pass failed
	noted  bool // annotations were written in this pass
	gone   bool // it was let go, and the answer to that was that nobody keeps it

	seen     origin  // whose external resource an observation found
	creation string  // the creation whose window is running: its mark, or our own
	since    instant // when this process first knew of it

	*troubles // never nil within a pass

	mu    sync.Mutex
	wrote map[string][]string // annotations as we wrote them lately
}

// An instant is a time that a memo keeps in a third of the room: how long after the
// reconciler was made, by the same clock. Zero is none.
type instant time.Duration

// At returns the instant of a time.
func (r *Reconciler) at(t time.Time) instant { return instant(t.Sub(r.made)) }

// Time returns the time of an instant.
func (r *Reconciler) time(i instant) time.Time {
	if i == 0 {
		return time.Time{}
	}

	return r.made.Add(time.Duration(i))
}

// Troubles are what a memo says of an object with which not all is well, and of one
// with connection details. Most objects have none, most of the time, and then nothing
// is kept.
type troubles struct {
	tried   wish    // what a user asked for and the last pass tried, while the object does not tell
	changed instant // when this process first changed what its passes wait for since

	deleteSent time.Time // when the last Delete was sent
	letGo      bool      // the author's finalizer was removed

	search      string    // the attempt that is being looked up
	searchSince time.Time // since when this process knows of it
	absentSince time.Time // when what is to be deleted was first not found
	absentAs    string    // and under which name
	lost        string    // how the last create ended whose result is not known

	held *turn // that the object was given because it was told to come back
	stop stop  // the terminal error in which the last pass ended, if its cause can be told

	waits     int // consecutive passes that doubled their wait
	unchanged int // consecutive passes whose Update did not show
	conflicts int // consecutive passes that ended in a conflict

	published   [sha256.Size]byte // the connection details that were published last
	publishedAs string            // how the status tells that

	told        map[string]string // the last message of a warning, by reason; never empty
	disconnect  string            // the last complaint about a disconnect
	reverted    string            // the last complaint about fields that were unset again
	badInterval string            // the last complaint about a poll interval
	dropped     [sha256.Size]byte // the status patch that the server dropped, with its base
	volatileAt  time.Time         // when volatile fields were last written
}

// A turn is a place among those who wait for a connection.
type turn struct {
	gate *gates.Gate
	of   gates.Request
}

// Leaves gives up the turn of an object that will not come back for it.
func (o *memo) leaves() {
	if o.troubles != nil && o.held != nil {
		o.held.gate.Forget(o.held.of)
		o.held = nil
	}
}

// Spare troubles are those of no object.
var spareTroubles = sync.Pool{New: func() any { return &troubles{} }}

// Wake is for a pass.
func (o *memo) wake() *memo {
	if o.troubles == nil {
		o.troubles, _ = spareTroubles.Get().(*troubles)
	}

	return o
}

// Rest is for between two passes: what says nothing is not kept. What the pass read
// shows all that was written before, so if it has written nothing itself, no event of
// our own is to be expected.
func (o *memo) rest() {
	if t := o.troubles; t != nil && reflect.ValueOf(t).Elem().IsZero() {
		o.troubles = nil
		spareTroubles.Put(t)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.noted {
		o.wrote = nil
	}
	o.noted = false
}

// Older says whether a version read is older than our own last write. What
// cannot be compared is not.
func (o *memo) older(version string) bool {
	if o.version == "" || version == "" || o.version == version {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, o.version)

	return err == nil && order < 0
}

// How many values of an annotation are remembered: those of a few passes, whose
// events may still be on their way.
const writesRemembered = 8

// Writes remembers changes of annotations that are about to be written. An empty
// value is a removal.
func (o *memo) writes(changes map[string]any) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.noted = o.noted || len(changes) > 0
	if o.wrote == nil {
		o.wrote = map[string][]string{}
	}
	for key, change := range changes {
		value, _ := change.(string)
		if values := o.wrote[key]; !slices.Contains(values, value) {
			o.wrote[key] = append(values[max(0, len(values)-writesRemembered+1):], value)
		}
	}
}

// Ours says whether the value of an annotation is one that we wrote. Once somebody
// else has written another, it no longer is: he may set it back.
func (o *memo) ours(key, value string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()

	if slices.Contains(o.wrote[key], value) {
		return true
	}
	delete(o.wrote, key)

	return false
}

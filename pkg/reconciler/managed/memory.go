package managed

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/records"
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

	objectstate.State
	*troubles // never nil within a pass

	mu    sync.Mutex
	wrote map[string][]string // annotations as we wrote them lately
}

// at returns the instant of a time.
func (r *Reconciler) at(t time.Time) objectstate.Instant {
	return objectstate.Instant(t.Sub(r.made))
}

// time returns the time of an instant.
func (r *Reconciler) time(i objectstate.Instant) time.Time {
	if i == 0 {
		return time.Time{}
	}

	return r.made.Add(time.Duration(i))
}

// Troubles are what a memo says of an object with which not all is well, and of one
// with connection details. Most objects have none, most of the time, and then nothing
// is kept.
type troubles struct {
	objectstate.Cold

	held *turn // that the object was given because it was told to come back

	details map[string]rotated // that observations have told
}

// Rotated are the values of a connection detail: the last, and the one before that, if it has changed.
type rotated [2][]byte

// A turn is a place among those who wait for a connection.
type turn struct {
	gate *gates.Gate
	of   gates.Request
}

// leaves gives up the turn of an object that will not come back for it.
func (o *memo) leaves() {
	if o.troubles != nil && o.held != nil {
		o.held.gate.Forget(o.held.of)
		o.held = nil
	}
}

// Spare troubles are those of no object.
var spareTroubles = sync.Pool{New: func() any { return &troubles{} }}

// wake is for a pass.
func (o *memo) wake() *memo {
	if o.troubles == nil {
		o.troubles, _ = spareTroubles.Get().(*troubles)
	}

	return o
}

// rest is for between two passes: what says nothing is not kept. What the pass read
// shows all that was written before, so if it has written nothing itself, no event of
// our own is to be expected.
func (o *memo) rest() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.troubles; t != nil && reflect.ValueOf(t).Elem().IsZero() {
		o.troubles = nil
		spareTroubles.Put(t)
	}
	if !o.Noted {
		o.wrote = nil
	}
	o.Noted = false
}

// How many values of an annotation are remembered: those of a few passes, whose
// events may still be on their way.
const writesRemembered = 8

// writes remembers changes of annotations that are about to be written. An empty
// value is a removal.
func (o *memo) writes(changes map[string]any) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.Noted = o.Noted || len(changes) > 0
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

// ours says whether the value of an annotation is one that we wrote. Once somebody
// else has written another, it no longer is: they may set it back.
func (o *memo) ours(key, value string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()

	if slices.Contains(o.wrote[key], value) {
		return true
	}
	delete(o.wrote, key)

	return false
}

// A keeper lets who made the reconciler see and replace what it remembers.
type keeper struct{ of *records.Records[memo] }

// Records calls visit with what is remembered of each object.
func (k keeper) Records(visit func(objectstate.Key, objectstate.Record)) {
	k.of.Each(func(name types.NamespacedName, uid types.UID, o *memo) {
		r := objectstate.Record{State: o.State, Written: o.wrote}
		if o.troubles != nil {
			r.Cold = &o.Cold
		}
		visit(objectstate.Key{Object: name, UID: uid}, r)
	})
}

// Replace forgets everything, and remembers this instead.
func (k keeper) Replace(with map[objectstate.Key]objectstate.Record) {
	k.of.Clear()
	for key, r := range with {
		o := k.of.Of(key.Object, key.UID)
		if o.State, o.wrote = r.State, r.Written; r.Cold != nil {
			o.troubles = &troubles{Cold: *r.Cold}
		}
	}
}

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
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/listcache"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
)

// An objectState is what the process knows about one object beyond what is stored in it.
// Losing it (a restart) may cost time or a request, never safety. Only the pass of
// that object uses it, apart from wrote, which the watch predicate reads.
type objectState struct {
	counted telemetry.Object
	member  *listcache.Member // nil: nobody wanted to know yet

	objectstate.State
	*coldState // never nil within a pass

	mu      sync.Mutex
	written map[string][]string // annotations as we wrote them lately
}

// at returns the instant of a time.
func (r *Reconciler) at(t time.Time) objectstate.Instant {
	return objectstate.Instant(t.Sub(r.createdAt))
}

// time returns the time of an instant.
func (r *Reconciler) time(i objectstate.Instant) time.Time {
	if i == 0 {
		return time.Time{}
	}

	return r.createdAt.Add(time.Duration(i))
}

// coldState are what a memo says of an object with which not all is well, and of one
// with connection details. Most objects have none, most of the time, and then nothing
// is kept.
type coldState struct {
	objectstate.Cold

	reservation *reservation // that the object was given because it was told to come back

	details map[string]rotated // that observations have told
}

// Rotated are the values of a connection detail: the last, and the one before that, if it has changed.
type rotated [2][]byte

// A reservation is a place among those who wait for a connection.
type reservation struct {
	gate *gates.Gate
	of   gates.Request
}

// cancelReservation gives up the turn of an object that will not come back for it.
func (o *objectState) cancelReservation() {
	if o.coldState != nil && o.reservation != nil {
		o.reservation.gate.Forget(o.reservation.of)
		o.reservation = nil
	}
}

// Spare troubles are those of no object.
var coldStatePool = sync.Pool{New: func() any { return &coldState{} }}

// acquire is for a pass.
func (o *objectState) acquire() *objectState {
	if o.coldState == nil {
		o.coldState, _ = coldStatePool.Get().(*coldState)
	}

	return o
}

// release is for between two passes: what says nothing is not kept. What the pass read
// shows all that was written before, so if it has written nothing itself, no event of
// our own is to be expected.
func (o *objectState) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.coldState; t != nil && reflect.ValueOf(t).Elem().IsZero() {
		o.coldState = nil
		coldStatePool.Put(t)
	}
	if !o.PendingEcho {
		o.written = nil
	}
	o.PendingEcho = false
}

// How many values of an annotation are remembered: those of a few passes, whose
// events may still be on their way.
const writesRemembered = 8

// recordWrite remembers changes of annotations that are about to be written. An empty
// value is a removal.
func (o *objectState) recordWrite(changes map[string]any) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.PendingEcho = o.PendingEcho || len(changes) > 0
	if o.written == nil {
		o.written = map[string][]string{}
	}
	for key, change := range changes {
		value, _ := change.(string)
		if values := o.written[key]; !slices.Contains(values, value) {
			o.written[key] = append(values[max(0, len(values)-writesRemembered+1):], value)
		}
	}
}

// isOwnEcho says whether the value of an annotation is one that we wrote. Once somebody
// else has written another, it no longer is: they may set it back.
func (o *objectState) isOwnEcho(key, value string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()

	if slices.Contains(o.written[key], value) {
		return true
	}
	delete(o.written, key)

	return false
}

// A snapshotter lets who made the reconciler see and replace what it remembers.
type snapshotter struct{ of *records.Records[objectState] }

// Records calls visit with what is remembered of each object.
func (k snapshotter) Records(visit func(objectstate.Key, objectstate.Record)) {
	k.of.Each(func(name types.NamespacedName, uid types.UID, o *objectState) {
		r := objectstate.Record{State: o.State, Written: o.written}
		if o.coldState != nil {
			r.Cold = &o.Cold
		}
		visit(objectstate.Key{Object: name, UID: uid}, r)
	})
}

// Replace forgets everything, and remembers this instead.
func (k snapshotter) Replace(with map[objectstate.Key]objectstate.Record) {
	k.of.Clear()
	for key, r := range with {
		o := k.of.Of(key.Object, key.UID)
		if o.State, o.written = r.State, r.Written; r.Cold != nil {
			o.coldState = &coldState{Cold: *r.Cold}
		}
	}
}

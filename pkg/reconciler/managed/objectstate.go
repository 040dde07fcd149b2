package managed

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/records"
	"github.com/moorage-dev/moorage/internal/redact"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/listcache"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
)

// An objectState is the memory of the process about one object, in addition to the stored object. Its loss by a
// restart may cost time or a request, but does not affect safety. Only the pass of the object uses it, except for the
// field written, which the watch predicate also reads.
type objectState struct {
	counted telemetry.Object
	member  *listcache.Member // nil: not registered yet

	objectstate.State
	*coldState // never nil within a pass

	written ownWrites
}

// ownWrites are the recent values of annotations that this process wrote. The zero value has none. The mutex protects
// the values, which the watch predicate also reads.
type ownWrites struct {
	mu     sync.Mutex
	values map[string][]string
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

// A coldState is the part of the state that is usually empty, and then takes no memory. See objectstate.Cold for the
// objects that have one.
type coldState struct {
	objectstate.Cold

	reservation *reservation // that the object was given for its requeue
	reread      rereadTurn

	details map[string]rotated // that were observed
}

// rotated has the last two different values of a connection detail.
type rotated [2][]byte

// A reservation is a place among the objects that wait for a connection.
type reservation struct {
	gate *gates.Gate
	of   gates.Request
}

// cancelReservation cancels the reservation of an object that will not use it.
func (o *objectState) cancelReservation() {
	if o.coldState != nil && o.reservation != nil {
		o.reservation.gate.Forget(o.reservation.of)
		o.reservation = nil
	}
}

// An objectMemory has what a reconciler remembers of its objects, and what their passes share. Create it with
// newObjectMemory. It is safe for concurrent use.
type objectMemory struct {
	*records.Records[objectState]

	unused   *sync.Pool // cold states that no object uses; see newObjectMemory
	derived  hashCache
	redacted redact.Cache // the texts of failures
}

// newObjectMemory returns an empty memory that calls forget for each state that it drops. The runtime refers to each
// used sync.Pool until the second garbage collection. If the pool were a part of the memory, the runtime would keep the
// reconciler, its client and its connecter for as long.
func newObjectMemory(forget func(*objectState)) *objectMemory {
	return &objectMemory{Records: records.New(forget), unused: new(sync.Pool)}
}

// acquire prepares the state for a pass, with an unused cold state, if there is one.
func (o *objectState) acquire(unused *sync.Pool) *objectState {
	if o.coldState != nil {
		return o
	}
	if t, ok := unused.Get().(*coldState); ok {
		o.coldState = t
	} else {
		o.coldState = &coldState{}
	}

	return o
}

// release drops the empty parts of the state after a pass. The object that the pass read includes all earlier
// writes, so after a pass without a write no event of our own is expected.
func (o *objectState) release(unused *sync.Pool) {
	o.written.mu.Lock()
	defer o.written.mu.Unlock()
	if t := o.coldState; t != nil && reflect.ValueOf(t).Elem().IsZero() {
		o.coldState = nil
		unused.Put(t)
	}
	if !o.PendingEcho {
		o.written.values = nil
	}
	o.PendingEcho = false
}

// The number of values of an annotation that are remembered: those of a few passes, whose events may still arrive.
const writesRemembered = 8

// recordWrite remembers changes of annotations that are about to be written. An empty value is a removal.
func (o *objectState) recordWrite(changes map[string]any) {
	o.written.mu.Lock()
	defer o.written.mu.Unlock()

	o.PendingEcho = o.PendingEcho || len(changes) > 0
	if o.written.values == nil {
		o.written.values = map[string][]string{}
	}
	for key, change := range changes {
		value, _ := change.(string)
		if values := o.written.values[key]; !slices.Contains(values, value) {
			o.written.values[key] = append(values[max(0, len(values)-writesRemembered+1):], value)
		}
	}
}

// isOwnEcho reports whether this process wrote the value of an annotation. After another writer has written a
// different value, the remembered values no longer count, because that writer may set one of them again.
func (o *objectState) isOwnEcho(key, value string) bool {
	o.written.mu.Lock()
	defer o.written.mu.Unlock()

	if slices.Contains(o.written.values[key], value) {
		return true
	}
	delete(o.written.values, key)

	return false
}

// A snapshotter reads and replaces the memory of a reconciler.
type snapshotter struct{ of *records.Records[objectState] }

// Records calls visit with the state of each object.
func (k snapshotter) Records(visit func(objectstate.Key, objectstate.Record)) {
	k.of.Each(func(name types.NamespacedName, uid types.UID, o *objectState) {
		r := objectstate.Record{State: o.State, Written: o.written.values}
		if o.coldState != nil {
			r.Cold = &o.Cold
		}
		visit(objectstate.Key{Object: name, UID: uid}, r)
	})
}

// Replace replaces the state of all objects.
func (k snapshotter) Replace(with map[objectstate.Key]objectstate.Record) {
	k.of.Clear()
	for key, r := range with {
		o := k.of.Of(key.Object, key.UID)
		if o.State, o.written.values = r.State, r.Written; r.Cold != nil {
			o.coldState = &coldState{Cold: *r.Cold}
		}
	}
}

package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An object is what is remembered of one. A name is that of one object at a
// time, so that is where it is kept, but it belongs to a UID: another one under
// the same name begins anew.
type object struct {
	uid types.UID

	ready, synced bool // as it is counted
	unready       bool // it was never Ready, and its time to readiness is not known

	compared   bool      // this process has compared it with its external resource
	inSync     time.Time // when that was last as desired; zero: it is not
	generation int64     // of what was desired
}

// A Finding is what an observation says of the external resource.
type Finding int

// What an observation may find.
const (
	Same    Finding = iota // it is as desired
	Differs                // it is not
	Missing                // there is none
)

var driftNames = map[Finding]string{Differs: "changed", Missing: "missing"}

// Compared tells what an observation found, right after it and given the object
// as it was read. If the resource was as desired before and its object asks for
// the same as then, somebody else has changed it: a drift. It is counted once,
// until the resource is as desired again; and it is timed since it was last seen
// so, unless that was in another process. What a user changes is no drift, nor
// is anything while the object is being deleted.
func (r *Recorder) Compared(mg resource.Managed, f Finding) {
	if mg.GetDeletionTimestamp() != nil {
		return
	}
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()

	o := r.of(mg)
	if o == nil {
		return
	}
	if f == Same {
		o.compared, o.inSync, o.generation = true, now, mg.GetGeneration()

		return
	}
	if o.wasInSync(mg) {
		r.metrics.drifts[f].Inc()
		if o.compared {
			r.metrics.drift.Observe(seconds(o.inSync, now))
		}
	}
	o.compared, o.inSync = true, time.Time{}
}

// WasInSync says whether the external resource was last seen as the object asks
// for now. After a restart the conditions tell.
func (o *object) wasInSync(mg resource.Managed) bool {
	if o.compared {
		return !o.inSync.IsZero() && o.generation == mg.GetGeneration()
	}
	synced := mg.GetCondition(commonv1.TypeSynced)

	return synced.Status == metav1.ConditionTrue && synced.ObservedGeneration == mg.GetGeneration() &&
		mg.GetCondition(commonv1.TypeUpToDate).Status != metav1.ConditionFalse
}

// Seen tells what the object says at the end of a pass, once that is stored. The
// first time that it is ready, the time since it was made is its time to
// readiness.
func (r *Recorder) Seen(mg resource.Managed) {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()

	o := r.of(mg)
	if o == nil {
		return
	}
	r.show(o, mg)
	if o.unready && o.ready {
		o.unready = false
		sinceMade(r.metrics.toReadiness, mg, now)
	}
}

// Deleted tells that a deleted object was let go: its finalizer is removed. The
// time since it was deleted is that of its deletion. Nothing is remembered of it.
func (r *Recorder) Deleted(mg resource.Managed) {
	if since := mg.GetDeletionTimestamp(); since != nil {
		r.metrics.deletion.Observe(seconds(since.Time, r.clock.Now()))
	}
	r.Forget(types.NamespacedName{Namespace: mg.GetNamespace(), Name: mg.GetName()})
}

// Forget the object of a name: there is none any more. To forget twice, or what
// was never met, does no harm.
func (r *Recorder) Forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.objects[key]; o != nil {
		r.drop(key, o)
	}
}

// Close forgets all objects: they are looked after by somebody else, or by
// nobody. It is for a controller that stops while its process goes on.
func (r *Recorder) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, o := range r.objects {
		r.drop(key, o)
	}
}

// Meet an object at the beginning of a pass.
func (r *Recorder) meet(mg resource.Managed, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()

	key := types.NamespacedName{Namespace: mg.GetNamespace(), Name: mg.GetName()}
	if o := r.objects[key]; o != nil {
		if o.uid == mg.GetUID() {
			return
		}
		r.drop(key, o)
	}
	o := &object{uid: mg.GetUID(), unready: neverReady(mg)}
	r.objects[key] = o
	r.metrics.exists.Inc()
	r.show(o, mg)
	if mg.GetCondition(commonv1.TypeSynced).LastTransitionTime.Time.IsZero() {
		sinceMade(r.metrics.toReconcile, mg, now)
	}
}

// NeverReady says whether the conditions prove that the object was never Ready.
// What a restart makes of an old object that is not ready now must not be taken
// for its beginning: either it has never said whether it is ready, or it has
// been saying no since before its external resource was first found. Where
// neither is stored, a creation that outlasts its process is not timed.
func neverReady(mg resource.Managed) bool {
	ready, found := mg.GetCondition(commonv1.TypeReady), mg.GetCondition(commonv1.TypeCreated)
	if ready.LastTransitionTime.IsZero() {
		return true
	}

	return ready.Status != metav1.ConditionTrue && !found.LastTransitionTime.Before(&ready.LastTransitionTime)
}

// Of returns what is remembered of an object, or nil.
func (r *Recorder) of(mg resource.Managed) *object {
	o := r.objects[types.NamespacedName{Namespace: mg.GetNamespace(), Name: mg.GetName()}]
	if o == nil || o.uid != mg.GetUID() {
		return nil
	}

	return o
}

func (r *Recorder) show(o *object, mg resource.Managed) {
	o.ready = turn(r.metrics.ready, o.ready, mg.GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue)
	o.synced = turn(r.metrics.synced, o.synced, mg.GetCondition(commonv1.TypeSynced).Status == metav1.ConditionTrue)
}

func (r *Recorder) drop(key types.NamespacedName, o *object) {
	delete(r.objects, key)
	r.metrics.exists.Dec()
	turn(r.metrics.ready, o.ready, false)
	turn(r.metrics.synced, o.synced, false)
}

// Turn counts an object in a gauge or takes it out, and returns whether it is
// now counted.
func turn(g prometheus.Gauge, was, is bool) bool {
	switch {
	case is && !was:
		g.Inc()
	case was && !is:
		g.Dec()
	}

	return is
}

func sinceMade(h prometheus.Observer, mg resource.Managed, now time.Time) {
	if made := mg.GetCreationTimestamp(); !made.IsZero() {
		h.Observe(seconds(made.Time, now))
	}
}

package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An Object is what is remembered of one, by whoever remembers it. It belongs to a UID:
// another object under the same name begins anew, with the zero value.
type Object struct {
	met           bool // it is counted
	ready, synced bool // as it is counted
	unready       bool // it was never Ready, and its time to readiness is not known

	compared   bool          // this process has compared it with its external resource
	inSync     time.Duration // when that was last as desired, since the recorder was made; zero: it is not
	generation int64         // of what was desired
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
func (r *Recorder) Compared(o *Object, mg resource.Managed, f Finding) {
	now := r.clock.Now()
	if !o.met || mg.GetDeletionTimestamp() != nil {
		return
	}
	if f == Same {
		o.compared, o.inSync, o.generation = true, now.Sub(r.made), mg.GetGeneration()

		return
	}
	if o.wasInSync(mg) {
		r.metrics.drifts[f].Inc()
		if o.compared {
			r.metrics.drift.Observe(seconds(r.made.Add(o.inSync), now))
		}
	}
	o.compared, o.inSync = true, 0
}

// wasInSync says whether the external resource was last seen as the object asks
// for now. After a restart the conditions tell.
func (o *Object) wasInSync(mg resource.Managed) bool {
	if o.compared {
		return o.inSync != 0 && o.generation == mg.GetGeneration()
	}
	synced := mg.GetCondition(commonv1.TypeSynced)

	return synced.Status == metav1.ConditionTrue && synced.ObservedGeneration == mg.GetGeneration() &&
		mg.GetCondition(commonv1.TypeUpToDate).Status != metav1.ConditionFalse
}

// Seen tells what the object says at the end of a pass, once that is stored. The
// first time that it is ready, the time since it was made is its time to
// readiness.
func (r *Recorder) Seen(o *Object, mg resource.Managed) {
	if !o.met {
		return
	}
	r.show(o, mg)
	if o.unready && o.ready {
		o.unready = false
		sinceMade(r.metrics.toReadiness, mg, r.clock.Now())
	}
}

// Deleted tells that a deleted object was let go: its finalizer is removed. The
// time since it was deleted is that of its deletion. It is forgotten.
func (r *Recorder) Deleted(o *Object, mg resource.Managed) {
	if since := mg.GetDeletionTimestamp(); since != nil {
		r.metrics.deletion.Observe(seconds(since.Time, r.clock.Now()))
	}
	r.Forget(o)
}

// Forget an object that is not there any more, or that is looked after by somebody
// else from now on. To forget twice, or what was never met, does no harm.
func (r *Recorder) Forget(o *Object) {
	if !o.met {
		return
	}
	r.metrics.exists.Dec()
	turn(r.metrics.ready, o.ready, false)
	turn(r.metrics.synced, o.synced, false)
	*o = Object{}
}

// meet an object at the beginning of a pass.
func (r *Recorder) meet(o *Object, mg resource.Managed, now time.Time) {
	if o.met {
		return
	}
	*o = Object{met: true, unready: neverReady(mg)}
	r.metrics.exists.Inc()
	r.show(o, mg)
	if mg.GetCondition(commonv1.TypeSynced).LastTransitionTime.Time.IsZero() {
		sinceMade(r.metrics.toReconcile, mg, now)
	}
}

// neverReady says whether the conditions prove that the object was never Ready.
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

func (r *Recorder) show(o *Object, mg resource.Managed) {
	o.ready = turn(r.metrics.ready, o.ready, mg.GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue)
	o.synced = turn(r.metrics.synced, o.synced, mg.GetCondition(commonv1.TypeSynced).Status == metav1.ConditionTrue)
}

// turn counts an object in a gauge or takes it out, and returns whether it is
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

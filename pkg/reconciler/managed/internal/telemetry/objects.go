package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An Object is the telemetry's memory of one object. The caller stores it. Use the zero value for an object with
// another UID, also under the same name.
type Object struct {
	counted       bool // it is counted
	ready, synced bool // as it is counted
	unready       bool // it was never Ready, and its time to readiness is not known

	compared   bool          // this process has compared it with its external resource
	drift      uint8         // the Finding of the last counted drift, until a change; Same: none
	change     uint8         // the Step of the last change; zero: none, or a Create whose effect was observed
	inSync     time.Duration // when the resource was last up to date, since the recorder was made; zero: it is not
	generation int64         // the generation that it was up to date with, or that the last change was made for
}

// A Finding is the result of an observation of the external resource.
type Finding int

// The findings.
const (
	Same    Finding = iota // it is up to date
	Differs                // it differs
	Missing                // it does not exist
)

var driftNames = map[Finding]string{Differs: "changed", Missing: "missing"}

// Compared records the result of an observation and detects drift. Call it directly after the observation, with the
// object as it was read.
//
// A drift is a change that was made elsewhere: the resource was up to date before, the desired state is unchanged,
// and the resource now differs. A change by a user of the object is no drift. An object that is being deleted has no
// drift.
//
// A drift is counted once, until the resource is up to date again. The duration of a drift is measured from the last
// time that this process saw the resource up to date. If only another process saw that, the drift has no duration.
// Compared reports whether it counted a drift.
func (r *Recorder) Compared(o *Object, mg resource.Managed, f Finding) bool {
	now := r.clock.Now()
	if !o.counted || mg.GetDeletionTimestamp() != nil {
		return false
	}
	if f == Same {
		o.compared, o.inSync, o.generation = true, now.Sub(r.made), mg.GetGeneration()

		return false
	}
	if f == Differs && Step(o.change) == Create { // it exists
		o.change = 0
	}
	drifted := o.wasInSync(mg)
	if drifted {
		o.drift, o.change, o.generation = uint8(f), 0, mg.GetGeneration()
		r.metrics.drifts[f].Inc()
		if o.compared {
			r.metrics.objects.drift.Observe(seconds(r.made.Add(o.inSync), now))
		}
	}
	o.compared, o.inSync = true, 0

	return drifted
}

// Changing records that the caller calls Create, Update or Delete for a generation of the object, and reports two facts
// about the reason of the call. The result drift is Differs or Missing if such a drift of this generation was counted,
// and this is the first change since. Otherwise it is Same. The result again is true if the last change was the same
// call for the same generation, and no observation has shown its effect since.
func (o *Object) Changing(call Step, generation int64) (drift Finding, again bool) {
	if o.generation == generation {
		drift, again = Finding(o.drift), Step(o.change) == call
	}
	o.drift, o.change, o.generation = uint8(Same), uint8(call), generation

	return drift, again
}

// wasInSync reports whether the last observation found the external resource up to date with the current desired
// state. After a restart the conditions decide.
func (o *Object) wasInSync(mg resource.Managed) bool {
	if o.compared {
		return o.inSync != 0 && o.generation == mg.GetGeneration()
	}
	synced := mg.GetCondition(commonv1.TypeSynced)

	return synced.Status == metav1.ConditionTrue && synced.ObservedGeneration == mg.GetGeneration() &&
		mg.GetCondition(commonv1.TypeUpToDate).Status != metav1.ConditionFalse
}

// Seen records the status of the object at the end of a pass, once the status is stored. When the object is ready for
// the first time, Seen records the time since its creation as time to readiness.
func (r *Recorder) Seen(o *Object, mg resource.Managed) {
	if !o.counted {
		return
	}
	r.show(o, mg)
	if o.unready && o.ready {
		o.unready = false
		sinceMade(r.metrics.objects.toReadiness, mg, r.clock.Now())
	}
}

// Deleted records that the finalizer of a deleted object was removed. It records the time since the deletion
// timestamp as the time of the deletion, and then forgets the object.
func (r *Recorder) Deleted(o *Object, mg resource.Managed) {
	if since := mg.GetDeletionTimestamp(); since != nil {
		r.metrics.objects.deletion.Observe(seconds(since.Time, r.clock.Now()))
	}
	r.Forget(o)
}

// Forget removes an object that is gone, or that another process reconciles from now on. It may be called repeatedly.
// An unknown object is ignored.
func (r *Recorder) Forget(o *Object) {
	if !o.counted {
		return
	}
	r.metrics.objects.exists.Dec()
	setCounted(r.metrics.objects.ready, o.ready, false)
	setCounted(r.metrics.objects.synced, o.synced, false)
	*o = Object{}
}

// count counts an object at the beginning of a pass.
func (r *Recorder) count(o *Object, mg resource.Managed, now time.Time) {
	if o.counted {
		return
	}
	*o = Object{counted: true, unready: neverReady(mg)}
	r.metrics.objects.exists.Inc()
	r.show(o, mg)
	if mg.GetCondition(commonv1.TypeSynced).LastTransitionTime.Time.IsZero() {
		sinceMade(r.metrics.objects.toReconcile, mg, now)
	}
}

// neverReady reports whether the conditions prove that the object was never Ready. That is the case if it has no
// condition Ready, or if Ready has been false since before the first observation of its external resource. Otherwise
// an old object that is not ready after a restart would be timed from its creation. If neither is stored, a creation
// that outlasts its process is not timed.
func neverReady(mg resource.Managed) bool {
	ready, found := mg.GetCondition(commonv1.TypeReady), mg.GetCondition(commonv1.TypeCreated)
	if ready.LastTransitionTime.IsZero() {
		return true
	}

	return ready.Status != metav1.ConditionTrue && !found.LastTransitionTime.Before(&ready.LastTransitionTime)
}

func (r *Recorder) show(o *Object, mg resource.Managed) {
	is := func(t commonv1.ConditionType) bool { return mg.GetCondition(t).Status == metav1.ConditionTrue }
	o.ready = setCounted(r.metrics.objects.ready, o.ready, is(commonv1.TypeReady))
	o.synced = setCounted(r.metrics.objects.synced, o.synced, is(commonv1.TypeSynced))
}

// setCounted adds an object to a gauge or removes it, and returns whether it is now counted.
func setCounted(g prometheus.Gauge, was, is bool) bool {
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

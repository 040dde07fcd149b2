package conformance

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// runTogether checks, without a reconciler and without faults, that one process serves two samples as it serves one.
func (k *runner) runTogether() {
	if len(k.suite.Samples) < 2 || k.suite.Replay != "" {
		return
	}
	before, process := k.resourceIDs(), k.newRecorder()
	first := k.newDirectChecks(process, k.suite.Samples[0], before)
	second := k.newDirectChecks(process, k.suite.Samples[1], before)
	for _, step := range []func() *finding{
		first.checkCreate, first.checkCreatedObserved, second.checkCreate, second.checkCreatedObserved,
		second.checkOtherProcess, first.checkDeleteIfReady,
	} {
		f := step()
		if k.host.stopped() {
			break
		}
		if f != nil {
			k.addFinding(f.property, "in a process that serves "+first.mg.GetName()+" and "+second.mg.GetName()+", "+f.text)
		}
		if k.stopped() {
			break
		}
	}
	k.cleanUp(before)
	k.ledger.reset()
}

// checkDeleteIfReady is checkDelete for an object that is Ready. A resource that is still being created may refuse its
// deletion.
func (m *directChecks) checkDeleteIfReady() *finding {
	_, err := m.observe(context.Background(), m.mg)
	if err != nil || m.mg.GetCondition(commonv1.TypeReady).Status != metav1.ConditionTrue {
		return nil // other checks report an error
	}

	return m.checkDelete()
}

// checkOtherProcess checks that a process that serves no other object finds the resource of the object.
func (m *directChecks) checkOtherProcess() *finding {
	other := *m
	other.recorder = m.newRecorder()
	other.recorder.publisher = m.direct
	var o managed.ExternalObservation
	var err error
	seen := func() bool {
		o, err = other.observe(context.Background(), clone(m.mg))

		return err == nil && o.ResourceExists
	}
	if m.eventually(seen) {
		return nil
	}

	return m.finding("created-is-seen", "Create of %s made its resource, and Observe of another process says %s: a call "+
		"has to reach the external system of its object, whatever other objects the process has served before",
		m.mg.GetName(), describeObservation(o, err))
}

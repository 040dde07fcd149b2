package conformance

import (
	"context"
	"fmt"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// restAfterDoubt waits until the simulated world is at rest. If a fault has reported an existing resource as absent, it
// first gives the reconciler time to look for the resource again. The status may be wrong at that time, even if the
// external system is correct.
func (t *scenarioRun) restAfterDoubt() {
	if t.absenceReported {
		t.Live(10 * time.Second)
	}
	t.Rest()
}

// create runs the scenario "create".
func (t *scenarioRun) create() {
	t.createObject()
	t.checkFirstLogin()
	t.Settle()
	t.restAfterDoubt()
}

// update runs a scenario that applies a mutation and reverts it.
func (t *scenarioRun) update() {
	t.createObject()
	t.Settle()
	t.applyMutation(t.mutation)
	t.Settle()
	t.applyMutation(nil)
	t.Settle()
	t.restAfterDoubt()
}

// refuseImmutable runs a scenario that changes an immutable field and reverts it.
func (t *scenarioRun) refuseImmutable() {
	t.createObject()
	t.Settle()
	t.applyMutation(t.mutation)
	before := t.ledger.changes
	t.Expect(func(mg resource.Managed) (string, bool) {
		if meta.WasDeleted(mg) || mg.GetCondition(commonv1.TypeSynced).Status == "False" {
			return "", !meta.WasDeleted(mg)
		}

		return "it does not say, by Synced=False, that " + t.mutation.Name + " is refused", true
	})
	t.Settle()
	t.Live(3 * time.Minute)
	if t.ledger.changes != before && !t.Disturbed() {
		t.Violate("immutable-is-refused", "the external system was changed after the mutation "+t.mutation.Name)
	}
	t.Expect(nil)
	t.applyMutation(nil)
	t.Settle()
	t.restAfterDoubt()
}

// deleteObject runs the scenario "delete".
func (t *scenarioRun) deleteObject() {
	t.createObject()
	t.Settle()
	t.Live(90 * time.Second) // the creation grace period is over
	t.Delete(t.key)
	t.Settle()
}

// recreate runs the scenario "recreate": the object is deleted and created again under
// the same name.
func (t *scenarioRun) recreate() {
	t.createObject()
	t.Settle()
	t.Delete(t.key)
	t.Live(time.Hour, func() bool { return t.Get(t.key) == nil })
	if t.Get(t.key) == nil {
		t.createObject()
	}
	t.Settle()
	t.restAfterDoubt()
}

// pause runs the scenario "pause".
func (t *scenarioRun) pause() {
	t.createObject()
	t.Settle()
	t.Annotate(t.key, meta.AnnotationKeyReconciliationPaused, "true")
	t.Live(3 * time.Minute)
	t.applyMutation(t.mutation)
	t.Untouched("while the object is paused")
	t.Annotate(t.key, meta.AnnotationKeyReconciliationPaused, "")
	t.Settle()
	t.restAfterDoubt()
}

// observeOnly runs the scenario "observe-only".
func (t *scenarioRun) observeOnly() {
	t.createObject()
	t.Settle()
	t.Annotate(t.key, meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve)
	t.Live(3 * time.Minute)
	t.driftAll()
	t.Untouched("although the object is only observed")
	t.Annotate(t.key, meta.AnnotationKeyManagementPolicy, "")
	t.Settle()
}

// orphan runs the scenario "orphan".
func (t *scenarioRun) orphan() {
	t.createObject()
	t.Settle()
	id := t.externalName()
	t.Annotate(t.key, meta.AnnotationKeyDeletionPolicy, meta.DeletionPolicyOrphan)
	t.Leave(t.uid)
	t.Delete(t.key)
	t.Untouched("although the resource is to be orphaned")
	t.Settle()
	if _, exists := t.ledger.existing[id]; !exists && !t.Disturbed() {
		t.Violate("orders-are-heeded", fmt.Sprintf("the resource %q of an object that is to be orphaned is gone", id))
	}
}

// removeExternally runs the scenario "removed". The resource is deleted without the provider, and is then created
// again.
func (t *scenarioRun) removeExternally() {
	t.createObject()
	t.Settle()
	id := t.externalName()
	_ = t.host.callProbeOnce("Probe.Remove", func(ctx context.Context) error {
		return t.suite.Probe.Remove(ctx, id)
	})
	t.ledger.lastMutation = t.host.lastReturn
	t.ledger.refresh(t.uid)
	t.Live(3 * time.Minute)
	t.Settle()
	t.restAfterDoubt()
}

// drifted runs the scenario "drift".
func (t *scenarioRun) drifted() {
	t.createObject()
	t.Settle()
	t.driftAll()
	t.Live(3 * time.Minute)
	t.Settle()
	t.restAfterDoubt()
}

// makeUnowned creates a resource as specified by the sample, but without an owner. It returns the ID of the resource.
func (t *scenarioRun) makeUnowned() string {
	like := fresh(t.sample)
	t.setChosenName(like)
	var id string
	err := t.host.callProbeOnce("Probe.Make", func(ctx context.Context) (err error) {
		// the scenario requires a Probe that can create unowned resources
		id, err = t.suite.Probe.(UnownedMaker).Make(ctx, like)

		return err
	})
	t.ledger.lastMutation = t.host.lastReturn
	t.waitForDelay(t.ledger.delay) // until the system shows the resource
	t.ledger.refresh(noObject)
	if _, exists := t.ledger.existing[id]; err == nil && !exists {
		err = fmt.Errorf("the probe does not list %q", id)
	}
	if err != nil {
		_ = t.host.giveUpProbe("after Probe.Make: "+err.Error(), err)
	}

	return id
}

// adopt runs the scenario "adopt": the object adopts an existing resource.
func (t *scenarioRun) adopt() {
	id := t.makeUnowned()
	t.uid = t.createFrom(t.sample, func(mg resource.Managed) {
		meta.SetExternalName(mg, id)
		meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyAdoptionPolicy: meta.AdoptionPolicyIfUnowned})
	})
	t.Adopt(t.uid)
	t.ledger.adoptable[t.uid] = id
	t.Settle()
	if others := t.ledger.Of(t.uid); len(others) > 0 && !t.Disturbed() {
		t.Violate("at-most-one", fmt.Sprintf("%v was created beside %q, which was to be adopted", others, id))
	}
	t.Delete(t.key)
	t.Settle()
	if r, exists := t.ledger.existing[id]; exists && !r.Deleting && !t.Disturbed() {
		t.Violate("nothing-is-left", fmt.Sprintf("%q, which the object had adopted, is still there", id))
	}
}

// conflictWithUnowned runs the scenario `stranger`. The external name leads to a resource that the object does not own.
func (t *scenarioRun) conflictWithUnowned() {
	id := t.makeUnowned()
	t.uid = t.createFrom(t.sample, func(mg resource.Managed) { meta.SetExternalName(mg, id) })
	t.Expect(func(mg resource.Managed) (string, bool) {
		if meta.WasDeleted(mg) || meta.IsPaused(mg) {
			return "", false
		}
		if mg.GetCondition(commonv1.TypeSynced).Reason != commonv1.ReasonExternalResourceNotOwned {
			return "it does not say that it does not own its resource", true
		}

		return "", true
	})
	t.Settle()
	t.Untouched("although the object does not own the resource")
	t.Delete(t.key)
	t.Settle()
	if _, exists := t.ledger.existing[id]; !exists {
		t.Violate("strangers-are-left-alone", fmt.Sprintf("the foreign resource %q is gone", id))
	}
}

// outage runs the scenario "outage". The external system is unavailable while the object is changed, and again while
// the object is deleted.
func (t *scenarioRun) outage() {
	// the scenario requires a Breaker
	b := t.suite.Probe.(Breaker)
	t.createObject()
	t.Settle()
	if mend := t.runner.breakSystem(b); mend != nil {
		t.Change(t.key, func(mg resource.Managed) { t.applyEdit(mg, 1) })
		t.Live(3 * time.Minute)
		mend()
	}
	t.Settle()
	if mend := t.runner.breakSystem(b); mend != nil {
		t.Delete(t.key)
		t.Live(3 * time.Minute)
		if t.Get(t.key) == nil {
			t.Violate("unknown-is-not-absent", "an object went while its external system was broken")
		}
		mend()
	}
	t.Settle()
}

// misrouted runs the scenario "misrouted". A proxy responds instead of the external system while the object is
// observed, and again while the object is deleted.
func (t *scenarioRun) misrouted() {
	t.createObject()
	t.Settle()
	for _, status := range unavailableStatuses {
		if end := t.misroute(status); end != nil {
			t.Untouched(whileMisrouted(status))
			end()
		}
	}
	t.Settle()
	if end := t.misroute(unavailableStatuses[0]); end != nil {
		t.Delete(t.key)
		t.Live(3 * time.Minute)
		if t.Get(t.key) == nil {
			t.Violate("unknown-is-not-absent", "an object went "+whileMisrouted(unavailableStatuses[0]))
		}
		end()
	}
	t.Settle()
}

// missedRead runs the scenario "missed". One read misses the resource of a synced object. Another read misses the
// resource of an object that is being deleted.
func (t *scenarioRun) missedRead() {
	t.createObject()
	t.Settle()
	t.Live(90 * time.Second) // the creation grace period is over
	t.hideOnce(func() {})
	t.Live(3 * time.Minute) // time for the confirming observation
	t.Settle()
	t.hideOnce(func() { t.Delete(t.key) })
	t.Settle()
}

// hideOnce hides the resource of the object from the next observation.
func (t *scenarioRun) hideOnce(then func()) {
	// the scenario requires a Hider
	h := t.suite.Probe.(Hider)
	id := t.externalName()
	end := t.disturb("Probe.Hide", func(ctx context.Context) (func(context.Context) error, error) {
		return h.Hide(ctx, id)
	})
	if end == nil {
		return // the probe failed
	}
	then()
	seen := t.ledger.observeCount
	t.Live(time.Hour, func() bool { return t.ledger.observeCount > seen })
	end()
}

// deleteOneOfTwo runs the scenario "two". One of two objects is deleted, and the other object stays.
func (t *scenarioRun) deleteOneOfTwo() {
	t.createObject()
	t.createFrom(t.second, nil)
	t.Settle()
	t.Delete(t.key)
	t.Settle()
	t.restAfterDoubt()
}

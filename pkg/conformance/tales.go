package conformance

import (
	"context"
	"fmt"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// rest lets the world rest, once what was said not to exist has been looked for again: that
// what there is was right all the time does not mean that the object has told so.
func (t *tale) rest() {
	if t.doubted {
		t.Live(10 * time.Second)
	}
	t.Rest()
}

func (t *tale) creates() {
	t.begin()
	t.Settle()
	t.rest()
}

// updates goes there and back.
func (t *tale) updates() {
	t.begin()
	t.Settle()
	t.set(t.mutates)
	t.Settle()
	t.set(nil)
	t.Settle()
	t.rest()
}

// refuses asks for what cannot be, and comes back.
func (t *tale) refuses() {
	t.begin()
	t.Settle()
	t.set(t.mutates)
	before := t.ledger.changes
	t.Expect(func(mg resource.Managed) (string, bool) {
		if meta.WasDeleted(mg) || mg.GetCondition(commonv1.TypeSynced).Status == "False" {
			return "", !meta.WasDeleted(mg)
		}

		return "it does not say, by Synced=False, that " + t.mutates.Name + " is refused", true
	})
	t.Settle()
	t.Live(3 * time.Minute)
	if t.ledger.changes != before && !t.Disturbed() {
		t.Violate("immutable-is-refused", "the external system was changed after the mutation "+t.mutates.Name)
	}
	t.Expect(nil)
	t.set(nil)
	t.Settle()
	t.rest()
}

func (t *tale) deletes() {
	t.begin()
	t.Settle()
	t.Live(90 * time.Second) // nothing of the creation is in doubt any more
	t.Delete(t.key)
	t.Settle()
}

func (t *tale) recreates() {
	t.begin()
	t.Settle()
	t.Delete(t.key)
	t.Live(time.Hour, func() bool { return t.Get(t.key) == nil })
	if t.Get(t.key) == nil {
		t.begin()
	}
	t.Settle()
	t.rest()
}

func (t *tale) pauses() {
	t.begin()
	t.Settle()
	t.Annotate(t.key, meta.AnnotationKeyReconciliationPaused, "true")
	t.Live(3 * time.Minute)
	t.set(t.mutates)
	t.Untouched("while the object is paused")
	t.Annotate(t.key, meta.AnnotationKeyReconciliationPaused, "")
	t.Settle()
	t.rest()
}

func (t *tale) observes() {
	t.begin()
	t.Settle()
	t.Annotate(t.key, meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve)
	t.Live(3 * time.Minute)
	t.drift()
	t.Untouched("although the object is only observed")
	t.Annotate(t.key, meta.AnnotationKeyManagementPolicy, "")
	t.Settle()
}

func (t *tale) orphans() {
	t.begin()
	t.Settle()
	id := t.externalName()
	t.Annotate(t.key, meta.AnnotationKeyDeletionPolicy, meta.DeletionPolicyOrphan)
	t.Leave(t.uid)
	t.Delete(t.key)
	t.Untouched("although the resource is to be orphaned")
	t.Settle()
	if _, exists := t.ledger.have[id]; !exists && !t.Disturbed() {
		t.Violate("orders-are-heeded", fmt.Sprintf("the resource %q of an object that is to be orphaned is gone", id))
	}
}

// removed: somebody else deletes the resource, and it is made again.
func (t *tale) removed() {
	t.begin()
	t.Settle()
	id := t.externalName()
	_ = t.host.call(context.Background(), "Probe.Remove", func(ctx context.Context) error { return t.suite.Probe.Remove(ctx, id) })
	t.ledger.acted = t.host.ended
	t.ledger.look(t.uid)
	t.Live(3 * time.Minute)
	t.Settle()
	t.rest()
}

func (t *tale) drifts() {
	t.begin()
	t.Settle()
	t.drift()
	t.Live(3 * time.Minute)
	t.Settle()
	t.rest()
}

// stranger makes what is nobody's, such as the sample asks for, and returns its id.
func (t *tale) stranger() string {
	like := fresh(t.sample)
	t.christen(like)
	var id string
	err := t.host.call(context.Background(), "Probe.Make", func(ctx context.Context) (err error) {
		// whoever tells this story has seen that the probe is one
		id, err = t.suite.Probe.(Stranger).Make(ctx, like) // see above

		return err
	})
	t.ledger.acted = t.host.ended
	t.pace(t.ledger.delay) // it was there before
	t.ledger.look(nobody)
	if _, exists := t.ledger.have[id]; err == nil && !exists {
		err = fmt.Errorf("the probe does not list %q", id)
	}
	if err != nil {
		_ = t.host.giveUp("probe-tells-the-truth", "after Probe.Make: "+err.Error())
	}

	return id
}

// adopts: there is a resource already, and the object is to take it over.
func (t *tale) adopts() {
	id := t.stranger()
	t.uid = t.make(t.sample, func(mg resource.Managed) {
		meta.SetExternalName(mg, id)
		meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyAdoptionPolicy: meta.AdoptionPolicyIfUnowned})
	})
	t.Adopt(t.uid)
	t.ledger.granted[t.uid] = id
	t.Settle()
	if beside := t.ledger.Of(t.uid); len(beside) > 0 && !t.Disturbed() {
		t.Violate("at-most-one", fmt.Sprintf("%v was created beside %q, which was to be adopted", beside, id))
	}
	t.Delete(t.key)
	t.Settle()
	if r, exists := t.ledger.have[id]; exists && !r.Deleting && !t.Disturbed() {
		t.Violate("nothing-is-left", fmt.Sprintf("%q, which the object had adopted, is still there", id))
	}
}

// meets: the external name is taken by what is not the object's.
func (t *tale) meets() {
	id := t.stranger()
	t.uid = t.make(t.sample, func(mg resource.Managed) { meta.SetExternalName(mg, id) })
	t.Expect(func(mg resource.Managed) (string, bool) {
		if meta.WasDeleted(mg) || meta.IsPaused(mg) {
			return "", false
		}
		if mg.GetCondition(commonv1.TypeSynced).Reason != commonv1.ReasonExternalResourceNotOwned {
			return "it does not say that its resource is somebody else's", true
		}

		return "", true
	})
	t.Settle()
	t.Untouched("although the resource is somebody else's")
	t.Delete(t.key)
	t.Settle()
	if _, exists := t.ledger.have[id]; !exists {
		t.Violate("strangers-are-left-alone", fmt.Sprintf("somebody else's resource %q is gone", id))
	}
}

// breaks: the external system is away when the object is changed, and when it is
// deleted.
func (t *tale) breaks() {
	// whoever tells this story has seen that the probe is one
	b := t.suite.Probe.(Breaker) // see above
	t.begin()
	t.Settle()
	if mend := t.kit.breaks(b); mend != nil {
		t.Change(t.key, func(mg resource.Managed) { t.edit(mg, 1) })
		t.Live(3 * time.Minute)
		mend()
	}
	t.Settle()
	if mend := t.kit.breaks(b); mend != nil {
		t.Delete(t.key)
		t.Live(3 * time.Minute)
		if t.Get(t.key) == nil {
			t.Violate("unknown-is-not-absent", "an object went while its external system was broken")
		}
		mend()
	}
	t.Settle()
}

// misroutes: pages answer in the place of the external system, when the object is looked
// at, and when it is deleted.
func (t *tale) misroutes() {
	t.begin()
	t.Settle()
	for _, status := range pages {
		if end := t.misroute(status); end != nil {
			t.Untouched(whileMisrouted(status))
			end()
		}
	}
	t.Settle()
	if end := t.misroute(pages[0]); end != nil {
		t.Delete(t.key)
		t.Live(3 * time.Minute)
		if t.Get(t.key) == nil {
			t.Violate("unknown-is-not-absent", "an object went "+whileMisrouted(pages[0]))
		}
		end()
	}
	t.Settle()
}

// missed: a read misses the resource, once while the object is as asked for, and once when
// it is deleted.
func (t *tale) missed() {
	t.begin()
	t.Settle()
	t.Live(90 * time.Second) // nothing of the creation is in doubt any more
	t.miss(func() {})
	t.Live(3 * time.Minute) // the second look has its time
	t.Settle()
	t.miss(func() { t.Delete(t.key) })
	t.Settle()
}

// miss hides the resource of the object from the next look.
func (t *tale) miss(then func()) {
	// whoever tells this story has seen that the probe is one
	h := t.suite.Probe.(Hider) // see above
	id := t.externalName()
	end := t.alters("Probe.Hide", func(ctx context.Context) (func(context.Context) error, error) { return h.Hide(ctx, id) })
	if end == nil {
		return // the probe is to blame
	}
	then()
	seen := t.ledger.observed
	t.Live(time.Hour, func() bool { return t.ledger.observed > seen })
	end()
}

// both: one of two objects goes, and the other stays.
func (t *tale) both() {
	t.begin()
	t.make(t.second, nil)
	t.Settle()
	t.Delete(t.key)
	t.Settle()
	t.rest()
}

// Package conditions helps several writers to share the conditions of one
// object: each stamps what it says with the generation it speaks of (Stamp), and
// puts its own changes, and nothing else, on what the others have written
// meanwhile (Merge).
//
// The functions depend on their arguments alone and may be called concurrently;
// that an object is used by one goroutine at a time is the caller's business.
package conditions

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A Conditioned has conditions.
type Conditioned interface {
	SetConditions(c ...commonv1.Condition)
	GetCondition(ct commonv1.ConditionType) commonv1.Condition
}

// Stamp writes the generation into the object's conditions of the supplied types
// that have none. ConditionedStatus.SetConditions takes the stamp off whatever it
// is given without one, so these are the conditions that somebody has set since.
// Types never set, and a generation of zero, are left alone.
func Stamp(obj Conditioned, generation int64, types ...commonv1.ConditionType) {
	for _, t := range types {
		c := obj.GetCondition(t)
		if isSet(c) && c.ObservedGeneration == 0 {
			c.ObservedGeneration = generation
			obj.SetConditions(c)
		}
	}
}

// Merge returns the newest conditions with my changes, type by type: conditions
// that differ between base and mine become mine, those that I removed go, and all
// others, among them those that others added, changed or removed, are as in
// newest. What I added comes last, in my order. No argument is changed.
//
// Base is what I started from. Of a condition that has its status already in
// newest, the time of the transition is kept.
func Merge(base, mine, newest []commonv1.Condition) []commonv1.Condition {
	s := commonv1.ConditionedStatus{Conditions: slices.Clone(newest)}

	for _, c := range mine {
		if old, ok := find(base, c.Type); !ok || !same(old, c) {
			s.SetConditions(c)
		}
	}

	s.Conditions = slices.DeleteFunc(s.Conditions, func(c commonv1.Condition) bool {
		_, had := find(base, c.Type)
		_, have := find(mine, c.Type)

		return had && !have
	})

	return s.Conditions
}

// isSet tells a condition from the answer for a type that was never set.
func isSet(c commonv1.Condition) bool {
	return c.Reason != "" || c.Status != metav1.ConditionUnknown || !c.LastTransitionTime.IsZero()
}

func find(cs []commonv1.Condition, t commonv1.ConditionType) (commonv1.Condition, bool) {
	i := slices.IndexFunc(cs, func(c commonv1.Condition) bool { return c.Type == t })
	if i < 0 {
		return commonv1.Condition{}, false
	}

	return cs[i], true
}

// same is stricter than Condition.Equal: a new stamp is a change too.
func same(a, b commonv1.Condition) bool {
	return a.Equal(b) && a.ObservedGeneration == b.ObservedGeneration &&
		a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

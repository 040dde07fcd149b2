// Package conditions lets several writers share the conditions of one object. Each writer sets the observed
// generation of its conditions (Stamp). It applies only its own changes to conditions that other writers have written
// meanwhile (Merge).
//
// The functions depend only on their arguments and may be called concurrently. The caller must not use one object
// from several goroutines.
package conditions

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/merge"
)

// A Conditioned has conditions.
type Conditioned interface {
	SetConditions(c ...commonv1.Condition)
	GetCondition(ct commonv1.ConditionType) commonv1.Condition
}

// Stamp sets the observed generation of those of the object's conditions that have the given types and no observed
// generation. These are the conditions that were set since the last Stamp, because ConditionedStatus.SetConditions
// clears the observed generation. Stamp ignores types that were never set. If generation is zero, it changes nothing.
func Stamp(obj Conditioned, generation int64, types ...commonv1.ConditionType) {
	for _, t := range types {
		c := obj.GetCondition(t)
		if isSet(c) && c.ObservedGeneration == 0 {
			c.ObservedGeneration = generation
			obj.SetConditions(c)
		}
	}
}

// Merge applies the changes from base to mine to the newest conditions, type by type, and returns the result. No
// argument is changed.
//
// A condition that differs between base and mine is as in mine. A condition that mine lacks and base has is removed.
// All other conditions are as in newest, with the changes of other writers. Added conditions come last, in the order
// of mine. If a changed condition has the same status in newest, it keeps the transition time of newest.
func Merge(base, mine, newest []commonv1.Condition) []commonv1.Condition {
	return merge.Elements[commonv1.Condition, commonv1.ConditionType]{
		Key:   func(c commonv1.Condition) commonv1.ConditionType { return c.Type },
		Equal: same,
		Set: func(list *[]commonv1.Condition, c commonv1.Condition) {
			s := commonv1.ConditionedStatus{Conditions: *list}
			s.SetConditions(c)
			*list = s.Conditions
		},
	}.Changes(base, mine, newest)
}

// isSet reports whether a condition was set: GetCondition also returns one for a type that was never set.
func isSet(c commonv1.Condition) bool {
	return c.Reason != "" || c.Status != metav1.ConditionUnknown || !c.LastTransitionTime.IsZero()
}

// same reports whether two conditions are equal. Unlike Condition.Equal, it compares the generations too.
func same(a, b commonv1.Condition) bool {
	return a.Equal(b) && a.ObservedGeneration == b.ObservedGeneration &&
		a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

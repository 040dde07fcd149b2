package v1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ConditionedStatus has the conditions of an object. Embed it inline in
// a status. The zero value has no conditions and is ready to use.
type ConditionedStatus struct {
	// Conditions of the object, at most one of each type.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
}

// NewConditionedStatus returns a status with the supplied conditions. Of
// several conditions of one type the last wins.
func NewConditionedStatus(c ...Condition) *ConditionedStatus {
	s := &ConditionedStatus{}
	s.SetConditions(c...)

	return s
}

// GetCondition returns the condition of the supplied type. For a type that was
// never set it returns a condition whose status is Unknown.
func (s *ConditionedStatus) GetCondition(ct ConditionType) Condition {
	if i := s.index(ct); i >= 0 {
		return s.Conditions[i]
	}

	return Condition{Type: ct, Status: metav1.ConditionUnknown}
}

// SetConditions replaces the conditions of the same types by the supplied
// ones, and appends those of new types in the order of the call.
//
// A condition that equals the stored one (see Condition.Equal) changes only
// the ObservedGeneration, which becomes that of the supplied condition. A
// condition without a generation therefore clears the stored generation,
// because it does not state for which generation it was computed. The managed
// reconciler stamps such conditions before it writes them.
//
// LastTransitionTime changes only with the status; it is kept when only the
// reason or the message changes. A zero time is replaced by now, because the
// API server refuses to store it.
func (s *ConditionedStatus) SetConditions(c ...Condition) {
	for _, set := range c {
		i := s.index(set.Type)
		if i < 0 {
			s.Conditions = append(s.Conditions, timed(set))

			continue
		}

		stored := &s.Conditions[i]
		if stored.Equal(set) {
			stored.ObservedGeneration = set.ObservedGeneration

			continue
		}

		if stored.Status == set.Status && !stored.LastTransitionTime.IsZero() {
			set.LastTransitionTime = stored.LastTransitionTime
		}

		*stored = timed(set)
	}
}

// Equal reports whether both statuses have equal conditions (see
// Condition.Equal), in whatever order. Two nil pointers are equal.
func (s *ConditionedStatus) Equal(other *ConditionedStatus) bool {
	if s == nil || other == nil {
		return s == nil && other == nil
	}

	if len(s.Conditions) != len(other.Conditions) {
		return false
	}

	return !slices.ContainsFunc(s.Conditions, func(c Condition) bool {
		i := other.index(c.Type)

		return i < 0 || !c.Equal(other.Conditions[i])
	})
}

func (s *ConditionedStatus) index(ct ConditionType) int {
	return slices.IndexFunc(s.Conditions, func(c Condition) bool { return c.Type == ct })
}

func timed(c Condition) Condition {
	if c.LastTransitionTime.IsZero() {
		c.LastTransitionTime = metav1.Now()
	}

	return c
}

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

// NewConditionedStatus returns a status with the supplied conditions. If several conditions have the same type, the
// last is used.
func NewConditionedStatus(c ...Condition) *ConditionedStatus {
	s := &ConditionedStatus{}
	s.SetConditions(c...)

	return s
}

// GetCondition returns the condition of the supplied type. If the status has no condition of this type, GetCondition
// returns a condition whose status is Unknown.
func (s *ConditionedStatus) GetCondition(ct ConditionType) Condition {
	if i := s.index(ct); i >= 0 {
		return s.Conditions[i]
	}

	return Condition{Type: ct, Status: metav1.ConditionUnknown}
}

// SetConditions adds the supplied conditions, in the order of the arguments. A supplied condition replaces the stored
// condition of the same type.
//
// If a supplied condition equals the stored condition (see Condition.Equal), only ObservedGeneration changes, to the
// value of the supplied condition. If the supplied condition has no ObservedGeneration, the stored value is cleared,
// because it is unknown for which generation the condition was computed. The managed reconciler sets the
// ObservedGeneration of such conditions before it writes them.
//
// LastTransitionTime changes only if the status changes. If only the reason or the message changes, the stored time
// remains. A zero time is replaced by the current time, because the API server does not accept a zero time.
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

// Equal reports whether both statuses have equal conditions (see Condition.Equal). The order of the conditions does not
// matter. Two nil pointers are equal.
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

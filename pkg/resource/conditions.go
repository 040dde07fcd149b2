package resource

import (
	"slices"
	"strings"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// Conditions are a list of conditions, at most one of each type. The zero value is empty and ready to use. The
// methods never change memory that another slice shares, because that slice may belong to a cache.
//
// The transition time of a condition changes only with its status, not with its message. This is the rule of
// commonv1.ConditionedStatus.
type Conditions []commonv1.Condition

// DeepCopy returns a copy that shares no memory with the list.
func (cs Conditions) DeepCopy() Conditions { return slices.Clone(cs) }

// UpsertCondition replaces the condition of the same type. If there is none, it appends the condition.
func (cs *Conditions) UpsertCondition(cond commonv1.Condition) {
	s := commonv1.ConditionedStatus{Conditions: cs.DeepCopy()}
	s.SetConditions(cond)
	*cs = s.Conditions
}

// UpsertConditionMessage appends the message of cond, after a comma, to the message of the condition of the same type.
// It changes no other field of that condition. If there is no condition of the type, it appends cond itself. If the
// existing message already contains the message of cond, nothing changes, so that equal reconciles do not change the
// status.
func (cs *Conditions) UpsertConditionMessage(cond commonv1.Condition) {
	const separator = ", "

	i := cs.index(cond.Type)
	if i < 0 {
		cs.UpsertCondition(cond)

		return
	}

	c := (*cs)[i]
	switch {
	case cond.Message == "" || strings.Contains(separator+c.Message+separator, separator+cond.Message+separator):
		return
	case c.Message == "":
		c.Message = cond.Message
	default:
		c.Message += separator + cond.Message
	}

	cs.UpsertCondition(c)
}

// JoinConditions upserts each condition of conds. If conds is nil, it does nothing.
func (cs *Conditions) JoinConditions(conds *Conditions) {
	if conds == nil {
		return
	}

	for _, c := range *conds {
		cs.UpsertCondition(c)
	}
}

// RemoveCondition removes the condition of the type, if there is one.
func (cs *Conditions) RemoveCondition(ct commonv1.ConditionType) {
	if i := cs.index(ct); i >= 0 {
		*cs = slices.Delete(cs.DeepCopy(), i, i+1)
	}
}

func (cs *Conditions) index(ct commonv1.ConditionType) int {
	return slices.IndexFunc(*cs, func(c commonv1.Condition) bool { return c.Type == ct })
}

package resource

import (
	"slices"
	"strings"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// Conditions are a list of conditions, at most one of
// each type. The zero value is empty and ready to use. Its methods never change
// memory that another slice shares: that may belong to a cache.
//
// The transition time follows the rule of commonv1.ConditionedStatus: it changes
// only with the status, not with the message.
type Conditions []commonv1.Condition

// DeepCopy returns a copy that shares nothing with the list.
func (cs Conditions) DeepCopy() Conditions { return slices.Clone(cs) }

// UpsertCondition replaces the condition of the same type, or appends the
// condition.
func (cs *Conditions) UpsertCondition(cond commonv1.Condition) {
	s := commonv1.ConditionedStatus{Conditions: cs.DeepCopy()}
	s.SetConditions(cond)
	*cs = s.Conditions
}

// UpsertConditionMessage appends the condition's message, after a comma, to the message
// of the condition of the same type, and changes nothing else of it. Without a
// condition of the type it appends the condition itself. A message that the
// existing message contains is not repeated, so that a pass with the same
// result changes nothing.
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

// JoinConditions upserts each of the supplied conditions. Nil has none.
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

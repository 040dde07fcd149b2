package search

import (
	"slices"

	"github.com/moorage-dev/moorage/internal/sim"
)

// afterDoubt returns the faults to try at a boundary after another fault. After a doubt these are companions, and after
// a companion these are doubts. Explored ones are omitted.
func (e *Explorer) afterDoubt(t faultPoint, depth int) (out []sim.Variant) {
	s, last := t.step(), t.run.Schedule.Faults[len(t.run.Schedule.Faults)-1].Kind
	add := func(name string, kinds []sim.Variant) {
		if !e.Unpruned && e.wasExplored(s.Hash, s.Op.Name+" "+name, e.depth()-depth) {
			e.Pruned += len(kinds)

			return
		}
		for _, v := range kinds {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	if sim.IsDoubt(last) {
		add("companions", companionsAt(s.Op))
	}
	if slices.Contains(companions, last) {
		add("doubts", sim.DoubtsAt(s.Op, true))
	}

	return out
}

// kindsInDoubt returns the faults that an Explorer of doubts tries at an operation.
func (e *Explorer) kindsInDoubt(o sim.Operation, usual bool) []sim.Variant {
	out := sim.DoubtsAt(o, usual)
	if e.depth() < 2 {
		return out
	}
	for _, v := range companionsAt(o) {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}

	return out
}

// companionsAt returns the companions that make sense at an operation.
func companionsAt(o sim.Operation) (out []sim.Variant) {
	for _, v := range sim.KindsAt(o, false, true) {
		if v.Usual() && slices.Contains(companions, v.Kind) {
			out = append(out, v)
		}
	}
	if doubts := sim.DoubtsAt(o, true); slices.Contains(doubts, sim.Variant{Kind: sim.Strip}) {
		out = append(out, sim.Variant{Kind: sim.Strip})
	}

	return out
}

// companions are the faults that are combined with doubts, in both orders: a process that dies, and a user who changes,
// deletes or replaces the object.
var companions = []sim.Kind{sim.Crash, sim.CrashAfter, sim.Edit, sim.Delete, sim.Strip}

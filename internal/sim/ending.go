package sim

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// judgeEnding compares the final state with that of a run without faults. It skips objects whose resource may be left
// over because of an exemption, and later objects with their names.
func (w *World) judgeEnding(s Schedule, loose bool) {
	if w.users.acted || w.over || len(s.Faults) == 0 {
		return
	}
	is, of := w.ending(loose)
	was := w.config.simulator.endingOf(s)
	excused := map[string]bool{}
	for i, uid := range of {
		name := w.users.names[uid]
		if excused[name] = excused[name] || w.exempt.surplus.about(uid) || w.exempt.freed.about(uid); excused[name] &&
			len(is) == len(was) {
			is[i] = was[i]
		}
	}
	if !slices.Equal(is, was) {
		w.violate("S23", fmt.Sprintf("it ends with %s instead of %s", strings.Join(is, "; "), strings.Join(was, "; ")))
	}
}

// endingOf returns the final state of a scenario without faults.
func (m *Simulator) endingOf(s Schedule) []string {
	s.Faults = nil
	if known, ok := m.endings.Load(s.String()); ok {
		return known.([]string)
	}
	w, of, err := m.prepare(s, nil)
	if err != nil {
		return nil // it could not be run
	}
	w.start(stepped{}, 0)
	of.run(w)
	w.end()
	ending, _ := w.ending(of.looseEnding)
	m.endings.Store(s.String(), ending)

	return ending
}

// ending describes the final state of each object, and how many resources were created and deleted for it. It includes
// only what is the same after all faults.
func (w *World) ending(loose bool) (lines []string, of []types.UID) {
	for _, c := range w.server.Changes(0) {
		if c.Type != apiserver.Added || c.Kind != w.config.gvk() {
			continue
		}
		uid := c.Object.GetUID()
		lines, of = append(lines, c.Key.Name+w.endingOf(c.Key, uid, loose)), append(of, uid)
	}

	return lines, of
}

func (w *World) endingOf(key types.NamespacedName, uid types.UID, loose bool) string {
	made, deleted, exist := w.system.created[uid], w.system.deleted[uid], len(w.system.live(uid))
	mg := w.users.see(key)
	if mg == nil || mg.GetUID() != uid {
		if loose { // whether it came to be before its end is a matter of luck
			return fmt.Sprintf(" is gone: %d exist", exist)
		}

		return fmt.Sprintf(" is gone: %d created, %d deleted, %d exist", made, deleted, exist)
	}

	return fmt.Sprintf(" is there, ready %s, synced %s: %d created, %d deleted, %d exist",
		conditionOf(mg, "Ready").Status, conditionOf(mg, "Synced").Reason, made, deleted, exist)
}

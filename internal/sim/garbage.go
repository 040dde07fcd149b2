package sim

import "github.com/moorage-dev/moorage/pkg/sim/apiserver"

// scheduleGarbageCollection lets the garbage collector run some time after each deletion. Config.CollectsGarbage is
// that time; if it is 0, there is no garbage collector.
func (w *World) scheduleGarbageCollection() {
	if w.config.CollectsGarbage <= 0 {
		return
	}
	for _, c := range w.server.Changes(w.collected) {
		w.collected++
		if c.Type == apiserver.Deleted {
			w.in(w.config.CollectsGarbage, func() { w.users.must(w.server.CollectGarbage()) })
		}
	}
}

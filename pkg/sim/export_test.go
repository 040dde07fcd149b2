package sim

import "github.com/moorage-dev/moorage/pkg/reconciler/managed"

// RunInformed is Run over an external system that, in every scenario, can list what it has
// and tells what changes, with limits by the clock of each process.
func RunInformed(s Schedule, trace bool, o ...managed.ReconcilerOption) (Result, error) {
	return runIn(s, trace, nil, func(w *World) { w.harbour.lists, w.config.told, w.config.limited = true, true, true }, o...)
}

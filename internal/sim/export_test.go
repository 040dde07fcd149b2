package sim

import (
	"syscall"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// RunInformed is Run over an external system that, in every scenario, can list its resources and notifies of changes,
// with a change log and with limits by the clock of each process.
func RunInformed(s Schedule, trace bool, o ...managed.ReconcilerOption) (Result, error) {
	return runIn(s, trace, nil, func(w *World) {
		w.system.lists, w.config.notifies, w.config.limited, w.config.logsChanges = true, true, true, true
	}, o...)
}

// ProcessorTime is what all cores together have spent on this process, and on those that
// it has started and waited for: what a run takes on a machine that others use, too, says
// little.
func ProcessorTime(t *testing.T) time.Duration {
	t.Helper()
	var all time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var spent syscall.Rusage
		if err := syscall.Getrusage(who, &spent); err != nil {
			t.Fatal(err)
		}
		all += time.Duration(spent.Utime.Nano() + spent.Stime.Nano())
	}

	return all
}

package sim

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// shared runs the schedules of all tests.
var shared = New()

// Run runs a schedule.
func Run(s Schedule, trace bool, o ...managed.ReconcilerOption) (Result, error) {
	return shared.Run(s, trace, o...)
}

// RunBehind runs a schedule with another API server.
func RunBehind(s Schedule, trace bool, behind func() (client.Client, error)) (Result, error) {
	return shared.RunBehind(s, trace, behind)
}

func prepare(s Schedule) (*World, scenario, error) { return shared.prepare(s, nil) }

// RunInformed is Run over an external system that, in every scenario, can list its resources and notifies of changes,
// with a change log and with limits by the clock of each process.
func RunInformed(s Schedule, trace bool, o ...managed.ReconcilerOption) (Result, error) {
	return shared.run(s, trace, nil, func(w *World) {
		w.system.lists, w.config.notifies, w.config.limited, w.config.logsChanges = true, true, true, true
	}, o...)
}

// RunPlanned is Run with a plan of each object before the first pass of each process over it. It returns how many plans
// were compared with what the process did, by action.
func RunPlanned(s Schedule, trace, informed bool, o ...managed.ReconcilerOption) (Result, map[string]int, error) {
	s.guide = nil // the state of a process in a snapshot is not that of one that begins
	plans := newPlanning()
	r, err := shared.run(s, trace, nil, func(w *World) {
		w.hooks.planning = plans
		if informed {
			w.system.lists, w.config.notifies, w.config.limited, w.config.logsChanges = true, true, true, true
		}
	}, o...)

	return r, plans.made, err
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

// stage runs a schedule, with a broken client if one is given.
func stage(t *testing.T, s Schedule, brokenClient string) Result {
	t.Helper()

	return stageWith(t, s, func(w *World) {
		if brokenClient != "" {
			w.config.Connecter = replaced(t, w, brokenClient)
		}
	})
}

func stageWith(t *testing.T, s Schedule, change func(*World)) Result {
	t.Helper()

	return storyWith(t, s, change, nil)
}

// storyWith runs a schedule with another story than that of its scenario, unless the other story is nil.
func storyWith(t *testing.T, s Schedule, change, story func(*World)) Result {
	t.Helper()
	quietly()
	var r Result
	synctest.Test(t, func(t *testing.T) {
		w, of, err := prepare(s)
		if err != nil {
			t.Fatal(err)
		}
		if story != nil {
			of.run = story
		}
		change(w)
		w.follow(s.guide)
		w.start(stepped{}, 0)
		w.runAndJudge(s, of)
		r = w.result(s)
	})

	return r
}

// Stage is stage, for the tests outside this package.
func Stage(t *testing.T, s Schedule, brokenClient string) Result {
	t.Helper()

	return stage(t, s, brokenClient)
}

// StageCareless runs a schedule with a client that changes annotations and finalizers.
func StageCareless(t *testing.T, s Schedule) Result {
	t.Helper()

	return stageWith(t, s, makeCareless)
}

// IsKnown returns whether there is a kind of fault.
func IsKnown(kind Kind) bool { return isKnown(kind) }

// Doubts returns the kinds of faults that are doubts.
func Doubts() (all []Kind) {
	for _, d := range doubts {
		all = append(all, d.kind)
	}

	return all
}

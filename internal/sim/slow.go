package sim

import (
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// slowScenarios are the scenarios about slow external systems. The systems are only as slow as necessary, because each
// wait consists of passes that observe nothing new, and each pass has boundaries to explore.
var slowScenarios = []scenario{
	{
		name: "slow-create", lag: 50 * time.Millisecond,
		system: func(h *extSystem) { h.shows, h.takes = 3*time.Second, 6*time.Second },
		run:    createAlone,
	},
	{
		name: "late-create", onlyApart: true, lag: 5 * time.Millisecond, config: graced(4 * time.Second),
		system: func(h *extSystem) { h.shows, h.class.finds = 6*time.Second, min(h.class.finds, time.Second) },
		run:    createAndWait,
	},
	{
		name: "slow-delete", onlyApart: true, lag: 5 * time.Millisecond,
		system: func(h *extSystem) { h.goes = 4 * time.Second },
		run:    createAndDelete,
	},
	{
		name: "delete-during-create", looseEnding: true, lag: 100 * time.Millisecond, config: graced(8 * time.Second),
		// not before absence has been confirmed
		system: func(h *extSystem) { h.shows, h.class.finds = 7*time.Second, min(h.class.finds, time.Second) },
		run:    deleteAfter(time.Second / 2),
	},
}

// slowDeletionScenarios has the same scenarios with realistic times. Some of the times are those of the defaults.
var slowDeletionScenarios = []scenario{
	{
		name: "slower-create", long: true, lag: 50 * time.Millisecond,
		system: func(h *extSystem) { h.shows, h.takes = 10*time.Second, 90*time.Second },
		run:    createAlone,
	},
	{
		name: "very-slow-create", long: true, lag: 5 * time.Millisecond,
		system: func(h *extSystem) { h.shows = 45 * time.Second },
		run:    createAndWait,
	},
	{
		name: "slower-delete", long: true, lag: 5 * time.Millisecond,
		system: func(h *extSystem) { h.goes = 40 * time.Second },
		run:    createAndDelete,
	},
	{
		name: "delete-during-slower-create", long: true, looseEnding: true, lag: 100 * time.Millisecond,
		system: func(h *extSystem) { h.shows = 10 * time.Second },
		run:    deleteAfter(2 * time.Second),
	},
}

// graced gives the reconciler a grace period after a creation.
func graced(d time.Duration) func(*World) {
	return func(w *World) { w.config.Options = append(w.config.Options, managed.WithCreationGracePeriod(d)) }
}

func createAlone(w *World) {
	w.users.create(newBucket("first"))
	w.settle()
	w.quiet()
}

func createAndWait(w *World) {
	w.users.create(newBucket("first"))
	w.run(w.now().Add(3 * time.Minute))
	w.settle()
	w.quiet()
}

func createAndDelete(w *World) {
	w.users.create(newBucket("first"))
	w.settle()
	w.users.delete(firstKey)
	w.settle()
}

// deleteAfter is a scenario in which the object is deleted before its resource is visible.
func deleteAfter(d time.Duration) func(*World) {
	return func(w *World) {
		w.users.create(newBucket("first"))
		w.run(w.now().Add(d))
		w.users.delete(firstKey)
		w.settle()
	}
}

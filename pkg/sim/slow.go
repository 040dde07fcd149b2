package sim

import (
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// Scenarios about external systems that take their time, but no more of it than it
// takes for everything to happen that happens then: a wait is a row of passes that
// look and find nothing new, and each of them is a row of boundaries.
var slow = []scenario{
	{
		name: "slow-create", lag: 50 * time.Millisecond,
		harbor: func(h *harbour) { h.shows, h.takes = 3*time.Second, 6*time.Second },
		live:   createAlone,
	},
	{
		name: "late-create", apart: true, lag: 5 * time.Millisecond, config: graced(4 * time.Second),
		harbor: func(h *harbour) { h.shows, h.class.finds = 6*time.Second, min(h.class.finds, time.Second) },
		live:   createAndWait,
	},
	{
		name: "slow-delete", apart: true, lag: 5 * time.Millisecond, harbor: func(h *harbour) { h.goes = 4 * time.Second },
		live: createAndDelete,
	},
	{
		name: "delete-during-create", loose: true, lag: 100 * time.Millisecond, config: graced(8 * time.Second),
		// not before absence has been confirmed
		harbor: func(h *harbour) { h.shows, h.class.finds = 7*time.Second, min(h.class.finds, time.Second) },
		live:   deleteAfter(time.Second / 2),
	},
}

// The same with the times that users know, some of which are those of the defaults.
var longer = []scenario{
	{
		name: "slower-create", long: true, lag: 50 * time.Millisecond,
		harbor: func(h *harbour) { h.shows, h.takes = 10*time.Second, 90*time.Second },
		live:   createAlone,
	},
	{
		name: "very-slow-create", long: true, lag: 5 * time.Millisecond, harbor: func(h *harbour) { h.shows = 45 * time.Second },
		live: createAndWait,
	},
	{
		name: "slower-delete", long: true, lag: 5 * time.Millisecond, harbor: func(h *harbour) { h.goes = 40 * time.Second },
		live: createAndDelete,
	},
	{
		name: "delete-during-slower-create", long: true, loose: true, lag: 100 * time.Millisecond,
		harbor: func(h *harbour) { h.shows = 10 * time.Second },
		live:   deleteAfter(2 * time.Second),
	},
}

// graced gives the reconciler a grace period after a creation.
func graced(d time.Duration) func(*World) {
	return func(w *World) { w.config.Options = append(w.config.Options, managed.WithCreationGracePeriod(d)) }
}

func createAlone(w *World) {
	w.users.create(newBerth("first"))
	w.settle()
	w.quiet()
}

func createAndWait(w *World) {
	w.users.create(newBerth("first"))
	w.run(w.now().Add(3 * time.Minute))
	w.settle()
	w.quiet()
}

func createAndDelete(w *World) {
	w.users.create(newBerth("first"))
	w.settle()
	w.users.delete(firstKey)
	w.settle()
}

// deleteAfter: the object is deleted before its resource is shown.
func deleteAfter(d time.Duration) func(*World) {
	return func(w *World) {
		w.users.create(newBerth("first"))
		w.run(w.now().Add(d))
		w.users.delete(firstKey)
		w.settle()
	}
}

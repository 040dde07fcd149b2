package sim

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// Scenarios with more than a few objects.
var crowds = []scenario{
	{
		name: "workers", lag: 5 * time.Millisecond, single: true, live: work,
		config: func(w *World) { w.config.Workers, w.config.takes = 3, time.Second },
	},
	{
		name: "storm", lag: 5 * time.Millisecond, calm: true, only: []string{"named"}, live: storm,
		config: func(w *World) { w.config.takes = time.Second },
	},
	{name: "churn", lag: 5 * time.Millisecond, single: true, only: []string{"named", "opaque"}, live: churn},
	{
		name: "conflict", lag: 5 * time.Millisecond, single: true, faults: []Fault{{Op: "patch/status", N: 1, Kind: Conflict}, {Op: "patch/status", N: 2, Kind: Lost}},
		live: func(w *World) {
			w.users.create(newBerth("first"))
			w.settle()
			w.users.change(firstKey, lengthen(5))
			w.settle()
			w.quiet()
		},
	},
}

func crowd(n int) []types.NamespacedName {
	var keys []types.NamespacedName
	for i := range n {
		keys = append(keys, types.NamespacedName{Namespace: firstKey.Namespace, Name: fmt.Sprintf("of-many-%02d", i)})
	}

	return keys
}

// work: several workers have several objects at a time.
func work(w *World) {
	keys := crowd(3)
	for _, key := range keys {
		w.users.create(newBerth(key.Name))
	}
	w.settle()
	for _, key := range keys {
		w.users.change(key, lengthen(5))
	}
	w.settle()
	w.users.delete(keys[0])
	w.settle()
}

// storm: one worker is busy half of the time with what users change, and for most
// of the rest with looking at what is as it should be.
func storm(w *World) {
	keys := crowd(20)
	for _, key := range keys {
		w.users.create(newBerth(key.Name))
	}
	w.settle()
	w.run(w.now().Add(2 * pollInterval))
	for i := range 40 { // whatever the worker is at
		w.in(time.Duration(i)*8*time.Second, func() { w.users.change(keys[(i*7)%len(keys)], lengthen(1)) })
	}
	w.run(w.now().Add(6 * time.Minute))
	w.settle()
}

// churn: objects come and go, and nothing is left of them.
func churn(w *World) {
	keys := crowd(6)
	for _, key := range keys {
		w.users.create(newBerth(key.Name))
	}
	w.settle()
	for _, key := range keys {
		w.users.delete(key)
	}
	w.settle()
	w.run(w.now().Add(time.Minute))
	for _, p := range w.alive() {
		w.judgeKept(p)
	}
}

// judgeKept judges that a process has nothing of objects that are gone.
func (w *World) judgeKept(p *process) {
	var gone []string
	for uid, name := range w.users.names {
		if w.server.Stored(w.config.gvk(), types.NamespacedName{Namespace: firstKey.Namespace, Name: name}) == nil {
			gone = append(gone, name, string(uid))
		}
	}
	of := any(p.reconcile)
	if r, ok := of.(*managed.Reconciler); ok {
		of = r
	}
	if where := kept(of, gone); where != "" {
		w.violate("L8", "the reconciler keeps what is gone in "+where)
	}
	isGone := func(key types.NamespacedName) bool { return slices.Contains(gone, key.Name) }
	for key := range p.queue.failures {
		if isGone(key) {
			w.violate("L8", "the queue remembers failures of what is gone")
		}
	}
	for key := range p.queue.items {
		if isGone(key) {
			w.violate("L8", "the queue has what is gone")
		}
	}
}

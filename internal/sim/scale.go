package sim

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// scaleScenarios has the scenarios with more than a few objects.
var scaleScenarios = []scenario{
	{
		name: "workers", lag: 5 * time.Millisecond, singleFaults: true, run: workersScenario,
		config: func(w *World) { w.config.Workers, w.config.takes = 3, time.Second },
	},
	{
		name: "storm", lag: 5 * time.Millisecond, faultless: true, only: []string{"named"}, run: stormScenario,
		config: func(w *World) { w.config.takes = time.Second },
	},
	{
		name: "churn", lag: 5 * time.Millisecond, singleFaults: true,
		only: []string{"named", "opaque"}, run: churnScenario,
	},
	{
		name: "conflict", lag: 5 * time.Millisecond, singleFaults: true,
		faults: []Fault{{Op: "patch/status", N: 1, Kind: Conflict}, {Op: "patch/status", N: 2, Kind: Lost}},
		run: func(w *World) {
			w.users.create(newBucket("first"))
			w.settle()
			w.users.change(firstKey, resize(5))
			w.settle()
			w.quiet()
		},
	},
}

// workersScenario has several workers that reconcile several objects at a time.
func workersScenario(w *World) {
	keys := objectKeys(3)
	for _, key := range keys {
		w.users.create(newBucket(key.Name))
	}
	w.settle()
	for _, key := range keys {
		w.users.change(key, resize(5))
	}
	w.settle()
	w.users.delete(keys[0])
	w.settle()
}

// stormScenario keeps one worker busy. Half of the time the worker handles changes of users, and most of the other time
// it handles polls.
func stormScenario(w *World) {
	keys := objectKeys(20)
	for _, key := range keys {
		w.users.create(newBucket(key.Name))
	}
	w.settle()
	w.run(w.now().Add(2 * pollInterval))
	for i := range 40 { // whatever the worker is at
		w.in(time.Duration(i)*8*time.Second, func() { w.users.change(keys[(i*7)%len(keys)], resize(1)) })
	}
	w.run(w.now().Add(6 * time.Minute))
	w.settle()
}

// churnScenario creates and deletes objects, and checks that nothing of them stays in memory.
func churnScenario(w *World) {
	keys := objectKeys(6)
	for _, key := range keys {
		w.users.create(newBucket(key.Name))
	}
	w.settle()
	for _, key := range keys {
		w.users.delete(key)
	}
	w.settle()
	w.run(w.now().Add(time.Minute))
	for _, p := range w.alive() {
		w.judgeRetained(p)
	}
}

// objectKeys returns the keys of n objects.
func objectKeys(n int) []types.NamespacedName {
	var keys []types.NamespacedName
	for i := range n {
		keys = append(keys, types.NamespacedName{Namespace: firstKey.Namespace, Name: fmt.Sprintf("of-many-%02d", i)})
	}

	return keys
}

// judgeRetained checks that a process has nothing in memory of objects that are gone.
func (w *World) judgeRetained(p *process) {
	var gone []string
	for uid, name := range w.users.names {
		if w.server.Stored(w.config.gvk(), types.NamespacedName{Namespace: firstKey.Namespace, Name: name}) == nil {
			gone = append(gone, name, string(uid))
		}
	}
	of := any(p.runtime.reconcile)
	if r, ok := of.(*managed.Reconciler); ok {
		of = r
	}
	if where := findRetained(of, gone); where != "" {
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

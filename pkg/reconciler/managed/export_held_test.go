package managed

import (
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// Liveness returns the check of so many workers.
func (r *Reconciler) Liveness(workers int) healthz.Checker {
	l := &liveness{workers: workers}
	l.reconciler.Store(r)

	return l.check
}

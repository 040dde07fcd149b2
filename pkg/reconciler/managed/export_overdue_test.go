package managed

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Overdue is what a controller looks for overdue calls with.
func (r *Reconciler) Overdue() source.Source { return r.overdue() }

// TellOverdue looks once for calls that are overdue.
func (r *Reconciler) TellOverdue(ctx context.Context) { r.warnOverdue(ctx) }

// Waiting returns for how many calls passes wait.
func (r *Reconciler) Waiting() int {
	r.calls.mu.Lock()
	defer r.calls.mu.Unlock()

	return len(r.calls.of)
}

package managed

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/freshness"
)

// A next determines when the object is reconciled again. The zero value means not before the next event of the
// object.
type next struct {
	after    time.Duration
	backoff  bool // in silence, after the back-off of the queue
	err      error
	priority *int // nil: that of the queue
}

// answer returns the result of the reconcile.
func (n next) answer() (reconcile.Result, error) {
	result := reconcile.Result{RequeueAfter: n.after}
	if n.backoff {
		result = freshness.SilentRequeue()
	}
	if n.err != nil || !result.IsZero() {
		result.Priority = n.priority
	}

	return result, n.err
}

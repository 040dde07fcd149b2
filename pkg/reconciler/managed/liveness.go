package managed

import (
	"net/http"
	"sync/atomic"
	"time"

	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// How long calls must block all workers of a kind before the process counts as not alive. For a pass with a longer
// timeout it is that timeout and half a minute.
const heldFor = 10 * time.Minute

// WithLivenessCheck sets whether [Setup] and [SetupGated] add a check to the health endpoint of the manager. The
// default is true. The check has the name of the controller. A manager without a health endpoint has no check.
//
// The check fails when all workers of the kind have waited for ten minutes for calls that do not return. Only a
// restart of the process ends such calls.
func WithLivenessCheck(check bool) ReconcilerOption {
	return func(r *Reconciler) { r.unchecked = !check }
}

// A liveness is the health check of a kind. Its reconciler may be replaced, or stopped with the
// CustomResourceDefinition of the kind. Without a reconciler the check passes.
type liveness struct {
	reconciler atomic.Pointer[Reconciler]
	workers    int
}

// addLiveness adds a check to the health endpoint of the manager.
func addLiveness(m manager.Manager, name string, o ctrlcontroller.Options) *liveness {
	l := &liveness{workers: o.MaxConcurrentReconciles}
	if l.workers <= 0 {
		l.workers = max(m.GetControllerOptions().MaxConcurrentReconciles, 1)
	}
	_ = m.AddHealthzCheck(name, l.check) // fails if there is no endpoint

	return l
}

// check fails if all workers are blocked.
func (l *liveness) check(*http.Request) error {
	r := l.reconciler.Load()
	if r == nil || r.unchecked {
		return nil
	}
	held := max(heldFor, r.timeout+overduePatience)
	if n := r.calls.begunBefore(r.clock.Now().Add(-held)); n < l.workers {
		return nil
	}

	return errors.Errorf("all %d workers for %s have waited for %s for calls that do not return: restart the process, "+
		"and report it to the author of the provider, whose calls do not mind that their time is over", l.workers,
		r.of.Kind, held)
}

package ratelimiter

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// maxWait bounds the delay of a limiter. The maximal duration would overflow the
	// time at which an item is due.
	maxWait = 24 * time.Hour
	// expiry is how long an item may be overdue before its token is dropped. It is long
	// because a queue may have a backlog, and an item must not be charged twice.
	expiry = time.Hour
)

// A Reconciler limits the rate of another reconciler by a limiter that it usually shares with others. It requeues a
// request that exceeds the limit, with RequeueAfter for the time at which the request is due. When the request comes
// again, it is reconciled without another token. A worker is never blocked. A Reconciler may be called concurrently.
//
// It differs in these points from the limiter of this name in provider-runtime:
//
//   - A request may come too early, because its object has changed. The Reconciler then requeues it for the rest of
//     the time, without another token.
//   - The check is atomic.
//   - Forget is called when a reconcile succeeds, not before it begins. So a limiter may count failures.
//   - The state of requests that do not come again is dropped.
type Reconciler struct {
	name    string
	inner   reconcile.Reconciler
	limiter workqueue.TypedRateLimiter[any]
	clock   clock.PassiveClock

	mu sync.Mutex
	// due is when requeued requests may pass.
	due   map[reconcile.Request]time.Time
	swept time.Time
}

// New returns a reconciler that calls r at the rate that l allows. The name is usually the name of the controller. It
// distinguishes equal requests of reconcilers that share a limiter.
func New(name string, r reconcile.Reconciler, l workqueue.TypedRateLimiter[any]) *Reconciler {
	return newReconciler(name, r, l, clock.RealClock{})
}

func newReconciler(name string, r reconcile.Reconciler, l workqueue.TypedRateLimiter[any],
	c clock.PassiveClock) *Reconciler {
	return &Reconciler{
		name:    name,
		inner:   r,
		limiter: l,
		clock:   c,
		due:     map[reconcile.Request]time.Time{},
		swept:   c.Now(),
	}
}

// Reconcile calls the wrapped reconciler if the limiter allows the request, and returns its result. Otherwise it
// returns a result that requeues the request at the time at which the limiter allows it, and no error.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if wait := r.admit(req); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}

	result, err := r.inner.Reconcile(ctx, req)
	//nolint:staticcheck // A reconciler that still returns Requeue reports a failure with it.
	if err == nil && !result.Requeue {
		r.limiter.Forget(r.item(req))
	}

	return result, err
}

// KeepBackOff returns the limiter for the queue of r. The returned limiter is l, except that its Forget ignores a
// request that r has requeued. controller-runtime calls Forget for each request with RequeueAfter. Without KeepBackOff,
// the backoff of a failing object would therefore restart each time r requeues the object.
func (r *Reconciler) KeepBackOff(
	l workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimiter[reconcile.Request] {
	return &keeper{TypedRateLimiter: l, throttled: r.isWaiting}
}

// admit returns how long the request has to wait; zero lets it pass.
func (r *Reconciler) admit(req reconcile.Request) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()

	now := r.clock.Now()
	if due, ok := r.due[req]; ok {
		if wait := due.Sub(now); wait > 0 {
			return wait
		}
		delete(r.due, req)

		return 0
	}

	wait := min(r.limiter.When(r.item(req)), maxWait)
	if wait > 0 {
		r.sweep(now)
		r.due[req] = now.Add(wait)
	}

	return wait
}

// sweep drops the state of requests that did not come again. It visits all requests, so it runs rarely.
func (r *Reconciler) sweep(now time.Time) {
	if now.Sub(r.swept) < expiry {
		return
	}
	r.swept = now

	for req, due := range r.due {
		if now.Sub(due) >= expiry {
			delete(r.due, req)
		}
	}
}

func (r *Reconciler) isWaiting(req reconcile.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	_, ok := r.due[req]

	return ok
}

func (r *Reconciler) item(req reconcile.Request) string { return r.name + "/" + req.String() }

// A keeper is a limiter whose Forget ignores requests that the Reconciler has requeued.
type keeper struct {
	workqueue.TypedRateLimiter[reconcile.Request]
	throttled func(reconcile.Request) bool
}

func (k *keeper) Forget(req reconcile.Request) {
	if !k.throttled(req) {
		k.TypedRateLimiter.Forget(req)
	}
}

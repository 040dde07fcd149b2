package syncer

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// Reasons of the events about virtual objects.
const (
	// ReasonSyncError means that synchronization failed. The synchronization is retried.
	ReasonSyncError event.Reason = "SyncError"

	// ReasonConflict means that the host name is taken by a host object that the virtual object does
	// not own. The host object is not changed.
	ReasonConflict event.Reason = "Conflict"
)

// ErrConflict means that the host name of a virtual object is taken by a host object that the virtual object does not
// own. ErrConflict is returned wrapped.
var ErrConflict = errors.New("conflict")

// A conflictError is an ErrConflict with a reason.
type conflictError struct{ reason string }

func (e conflictError) Error() string { return "conflict: cannot sync virtual object as " + e.reason }

func (conflictError) Is(target error) bool { return target == ErrConflict }

// A staleError is the error of a pass that acted on a stale read. The pass is requeued without an
// event.
type staleError struct{ error }

func (s staleError) Unwrap() error { return s.error }

// asStale wraps an error as a staleError.
func asStale(err error) error { return staleError{err} }

// report returns the result of a pass for its queue and emits events.
func (p *pass) report(result ctrl.Result, err error) (ctrl.Result, error) {
	if err != nil {
		return p.reportError(err)
	}
	return p.requeuePending(result), nil
}

// reportError emits an event about a failed pass and returns when the next pass is due. It emits no
// event for a stale read.
func (p *pass) reportError(cause error) (ctrl.Result, error) {
	err := redact.Error(cause)
	if !p.r.options.legacy && isStaleRead(err) {
		p.r.log.Debug("Stale read, requeueing", "object", p.req.String(), "reason", err.Error())
		return freshness.SilentRequeue(), nil
	}
	if p.vObj != nil && !errors.Is(err, ErrConflict) {
		p.r.options.Recorder.Event(
			p.vObj, event.Warning(ReasonSyncError, errors.Wrap(err, "Error syncing to physical cluster")))
	}
	if !p.r.options.legacy && isPermanent(err) {
		logging.Error(p.r.log, err, "Cannot sync the object until it changes, checking again later",
			"object", p.req.String(), "after", p.r.options.SlowRecheck)
		return ctrl.Result{RequeueAfter: p.r.options.SlowRecheck}, nil
	}
	return ctrl.Result{}, err
}

// requeuePending requeues a pass whose writes are not in the caches yet. This is needed if the
// object was deleted right after the write while the watch was interrupted, because then there is
// no event.
func (p *pass) requeuePending(result ctrl.Result) ctrl.Result {
	if result.IsZero() && (p.r.tracker.hasPendingWrite(virtual, p.req) || p.r.tracker.hasPendingWrite(physical, p.host)) {
		result.RequeueAfter = staleCacheTimeout
	}
	return result
}

// isStaleRead reports whether a pass failed because it read an old state.
func isStaleRead(err error) bool {
	var s staleError
	return errors.As(err, &s) || errors.Is(err, errCacheStale) || apierrors.IsConflict(err)
}

// isPermanent reports whether the same request fails until the object changes.
func isPermanent(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || isTooLarge(err) || gone.Unserved(err)
}

// isTooLarge reports whether an object exceeds the size limit of the API server or of etcd. The API
// server returns a status code. An error of etcd is an internal error with etcd's message.
func isTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "etcdserver: request is too large")
}

package syncer

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// Reasons of the events about virtual objects.
const (
	// ReasonSyncError: syncing failed. It is tried again.
	ReasonSyncError event.Reason = "SyncError"

	// ReasonConflict: the name on the host belongs to something else, which is left
	// alone.
	ReasonConflict event.Reason = "Conflict"
)

// ErrConflict is returned, wrapped, if the host name of a virtual object belongs to
// something else.
var ErrConflict = errors.New("conflict")

type conflictError struct{ why string }

func (e conflictError) Error() string { return "conflict: cannot sync virtual object as " + e.why }

func (conflictError) Is(target error) bool { return target == ErrConflict }

// stale is what ends a pass whose knowledge was out of date.
type stale struct{ error }

func (s stale) Unwrap() error { return s.error }

func conflict(err error) error { return stale{err} }

// report turns what became of a pass into what the queue is told.
func (p *passage) report(result ctrl.Result, err error) (ctrl.Result, error) {
	if err != nil {
		return p.failed(err)
	}
	return p.unsettled(result), nil
}

// failed reports why a pass failed to the user, unless it is outdated, and says when the next one is made.
func (p *passage) failed(cause error) (ctrl.Result, error) {
	err := redact.Error(cause)
	if !p.r.o.legacy && outdated(err) {
		p.r.log.Debug("Something has changed, trying again", "object", p.req.String(), "why", err.Error())
		//nolint:staticcheck // the only silent, rate-limited way: RequeueAfter would reset the back-off
		return ctrl.Result{Requeue: true}, nil
	}
	if p.vObj != nil && !errors.Is(err, ErrConflict) {
		p.r.o.Recorder.Event(p.vObj, event.Warning(ReasonSyncError, errors.Wrap(err, "Error syncing to physical cluster")))
	}
	if !p.r.o.legacy && hopeless(err) {
		logging.Error(p.r.log, err, "Cannot sync as it is, looking again later", "object", p.req.String(), "after", p.r.o.SlowRecheck)
		return ctrl.Result{RequeueAfter: p.r.o.SlowRecheck}, nil
	}
	return ctrl.Result{}, err
}

// unsettled sees to it that what was written is looked at once more: a cache that
// was cut off may never show an object that somebody deleted at once, and no event
// would tell.
func (p *passage) unsettled(result ctrl.Result) ctrl.Result {
	if result.IsZero() && (p.r.mem.pending(virtual, p.req) || p.r.mem.pending(physical, p.host)) {
		result.RequeueAfter = patience
	}
	return result
}

// outdated tells whether a pass failed because it did not know the newest state.
func outdated(err error) bool {
	var s stale
	return errors.As(err, &s) || errors.Is(err, errNotShown) || apierrors.IsConflict(err)
}

// hopeless tells whether the same request will fail for as long as the object stays
// as it is.
func hopeless(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || tooLarge(err) || gone.Unserved(err)
}

// tooLarge knows both limits: that of the API server, which has a code, and that of
// etcd, which comes as an internal error with etcd's text.
func tooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "etcdserver: request is too large")
}

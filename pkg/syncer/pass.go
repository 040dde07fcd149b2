package syncer

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/syncer/internal/passcontext"
)

// A pass reconciles one virtual name once.
type pass struct {
	r      *reconciler
	ctx    context.Context //nolint:containedctx // lives for one pass
	sync   *synccontext.SyncContext
	values *passcontext.Values
	req    types.NamespacedName

	host          types.NamespacedName
	vObj, pObj    client.Object // nil if they do not exist
	foreignReason string        // why the virtual object does not own the host object
	confirmed     bool          // the virtual API server says what its cache says
}

// run reads both objects, decides and acts until an action ends the pass.
func (p *pass) run() (ctrl.Result, error) {
	if err := p.readObjects(); err != nil {
		return ctrl.Result{}, err
	}
	for {
		f, err := p.facts()
		if err != nil {
			return ctrl.Result{}, err
		}
		action := lifecycle.Decide(f)
		result, err := p.act(action)
		if err != nil || action.Ends() {
			return result, err
		}
	}
}

// act performs one action.
func (p *pass) act(action lifecycle.Action) (ctrl.Result, error) {
	switch action {
	case lifecycle.AwaitCache:
		// The event usually comes much earlier. The requeue is for a cache that never
		// contains the write.
		return ctrl.Result{RequeueAfter: staleCacheTimeout}, nil
	case lifecycle.Confirm:
		return ctrl.Result{}, p.confirm(p.ctx)
	case lifecycle.AddFinalizer:
		return ctrl.Result{}, p.patchFinalizer(controllerutil.AddFinalizer)
	case lifecycle.RemoveFinalizer:
		return ctrl.Result{}, p.patchFinalizer(controllerutil.RemoveFinalizer)
	case lifecycle.DeleteHost:
		return DeleteObject(p.sync, p.pObj)
	case lifecycle.ReportConflict:
		return p.reportConflict(p.pObj)
	case lifecycle.IgnoreConflict:
		return p.awaitName(p.pObj)
	case lifecycle.SyncDown:
		p.r.tracker.addHostName(p.req, p.host)
		return p.syncDown()
	case lifecycle.SyncUp:
		p.values.Gone = p.confirm
		return p.r.upSyncer.SyncUp(p.sync, p.pObj)
	case lifecycle.Sync:
		p.r.tracker.addHostName(p.req, p.host)
		return p.r.syncer.Sync(p.sync, p.pObj, p.vObj)
	default: // Nothing, AwaitHostDeletion: an event triggers the next pass
		return ctrl.Result{}, nil
	}
}

// confirm compares the virtual cache with a live read, once in a pass. It returns an error if the
// cache and the API server differ, or if another cluster answers.
func (p *pass) confirm(ctx context.Context) error {
	if p.confirmed || p.r.options.ConfirmAbsence == ConfirmCached {
		return nil
	}
	var uid types.UID
	if p.vObj != nil {
		uid = p.vObj.GetUID()
	}
	err := p.r.identity.confirm(ctx, p.r.syncer.Resource(), p.req, uid)
	p.confirmed = err == nil
	return err
}

// patchFinalizer adds or removes the syncer's finalizer with an optimistic lock. If the virtual
// object is gone, it returns a staleError.
func (p *pass) patchFinalizer(change func(client.Object, string) bool) error {
	before := p.vObj.DeepCopyObject().(client.Object)
	if !change(p.vObj, p.r.finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := p.sync.VirtualClient.Patch(p.ctx, p.vObj, patch)
	if gone.Named(err) || gone.Unserved(err) {
		// The cache is stale, or another cluster answers: requeue.
		return asStale(err)
	}
	return err
}

// syncDown calls SyncDown. If SyncDown fails because the host name is taken, the cache was stale.
// Then a live read of the host object distinguishes a conflict from the syncer's own image.
func (p *pass) syncDown() (ctrl.Result, error) {
	result, err := p.r.syncer.SyncDown(p.sync, p.vObj)
	if p.r.options.legacy || !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
		return result, err
	}
	there, readErr := getOrNil(p.ctx, p.r.reg.PhysicalManager.GetAPIReader(), p.r.syncer.Resource(), p.host)
	if readErr != nil || there == nil {
		return ctrl.Result{}, err
	}
	if p.foreignReason, readErr = p.r.foreignReason(p.req, there, p.vObj); readErr != nil {
		return ctrl.Result{}, readErr
	}
	if p.foreignReason == "" {
		return ctrl.Result{}, asStale(err)
	}
	if p.r.options.OnConflict == ConflictIgnore {
		return p.awaitName(there)
	}
	return p.reportConflict(there)
}

// reportConflict emits an event about a foreign host object, and registers the virtual object as a
// waiter for the host name.
func (p *pass) reportConflict(pObj client.Object) (ctrl.Result, error) {
	err := conflictError{p.foreignReason}
	p.r.options.Recorder.Event(p.vObj, event.Warning(ReasonConflict, errors.Wrapf(err, "%s", p.host)))
	result, waitErr := p.awaitName(pObj)
	if waitErr != nil {
		return result, waitErr
	}
	return ctrl.Result{}, err
}

// awaitName registers the virtual object as a waiter for the host name. Then it reads the cache
// again: if the host object changed before the registration, its event did not enqueue the waiter.
func (p *pass) awaitName(pObj client.Object) (ctrl.Result, error) {
	p.r.tracker.addWaiter(p.req, p.host)
	now, err := getOrNil(p.ctx, p.r.reg.PhysicalManager.GetClient(), p.r.syncer.Resource(), p.host)
	if err != nil {
		return ctrl.Result{}, err
	}
	if p.pObj != nil && (now == nil || now.GetResourceVersion() != pObj.GetResourceVersion()) {
		return ctrl.Result{}, asStale(errCacheStale)
	}
	return ctrl.Result{RequeueAfter: p.r.options.SlowRecheck}, nil
}

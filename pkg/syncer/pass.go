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
	"github.com/moorage-dev/moorage/pkg/syncer/internal/dispatch"
	"github.com/moorage-dev/moorage/pkg/syncer/internal/pass"
)

// A passage is one pass over one virtual name.
type passage struct {
	r    *reconciler
	ctx  context.Context //nolint:containedctx // lives for one pass
	sync *synccontext.SyncContext
	told *pass.Pass
	req  types.NamespacedName

	host       types.NamespacedName
	vObj, pObj client.Object // nil if they do not exist
	foreign    string        // why the host object is not ours
	confirmed  bool          // the virtual API server says what its cache says
}

func (p *passage) run() (ctrl.Result, error) {
	if err := p.find(); err != nil {
		return ctrl.Result{}, err
	}
	for {
		f, err := p.facts()
		if err != nil {
			return ctrl.Result{}, err
		}
		action := dispatch.Decide(f)
		result, err := p.do(action)
		if err != nil || action.Ends() {
			return result, err
		}
	}
}

// do takes one action.
func (p *passage) do(action dispatch.Action) (ctrl.Result, error) {
	switch action {
	case dispatch.AwaitSelf:
		// Its event comes long before; this is for a cache that never shows it.
		return ctrl.Result{RequeueAfter: patience}, nil
	case dispatch.Confirm:
		return ctrl.Result{}, p.confirm(p.ctx)
	case dispatch.Hold:
		return ctrl.Result{}, p.finalizer(controllerutil.AddFinalizer)
	case dispatch.Release:
		return ctrl.Result{}, p.finalizer(controllerutil.RemoveFinalizer)
	case dispatch.Delete:
		return DeleteObject(p.sync, p.pObj)
	case dispatch.Refuse:
		return p.refuse(p.pObj)
	case dispatch.Overlook:
		return p.overlook(p.pObj)
	case dispatch.Down:
		p.r.mem.remember(p.req, p.host)
		return p.down()
	case dispatch.Up:
		p.told.Gone = p.confirm
		return p.r.up.SyncUp(p.sync, p.pObj)
	case dispatch.Sync:
		p.r.mem.remember(p.req, p.host)
		return p.r.syncer.Sync(p.sync, p.pObj, p.vObj)
	default: // Rest, AwaitHost: an event begins the next pass
		return ctrl.Result{}, nil
	}
}

// confirm what the virtual cache says, once in a pass.
func (p *passage) confirm(ctx context.Context) error {
	if p.confirmed || p.r.o.ConfirmAbsence == ConfirmCached {
		return nil
	}
	var uid types.UID
	if p.vObj != nil {
		uid = p.vObj.GetUID()
	}
	err := p.r.sentry.confirm(ctx, p.r.syncer.Resource(), p.req, uid)
	p.confirmed = err == nil
	return err
}

func (p *passage) finalizer(change func(client.Object, string) bool) error {
	before := p.vObj.DeepCopyObject().(client.Object)
	if !change(p.vObj, p.r.finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := p.sync.VirtualClient.Patch(p.ctx, p.vObj, patch)
	if gone.Named(err) || gone.Unserved(err) {
		// The cache is behind, or another cluster answers: no reason to stop here.
		return conflict(err)
	}
	return err
}

// down lets the syncer make a host object. That the name is taken after all may be
// news to the cache; the host itself says by whom.
func (p *passage) down() (ctrl.Result, error) {
	result, err := p.r.syncer.SyncDown(p.sync, p.vObj)
	if p.r.o.legacy || !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
		return result, err
	}
	there, readErr := get(p.ctx, p.r.reg.PhysicalManager.GetAPIReader(), p.r.syncer.Resource(), p.host)
	if readErr != nil || there == nil {
		return ctrl.Result{}, err
	}
	if p.foreign, readErr = p.r.judge(p.req, there, p.vObj); readErr != nil {
		return ctrl.Result{}, readErr
	}
	if p.foreign == "" {
		return ctrl.Result{}, conflict(err)
	}
	if p.r.o.OnConflict == ConflictIgnore {
		return p.overlook(there)
	}
	return p.refuse(there)
}

// refuse tells the user, and waits for the name.
func (p *passage) refuse(pObj client.Object) (ctrl.Result, error) {
	err := conflictError{p.foreign}
	p.r.o.Recorder.Event(p.vObj, event.Warning(ReasonConflict, errors.Wrapf(err, "%s", p.host)))
	result, waitErr := p.overlook(pObj)
	if waitErr != nil {
		return result, waitErr
	}
	return ctrl.Result{}, err
}

// overlook waits for the name. It may have become free since it was looked at, in
// which case nobody would wake us.
func (p *passage) overlook(pObj client.Object) (ctrl.Result, error) {
	p.r.mem.wait(p.req, p.host)
	now, err := get(p.ctx, p.r.reg.PhysicalManager.GetClient(), p.r.syncer.Resource(), p.host)
	if err != nil {
		return ctrl.Result{}, err
	}
	if p.pObj != nil && (now == nil || now.GetResourceVersion() != pObj.GetResourceVersion()) {
		return ctrl.Result{}, conflict(errNotShown)
	}
	return ctrl.Result{RequeueAfter: p.r.o.SlowRecheck}, nil
}

package syncer

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/internal/pass"
)

// DeleteObject deletes a host object, and only the one that was read: if it was
// changed or replaced since, the error is a conflict. That it is gone already is no
// error. In a pass without a virtual object, the virtual API server confirms first
// that there is none.
func DeleteObject(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error) {
	var opts []client.DeleteOption
	p := pass.From(ctx.Context)
	if p != nil && p.Gone != nil {
		if err := p.Gone(ctx.Context); err != nil {
			return ctrl.Result{}, err
		}
	}
	if p == nil || !p.Unconditional {
		opts = preconditions(pObj)
	}
	ctx.Log.Infof("delete physical object %s/%s", pObj.GetNamespace(), pObj.GetName())
	name := pObj.GetName() // a client may decode the answer into the object
	err := gone.Ignore(ctx.PhysicalClient.Delete(ctx.Context, pObj, opts...), name)
	if err != nil {
		ctx.Log.Errorf("cannot delete physical object %s/%s: %v", pObj.GetNamespace(), pObj.GetName(), err)
	}
	return ctrl.Result{}, err
}

func preconditions(obj client.Object) []client.DeleteOption {
	p := client.Preconditions{}
	if uid := obj.GetUID(); uid != "" {
		p.UID = &uid
	}
	if version := obj.GetResourceVersion(); version != "" {
		p.ResourceVersion = &version
	}
	return []client.DeleteOption{p}
}

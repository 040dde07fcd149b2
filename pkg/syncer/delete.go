package syncer

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/internal/passcontext"
)

// DeleteObject deletes a host object with its UID and resourceVersion as
// preconditions: if the object was changed or replaced since it was read, the error
// is a conflict. An object that does not exist is no error. In a pass without a
// virtual object, a live read first confirms that the virtual object does not exist.
func DeleteObject(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error) {
	var opts []client.DeleteOption
	p := passcontext.From(ctx.Context)
	if p != nil && p.Gone != nil {
		if err := p.Gone(ctx.Context); err != nil {
			return ctrl.Result{}, err
		}
	}
	if p == nil || !p.Unconditional {
		opts = deletePreconditions(pObj)
	}
	ctx.Log.Infof("delete physical object %s/%s", pObj.GetNamespace(), pObj.GetName())
	name := pObj.GetName() // a client may decode the response into the object
	err := gone.Ignore(ctx.PhysicalClient.Delete(ctx.Context, pObj, opts...), name)
	if err != nil {
		ctx.Log.Errorf("cannot delete physical object %s/%s: %v", pObj.GetNamespace(), pObj.GetName(), err)
	}
	return ctrl.Result{}, err
}

// deletePreconditions returns the preconditions that limit a delete to the object
// that was read. An empty UID or version is no precondition.
func deletePreconditions(obj client.Object) []client.DeleteOption {
	p := client.Preconditions{}
	if uid := obj.GetUID(); uid != "" {
		p.UID = &uid
	}
	if version := obj.GetResourceVersion(); version != "" {
		p.ResourceVersion = &version
	}
	return []client.DeleteOption{p}
}

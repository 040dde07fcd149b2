package syncer

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/internal/passcontext"
)

// DeleteObject deletes a host object. The request has the UID and resourceVersion of pObj as
// preconditions: if the object was changed or replaced since it was read, the error is a conflict.
// It returns no error if the object does not exist.
//
// If the current pass found no virtual object, DeleteObject first reads the virtual object from the API server. If the
// virtual object exists, or if another cluster responds at its address, DeleteObject returns an error and deletes
// nothing.
//
// With LegacyOptions there are neither preconditions nor a live read.
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

// deletePreconditions returns preconditions with the UID and resourceVersion of the object. It
// omits an empty UID or version.
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

package main

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

const (
	// sharedNamespace of the tenant has the host's secrets.
	sharedNamespace = "shared"

	// shareLabel marks the secrets of the host that tenants get, and the copies in the tenant.
	shareLabel = "logistics.example.org/shared"
)

// secrets copies secrets of the host up into a tenant. The host has the original: the copy follows its changes and its
// deletion.
type secrets struct {
	target string
	host   *syncer.HostIdentity
}

func newSecrets(ctx *synccontext.RegisterContext) (syncer.Syncer, error) {
	host, err := syncer.NewHostIdentity(ctx.Context, ctx)
	return syncer.FromTyped(&corev1.Secret{}, secrets{target: ctx.TargetNamespace, host: host}), err
}

func (secrets) Name() string { return "secrets" }

// IsManaged returns true for every secret: the copy of one that is no longer shared must be deleted.
func (secrets) IsManaged(client.Object) (bool, error) { return true, nil }

func (s secrets) VirtualToPhysical(req types.NamespacedName, _ client.Object) types.NamespacedName {
	if req.Namespace != sharedNamespace {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: s.target, Name: req.Name}
}

func (secrets) PhysicalToVirtual(pObj client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: sharedNamespace, Name: pObj.GetName()}
}

// SyncUp creates the copy.
func (secrets) SyncUp(
	ctx *synccontext.SyncContext, pObj *corev1.Secret,
) (ctrl.Result, error) { //nolint:unparam // the signature is that of the interface
	if !shared(pObj) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, ctx.VirtualClient.Create(ctx.Context, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: sharedNamespace, Name: pObj.Name, Labels: map[string]string{shareLabel: "true"},
		},
		Type: pObj.Type, Data: pObj.Data,
	})
}

// Sync updates the copy. A secret of the tenant's own under the same name is left alone.
func (secrets) Sync(ctx *synccontext.SyncContext, pObj, vObj *corev1.Secret) (ctrl.Result, error) {
	switch {
	case !shared(vObj):
		return ctrl.Result{}, nil
	case !shared(pObj):
		return ctrl.Result{}, remove(ctx, vObj)
	case reflect.DeepEqual(pObj.Data, vObj.Data):
		return ctrl.Result{}, nil
	}
	before := vObj.DeepCopy()
	vObj.Data = pObj.Data
	return ctrl.Result{},
		ctx.VirtualClient.Patch(ctx.Context, vObj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// SyncDown deletes a copy without an original, after the host has confirmed that it has none: the cache may be stale,
// and another cluster may answer at the host's address.
func (s secrets) SyncDown(ctx *synccontext.SyncContext, vObj *corev1.Secret) (ctrl.Result, error) {
	if vObj.Namespace != sharedNamespace || !shared(vObj) {
		return ctrl.Result{}, nil
	}
	if err := s.host.Gone(ctx.Context, &corev1.Secret{},
		types.NamespacedName{Namespace: s.target, Name: vObj.Name}); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, remove(ctx, vObj)
}

func shared(secret *corev1.Secret) bool { return secret.Labels[shareLabel] == "true" }

func remove(ctx *synccontext.SyncContext, vObj *corev1.Secret) error {
	p := client.Preconditions{UID: &vObj.UID, ResourceVersion: &vObj.ResourceVersion}
	return resource.IgnoreNotFound(ctx.VirtualClient.Delete(ctx.Context, vObj, p))
}

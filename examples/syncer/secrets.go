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

	// shareLabel marks, on the host, what tenants get, and in the tenant what came
	// from the host.
	shareLabel = "harbour.example.org/shared"
)

// secrets brings secrets of the host up into a tenant. The host's is the original
// here: the copy follows it, and goes with it.
type secrets struct {
	target string
	host   *syncer.HostIdentity
}

func newSecrets(ctx *synccontext.RegisterContext) (syncer.Syncer, error) {
	host, err := syncer.NewHostIdentity(ctx.Context, ctx)
	return syncer.FromTyped(&corev1.Secret{}, secrets{target: ctx.TargetNamespace, host: host}), err
}

func (secrets) Name() string { return "secrets" }

// IsManaged is said of every secret: one that is not shared any more is of interest
// as well.
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

// SyncUp makes the copy.
func (secrets) SyncUp(ctx *synccontext.SyncContext, pObj *corev1.Secret) (ctrl.Result, error) { //nolint:unparam // the signature is that of the interface
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

// Sync keeps the copy like the original. A secret of the tenant under the same name
// is left alone.
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
	return ctrl.Result{}, ctx.VirtualClient.Patch(ctx.Context, vObj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// SyncDown removes a copy without an original, if the host surely has none: the cache
// may be behind, and another cluster may answer in its place.
func (s secrets) SyncDown(ctx *synccontext.SyncContext, vObj *corev1.Secret) (ctrl.Result, error) {
	if vObj.Namespace != sharedNamespace || !shared(vObj) {
		return ctrl.Result{}, nil
	}
	if err := s.host.Gone(ctx.Context, &corev1.Secret{}, types.NamespacedName{Namespace: s.target, Name: vObj.Name}); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, remove(ctx, vObj)
}

func shared(secret *corev1.Secret) bool { return secret.Labels[shareLabel] == "true" }

func remove(ctx *synccontext.SyncContext, vObj *corev1.Secret) error {
	p := client.Preconditions{UID: &vObj.UID, ResourceVersion: &vObj.ResourceVersion}
	return resource.IgnoreNotFound(ctx.VirtualClient.Delete(ctx.Context, vObj, p))
}

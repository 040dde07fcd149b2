package bridge_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/bridge"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// Example bridges a volume to another cluster; it is ready when its host object exists.
// With managers of real clusters, Bridge.Setup is the only call.
func Example() {
	ctx := context.Background()
	scheme := runtime.NewScheme()
	_ = corev1.AddToScheme(scheme)
	_ = volume.AddToScheme(scheme)
	cluster := func(objects ...client.Object) client.Client {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "uid"}})
		return ctrlfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(
			&volume.Volume{}).WithObjects(objects...).Build()
	}
	v := &volume.Volume{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default", UID: "1"}, Spec: volume.Spec{SizeGiB: 3},
	}
	here, host := cluster(v), cluster()

	reg := &synccontext.RegisterContext{
		Context: ctx, TargetNamespace: "tenants", Names: &translate.Names{Suffix: "red"},
		VirtualManager:  &fake.Manager{Client: here, Scheme: scheme},
		PhysicalManager: &fake.Manager{Client: host, Scheme: scheme},
	}
	volumes := copier{NamespacedTranslator: translator.NewNamespacedTranslator(reg, "volumes", &volume.Volume{})}
	b, err := bridge.New(ctx, reg, syncer.FromTyped(&volume.Volume{}, volumes))
	if err != nil {
		fmt.Println(err)
		return
	}
	r := managed.NewReconciler(reg.VirtualManager, volume.Kind, b.Options()...)
	if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(v)}); err != nil {
		fmt.Println(err)
	}

	image := &volume.Volume{}
	_ = host.Get(ctx, client.ObjectKey{Namespace: "tenants", Name: "data-x-default-x-red"}, image)
	_ = here.Get(ctx, client.ObjectKeyFromObject(v), v)
	fmt.Println(image.Spec.SizeGiB, v.GetCondition(commonv1.TypeReady).Status)
	// Output: 3 True
}

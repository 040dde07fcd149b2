package plugin_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/plugin"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// cars is a syncer as plugins write it.
type cars struct {
	translator.NamespacedTranslator
}

func newCars(ctx *synccontext.RegisterContext) syncer.Base {
	return cars{translator.NewNamespacedTranslator(ctx, "cars", &corev1.ConfigMap{})}
}

func (s cars) SyncDown(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error) {
	return s.SyncDownCreate(ctx, vObj, s.TranslateMetadata(vObj))
}

func (cars) Sync(*synccontext.SyncContext, client.Object, client.Object) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

// ExampleMustStart is the main function of a plugin.
func ExampleMustStart() {
	ctx := plugin.MustInit()
	plugin.MustRegister(newCars(ctx))
	plugin.MustStart()
}

// Example adds kinds to Scheme, as packages of a plugin do before Init.
func Example() {
	err := clustersv1alpha1.AddToScheme(plugin.Scheme)
	fmt.Println(plugin.Scheme.Recognizes(clustersv1alpha1.GroupVersion.WithKind("Cluster")), err)
	// Output: true <nil>
}

package apiserver_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

func Example() {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	c := apiserver.New(scheme, clock.RealClock{}).Client()

	ctx := context.Background()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}}
	fmt.Println(c.Create(ctx, cm))
	stale := cm.DeepCopy()
	fmt.Println(c.Patch(ctx, cm, client.RawPatch(types.MergePatchType, []byte(`{"data":{"size":"3"}}`))))
	fmt.Println("conflict:", kerrors.IsConflict(c.Update(ctx, stale)))
	// Output:
	// <nil>
	// <nil>
	// conflict: true
}

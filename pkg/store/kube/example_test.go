package kube_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
)

// Example writes and reads a ConfigMap in a store with a Kubernetes client.
func Example() {
	store := memory.New[*kube.Envelope[*corev1.ConfigMap]]("settings")
	c, err := kube.NewClient(scheme.Scheme, []kube.Kind{kube.Serve(store)})
	if err != nil {
		fmt.Println(err)

		return
	}
	ctx := context.Background()
	settings := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"},
		Data:       map[string]string{"colour": "blue"},
	}
	fmt.Println(c.Create(ctx, settings), settings.ResourceVersion)

	stale := settings.DeepCopy()
	settings.Data["colour"] = "red"
	fmt.Println(c.Update(ctx, settings), settings.ResourceVersion)
	fmt.Println(kerrors.IsConflict(c.Update(ctx, stale)))

	e, err := store.Get(ctx, "default/settings")
	fmt.Println(err, e.GetMetadata().Revision)
	// Output:
	// <nil> 1
	// <nil> 2
	// true
	// <nil> 2
}

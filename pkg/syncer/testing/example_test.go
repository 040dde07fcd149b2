package testing_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
)

// ExampleFakeIndexClient registers an index, as with the cache of a manager, and lists by
// it.
func ExampleFakeIndexClient() {
	c := syncertesting.NewFakeClient(syncertesting.NewScheme(),
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one"}, Spec: corev1.PodSpec{NodeName: "red"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "two"}, Spec: corev1.PodSpec{NodeName: "blue"}},
	)
	byNode := func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }
	if err := c.IndexField(context.Background(), &corev1.Pod{}, "node", byNode); err != nil {
		fmt.Println(err)
	}
	pods := &corev1.PodList{}
	if err := c.List(context.Background(), pods, client.MatchingFields{"node": "blue"}); err != nil {
		fmt.Println(err)
	}
	for _, p := range pods.Items {
		fmt.Println(p.Name)
	}
	// Output: two
}

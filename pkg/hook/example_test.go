package hook_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/hook"
)

// pods gives every pod of the host a label.
type pods struct{}

var (
	_ hook.ClientHook           = pods{}
	_ hook.MutateCreatePhysical = pods{}
)

func (pods) Name() string { return "pods" }

func (pods) Resource() client.Object { return &corev1.Pod{} }

func (pods) MutateCreatePhysical(_ context.Context, obj client.Object) (client.Object, error) {
	obj.SetLabels(map[string]string{"team": "red"})
	return obj, nil
}

// The tests of a hook call it.
func Example() {
	obj, err := pods{}.MutateCreatePhysical(context.Background(), &corev1.Pod{})
	fmt.Println(obj.GetLabels(), err)
	// Output: map[team:red] <nil>
}

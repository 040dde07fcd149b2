package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/resource"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

const (
	// fakeLabel marks the nodes that this syncer creates.
	fakeLabel = "logistics.example.org/fake"

	// podsByNode is an index of the tenant's pods by their nodes.
	podsByNode = "spec.nodeName"
)

// nodes creates a fake node in the tenant for each node that pods name, and deletes it with the last of these pods. The
// tenant does not see the host's nodes.
type nodes struct{}

func (nodes) Name() string { return "nodes" }

func (nodes) Resource() client.Object { return &corev1.Node{} }

// RegisterIndices registers the index of pods by node.
func (nodes) RegisterIndices(ctx *synccontext.RegisterContext) error {
	return ctx.VirtualManager.GetFieldIndexer().IndexField(ctx.Context, &corev1.Pod{}, podsByNode,
		func(o client.Object) []string {
			return []string{o.(*corev1.Pod).Spec.NodeName}
		})
}

// ModifyController adds a watch of pods that enqueues their nodes.
func (nodes) ModifyController(
	_ *synccontext.RegisterContext, b *builder.Builder,
) (*builder.Builder, error) { //nolint:unparam // the signature is that of the interface
	toNode := func(_ context.Context, pod client.Object) []reconcile.Request {
		name := pod.(*corev1.Pod).Spec.NodeName
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: name}}}
	}
	return b.Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(toNode)), nil
}

// FakeSyncUp creates a node that a pod needs.
func (nodes) FakeSyncUp(
	ctx *synccontext.SyncContext, req types.NamespacedName,
) (ctrl.Result, error) { //nolint:unparam // the signature is that of the interface
	needed, err := needed(ctx, req.Name)
	if err != nil || !needed {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, ctx.VirtualClient.Create(ctx.Context, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: req.Name, Labels: map[string]string{fakeLabel: "true"}},
	})
}

// FakeSync deletes a fake node that no pod needs.
func (nodes) FakeSync(
	ctx *synccontext.SyncContext, vObj client.Object,
) (ctrl.Result, error) { //nolint:unparam // the signature is that of the interface
	if vObj.GetLabels()[fakeLabel] != "true" {
		return ctrl.Result{}, nil
	}
	needed, err := needed(ctx, vObj.GetName())
	if err != nil || needed {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, resource.IgnoreNotFound(ctx.VirtualClient.Delete(ctx.Context, vObj))
}

func needed(ctx *synccontext.SyncContext, node string) (bool, error) {
	pods := &corev1.PodList{}
	err := ctx.VirtualClient.List(ctx.Context, pods, client.MatchingFields{podsByNode: node}, client.Limit(1))
	return len(pods.Items) > 0, err
}

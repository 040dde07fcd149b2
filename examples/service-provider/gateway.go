package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// gateway returns the Deployment of an account in the workload cluster.
func gateway(a *Account) *appsv1.Deployment {
	labels := map[string]string{"account": a.GetName()}

	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gateway-" + a.GetName(), Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Name: "gateway", Image: "nats", Args: []string{"--config", "gateway.conf"}},
				}},
			},
		},
	}
}

// runGateway creates the gateway of an account, unless it exists.
func runGateway(ctx context.Context, a *Account, workload client.Client) error {
	g := gateway(a)
	err := workload.Get(ctx, client.ObjectKeyFromObject(g), g)
	if resource.IsNotFound(err) {
		err = workload.Create(ctx, gateway(a))
	}

	return errors.Wrap(err, "cannot run the gateway")
}

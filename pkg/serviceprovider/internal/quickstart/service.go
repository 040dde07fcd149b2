package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

type backups struct{}

// CreateOrUpdate writes the backup plan to the user's control plane.
func (backups) CreateOrUpdate(
	ctx context.Context, b *Backup, _ *BackupConfig, cc serviceprovider.ClusterContext,
) (ctrl.Result, error) {
	if b.Spec.Schedule == "" {
		err := errors.Wrap(serviceprovider.ErrInvalidUserInput, "spec.schedule is missing")
		serviceprovider.StatusProgressing(b, serviceprovider.ReasonReconcileError, err.Error())

		return ctrl.Result{}, serviceprovider.IgnoreInvalidUserInput(err)
	}
	p := plan(b)
	_, err := controllerutil.CreateOrPatch(ctx, cc.MCPCluster.Client(), p, func() error {
		p.Data = map[string]string{"schedule": b.Spec.Schedule}

		return nil
	})
	if err != nil {
		serviceprovider.StatusProgressing(b, serviceprovider.ReasonReconcileError, err.Error())

		return ctrl.Result{}, err
	}
	serviceprovider.StatusReady(b)

	return ctrl.Result{}, nil
}

// Delete removes the plan. An empty result without an error means that nothing is left.
func (backups) Delete(
	ctx context.Context, b *Backup, _ *BackupConfig, cc serviceprovider.ClusterContext,
) (ctrl.Result, error) {
	serviceprovider.StatusTerminating(b)

	return ctrl.Result{}, resource.IgnoreNotFound(cc.MCPCluster.Client().Delete(ctx, plan(b)))
}

func plan(b *Backup) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "backup-plan-" + b.Name}}
}

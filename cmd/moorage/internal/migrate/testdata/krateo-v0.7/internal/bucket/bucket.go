// Package bucket has the controller of the kind Bucket.
package bucket

import (
	"context"
	"errors"

	"github.com/krateoplatformops/provider-runtime/pkg/controller"
	"github.com/krateoplatformops/provider-runtime/pkg/event"
	"github.com/krateoplatformops/provider-runtime/pkg/helpers"
	"github.com/krateoplatformops/provider-runtime/pkg/logging"
	"github.com/krateoplatformops/provider-runtime/pkg/meta"
	"github.com/krateoplatformops/provider-runtime/pkg/ratelimiter"
	"github.com/krateoplatformops/provider-runtime/pkg/reconciler"
	"github.com/krateoplatformops/provider-runtime/pkg/resource"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/krateoplatformops/provider-runtime/apis/common/v1"

	"example.org/provider-bucket/apis/v1alpha1"
	"example.org/provider-bucket/internal/storage"
)

const reasonMade = "BucketMade"

// Setup adds the controller.
func Setup(mgr ctrl.Manager, o controller.Options, h *storage.Storage) error {
	name := reconciler.ControllerName(v1alpha1.BucketGroupVersionKind.GroupKind().String())

	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(o.ForControllerRuntime()).
		For(&v1alpha1.Bucket{}).
		Complete(ratelimiter.NewReconciler(name, Reconciler(mgr, o, h), o.GlobalRateLimiter))
}

// Reconciler returns the reconciler.
func Reconciler(mgr ctrl.Manager, o controller.Options, h *storage.Storage) *reconciler.Reconciler {
	recorder := mgr.GetEventRecorderFor("bucket")

	return reconciler.NewReconciler(mgr,
		resource.ManagedKind(v1alpha1.BucketGroupVersionKind),
		reconciler.WithExternalConnecter(&connector{kube: mgr.GetClient(), storage: h, log: o.Logger, rec: recorder}),
		reconciler.WithPollInterval(o.PollInterval),
		reconciler.WithLogger(o.Logger),
		reconciler.WithRecorder(event.NewAPIRecorder(recorder)))
}

type connector struct {
	kube    client.Client
	storage *storage.Storage
	log     logging.Logger
	rec     record.EventRecorder
}

func (c *connector) Connect(ctx context.Context, mg resource.Managed) (reconciler.ExternalClient, error) {
	cr, ok := mg.(*v1alpha1.Bucket)
	if !ok {
		return nil, errors.New("not a Bucket")
	}

	if ref := cr.Spec.TokenRef; ref != nil {
		if _, err := resource.GetSecret(ctx, c.kube, ref.DeepCopy()); err != nil {
			return nil, err
		}
	}

	return &external{storage: c.storage, log: c.log, rec: c.rec}, nil
}

type external struct {
	storage *storage.Storage
	log     logging.Logger
	rec     record.EventRecorder
}

func (e *external) Observe(_ context.Context, mg resource.Managed) (reconciler.ExternalObservation, error) {
	cr := mg.(*v1alpha1.Bucket)

	name := meta.GetExternalName(cr)
	if name == "" {
		return reconciler.ExternalObservation{}, nil
	}

	length, err := e.storage.Length(name)
	if errors.Is(err, storage.ErrNotFound) {
		return reconciler.ExternalObservation{}, nil
	}

	if err != nil {
		return reconciler.ExternalObservation{}, err
	}

	cr.Status.ID = name
	cr.SetConditions(commonv1.Available())

	return reconciler.ExternalObservation{
		ResourceExists:   true,
		ResourceUpToDate: length == helpers.Int(helpers.IntOrDefault(cr.Spec.Length, 10)),
	}, nil
}

func (e *external) Create(_ context.Context, mg resource.Managed) error {
	cr := mg.(*v1alpha1.Bucket)
	cr.SetConditions(commonv1.Creating())

	if !meta.IsActionAllowed(cr, meta.ActionCreate) {
		e.log.Debug("External resource should not be created by provider, skip creating.")

		return nil
	}

	meta.SetExternalName(cr, cr.GetName())

	text := "made " + cr.GetName()
	e.rec.Eventf(cr, corev1.EventTypeNormal, reasonMade, text)

	return e.storage.Put(cr.GetName(), helpers.Int(helpers.IntOrDefault(cr.Spec.Length, 10)))
}

func (e *external) Update(_ context.Context, mg resource.Managed) error {
	cr := mg.(*v1alpha1.Bucket)

	return e.storage.Put(meta.GetExternalName(cr), helpers.Int(helpers.IntOrDefault(cr.Spec.Length, 10)))
}

func (e *external) Delete(_ context.Context, mg resource.Managed) error {
	mg.SetConditions(commonv1.Deleting())
	if cr := mg.(*v1alpha1.Bucket); cr.GetDeletionPolicy() == commonv1.DeletionOrphan {
		return nil
	}

	e.storage.Remove(meta.GetExternalName(mg))

	return nil
}

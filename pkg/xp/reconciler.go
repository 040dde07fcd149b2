package xp

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// FinalizerName is the finalizer that crossplane-runtime puts on managed resources.
const FinalizerName = "finalizer.managedresource.crossplane.io"

// Domain is the domain of the annotations of crossplane-runtime.
const Domain = "crossplane.io"

// NewReconciler is managed.NewReconciler with the defaults of crossplane-runtime. The options o override them:
//
//   - managed.NameAsExternalName: the metadata.name of an object is its external name unless the object has an
//     external name.
//   - managed.WithPredecessor and managed.WithRetiredFinalizers: the reconciler respects the annotations by which
//     crossplane-runtime pauses an object, names its resource and records the creation of the resource. The finalizer
//     of crossplane-runtime is removed once the object has the finalizer of Moorage.
//   - managed.WithCreationConnectionDetails: before Create, a publisher that is a managed.ConnectionPreparer checks
//     whether the details could be published. The publishers of Secrets are ConnectionPreparers. Details that were lost
//     because the process ended are reported.
//   - managed.WithConnectionSecretType: connection Secrets get the type of crossplane-runtime. After a rollback,
//     crossplane-runtime writes only to Secrets of this type.
//   - [SecretPublisher]: an object of a kind that is a [SecretWriterTo] publishes to a Secret in any namespace.
func NewReconciler(m manager.Manager, of resource.ManagedKind, o ...managed.ReconcilerOption) *managed.Reconciler {
	defaults := []managed.ReconcilerOption{
		managed.WithInitializers(managed.NameAsExternalName{}),
		managed.WithPredecessor(Domain),
		managed.WithRetiredFinalizers(FinalizerName),
		managed.WithCreationConnectionDetails(),
		managed.WithConnectionSecretType(SecretType),
	}

	if mg, err := m.GetScheme().New(schema.GroupVersionKind(of)); err == nil {
		if _, legacy := mg.(SecretWriterTo); legacy {
			defaults = append(defaults, managed.WithConnectionPublisher(NewSecretPublisher(m.GetClient(),
				m.GetAPIReader(), of)))
		}
	}

	return managed.NewReconciler(m, of, append(defaults, o...)...)
}

// NewNameAsExternalName returns managed.NameAsExternalName, which needs no client.
func NewNameAsExternalName(client.Client) managed.NameAsExternalName {
	return managed.NameAsExternalName{}
}

// A NopClient does nothing. Its Observe reports that the resource does not exist.
type NopClient struct{}

// Observe returns that the resource does not exist.
func (NopClient) Observe(context.Context, resource.Managed) (managed.ExternalObservation, error) {
	return managed.ExternalObservation{}, nil
}

// Create does nothing.
func (NopClient) Create(context.Context, resource.Managed) (ExternalCreation, error) {
	return ExternalCreation{}, nil
}

// Update does nothing.
func (NopClient) Update(context.Context, resource.Managed) (ExternalUpdate, error) {
	return ExternalUpdate{}, nil
}

// Delete does nothing.
func (NopClient) Delete(context.Context, resource.Managed) (ExternalDelete, error) {
	return ExternalDelete{}, nil
}

// Disconnect does nothing.
func (NopClient) Disconnect(context.Context) error { return nil }

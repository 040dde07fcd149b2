package managed

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
)

// WithDeletionGuard combines [WithKindDeletionGuard] and [WithNamespaceDeletionGuard].
func WithDeletionGuard() ReconcilerOption {
	return func(r *Reconciler) { r.guards = guards{kind: true, namespace: true} }
}

// WithKindDeletionGuard keeps the external resources of objects that are deleted only because their
// CustomResourceDefinition is deleted. An upgrade or removal of the provider that deletes its
// CustomResourceDefinitions then deletes no external resource. The default is to delete the external resources, as
// for any other deletion.
//
// The reconciler reads the CustomResourceDefinition once before each Delete. Its role needs the verb get for
// customresourcedefinitions.
func WithKindDeletionGuard() ReconcilerOption {
	return func(r *Reconciler) { r.guards.kind = true }
}

// WithNamespaceDeletionGuard keeps the external resources of objects that are deleted only because their namespace is
// deleted. Use it for kinds that hold data. The default is to delete the external resources, as for any other
// deletion.
//
// The reconciler reads the namespace once before each Delete. Its role needs the verb get for namespaces. If the
// namespace is gone already, because its finalizers were removed by force, the external resource is deleted.
func WithNamespaceDeletionGuard() ReconcilerOption {
	return func(r *Reconciler) { r.guards.namespace = true }
}

// retain reports whether the external resource must stay because the object is deleted only together with a parent.
func (p *clientSession) retain(ctx context.Context) (bool, error) {
	if p.retained {
		return true, nil
	}
	all, err := p.guardedParents()
	if err != nil {
		return false, err
	}
	for _, above := range all {
		object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: above.apiVersion,
			Kind: above.kind}}
		err := p.r.cluster.GetAPIReader().Get(ctx, client.ObjectKey{Name: above.name}, object)
		switch {
		case err != nil && !gone.Answered(err, above.name):
			return false, errors.Wrapf(err, "cannot tell whether %s %s is being deleted", above.kind, above.name)
		case err == nil && !object.DeletionTimestamp.IsZero():
			p.retained = true
			if p.state.Retained {
				return true, nil
			}
			p.state.Retained = true
			p.recordEvent(event.Warning(reasonRetained, errors.New(fmt.Sprintf(
				"The external resource was left as it is: the object is deleted because %s %s is", above.kind,
				above.name))))

			return true, nil
		}
	}

	return false, nil
}

// guards are the parents whose deletion keeps external resources.
type guards struct{ kind, namespace bool }

// guardedParent is a parent with which an object is deleted.
type guardedParent struct{ apiVersion, kind, name string }

// guardedParents returns the parents to check before the external resource of an object is deleted.
func (p *clientSession) guardedParents() (all []guardedParent, err error) {
	if p.r.guards.namespace && p.mg.GetNamespace() != "" {
		all = append(all, guardedParent{"v1", "Namespace", p.mg.GetNamespace()})
	}
	if p.r.guards.kind {
		kind := schema.GroupVersionKind(p.r.of)
		mapping, err := p.r.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, errors.Wrap(err, "cannot tell the definition of the kind")
		}
		all = append(all, guardedParent{"apiextensions.k8s.io/v1", "CustomResourceDefinition",
			mapping.Resource.GroupResource().String()})
	}

	return all, nil
}

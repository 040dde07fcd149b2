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

// WithDeletionGuard leaves external resources where they are when their objects
// go because their namespace or the kind itself is being deleted. It is for kinds
// that hold data which nobody meant to delete with a namespace. The default is to
// delete them, as for any other deletion. It reads the namespace and the
// CustomResourceDefinition once before each Delete; the role needs get on both.
func WithDeletionGuard() ReconcilerOption {
	return func(r *Reconciler) { r.guarded = true }
}

// Spare says whether the external resource is to stay because the object did not
// go for its own sake.
func (p *pass) spare(ctx context.Context) (bool, error) {
	if !p.r.guarded || p.spared {
		return p.spared, nil
	}
	kind := schema.GroupVersionKind(p.r.of)
	mapping, err := p.r.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return false, errors.Wrap(err, "cannot tell the definition of the kind")
	}
	for _, above := range []struct{ apiVersion, kind, name string }{
		{"v1", "Namespace", p.mg.GetNamespace()},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", mapping.Resource.GroupResource().String()},
	} {
		if above.name == "" {
			continue
		}
		object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: above.apiVersion, Kind: above.kind}}
		err := p.r.cluster.GetAPIReader().Get(ctx, client.ObjectKey{Name: above.name}, object)
		if err != nil && !gone.Answered(err, above.name) {
			return false, errors.Wrapf(err, "cannot tell whether %s %s is being deleted", above.kind, above.name)
		}
		if err == nil && !object.DeletionTimestamp.IsZero() {
			p.spared = true
			p.tell(event.Warning(reasonSpared, errors.New(fmt.Sprintf(
				"The external resource was left as it is: the object is deleted because %s %s is", above.kind, above.name))))

			return true, nil
		}
	}

	return false, nil
}

package translator

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// newList returns an empty list for objects of a kind: unstructured if the object is
// unstructured, because a cache keeps typed and unstructured objects apart.
func newList(scheme *runtime.Scheme, obj client.Object, gvk schema.GroupVersionKind) (client.ObjectList, error) {
	if _, untyped := obj.(*unstructured.Unstructured); untyped {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		return list, nil
	}
	empty, err := scheme.New(gvk)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot create a list of %s", gvk.Kind)
	}
	list, ok := empty.(client.ObjectList)
	if !ok {
		return nil, errors.Errorf("%s is not a list", gvk.Kind)
	}
	return list, nil
}

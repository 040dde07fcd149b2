package reference

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// A scope is whether the objects of a kind are namespaced.
type scope int

const (
	scopeUnknown scope = iota
	scopeCluster
	scopeNamespace
)

// kindOf returns the kind of an object, or of the items of a list. If the reader is a client, kindOf uses the scheme of
// the client. Otherwise it uses the kind in the object. If neither has the kind, it uses the Go type, for messages and
// comparisons.
func kindOf(r client.Reader, o runtime.Object) schema.GroupVersionKind {
	gvk, known := lookupKind(r, o)
	if !known {
		gvk = o.GetObjectKind().GroupVersionKind()
	}
	if gvk.Kind == "" {
		gvk.Kind = reflect.Indirect(reflect.ValueOf(o)).Type().Name()
	}
	if _, isList := o.(client.ObjectList); isList {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}

	return gvk
}

// lookupKind returns the kind of o, if the reader is a client that can determine it.
func lookupKind(r client.Reader, o runtime.Object) (gvk schema.GroupVersionKind, known bool) {
	var err error

	switch k := r.(type) {
	case *Recorder:
		gvk, err = apiutil.GVKForObject(o, k.tracker.scheme)
	case interface {
		GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
	}:
		gvk, err = k.GroupVersionKindFor(o)
	default:
		return gvk, false
	}

	return gvk, err == nil && gvk.Kind != ""
}

// scopeOf returns the scope of a kind, if the reader is a client that can determine it.
func scopeOf(r client.Reader, gvk schema.GroupVersionKind) scope {
	if rec, ok := r.(*Recorder); ok {
		return scopeOf(rec.reader, gvk)
	}

	c, ok := r.(interface {
		IsObjectNamespaced(obj runtime.Object) (bool, error)
	})
	if !ok || gvk.Version == "" {
		return scopeUnknown
	}

	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(gvk)
	if _, known := lookupKind(r, o); !known {
		return scopeUnknown // Without the kind there is no scope.
	}

	namespaced, err := c.IsObjectNamespaced(o)
	switch {
	case err != nil:
		return scopeUnknown // The following read fails, too, and returns why.
	case namespaced:
		return scopeNamespace
	default:
		return scopeCluster
	}
}

// newLike returns a new, empty object of the type of o. It is needed because a read into an object that is not empty
// would merge maps.
func newLike[T runtime.Object](o T) T {
	out := reflect.New(reflect.TypeOf(o).Elem()).Interface().(T)
	if gvk := o.GetObjectKind().GroupVersionKind(); !gvk.Empty() {
		out.GetObjectKind().SetGroupVersionKind(gvk)
	}

	return out
}

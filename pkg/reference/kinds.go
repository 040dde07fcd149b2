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

// A scope says whether objects of a kind are in namespaces.
type scope int

const (
	scopeUnknown scope = iota
	scopeCluster
	scopeNamespace
)

// kindOf returns the kind of an object, or of the items of a list. A reader that
// is a client knows; otherwise the object may, and if it does not, its Go type
// serves for texts and comparisons.
func kindOf(r client.Reader, o runtime.Object) schema.GroupVersionKind {
	gvk, known := askKind(r, o)
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

func askKind(r client.Reader, o runtime.Object) (gvk schema.GroupVersionKind, known bool) {
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

// scopeOf returns the scope of a kind, which a reader that is a client knows.
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
	if _, known := askKind(r, o); !known {
		return scopeUnknown // Who does not know the kind does not know its scope.
	}

	namespaced, err := c.IsObjectNamespaced(o)
	switch {
	case err != nil:
		return scopeUnknown // The read that follows fails too, and says why.
	case namespaced:
		return scopeNamespace
	default:
		return scopeCluster
	}
}

// fresh returns a new object of the type of o. What was read into o before must
// not shine through: a client merges what it reads into the maps that are there.
func fresh[T runtime.Object](o T) T {
	out := reflect.New(reflect.TypeOf(o).Elem()).Interface().(T)
	if gvk := o.GetObjectKind().GroupVersionKind(); !gvk.Empty() {
		out.GetObjectKind().SetGroupVersionKind(gvk)
	}

	return out
}

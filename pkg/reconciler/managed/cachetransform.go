package managed

import (
	"maps"
	"sync"
	"unique"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// CacheOptions returns cache options for a manager that reduce the memory of the cache. The cache drops managed
// fields, which no reconciler reads. Objects share equal strings, such as annotation keys and condition reasons, and
// equal label maps. Unused capacity of slices and maps is released.
//
// As with any cache, cached objects must not be changed in place.
func CacheOptions() cache.Options {
	labels := &labelSets{}

	return cache.Options{DefaultTransform: func(in any) (any, error) { return slim(in, labels) }}
}

func slim(in any, labels *labelSets) (any, error) {
	o, ok := in.(client.Object)
	if !ok { // a tombstone: the deletion was missed
		return in, nil
	}
	if o.GetManagedFields() != nil {
		o.SetManagedFields(nil)
	}
	if _, ok := o.(runtime.Unstructured); ok { // its accessors copy
		return o, nil
	}
	if o, ok = o.DeepCopyObject().(client.Object); !ok {
		return in, nil
	}
	o.SetNamespace(common(o.GetNamespace()))
	o.SetLabels(labels.shared(o.GetLabels()))
	o.SetAnnotations(withCommonKeys(o.GetAnnotations()))
	finalizers := o.GetFinalizers()
	for i, name := range finalizers {
		finalizers[i] = common(name)
	}
	if t, ok := o.GetObjectKind().(*metav1.TypeMeta); ok {
		t.APIVersion, t.Kind = common(t.APIVersion), common(t.Kind)
	}

	if mg, ok := o.(resource.Managed); ok {
		conditions := objectjson.ConditionsOf(mg)
		for i := range conditions {
			c := &conditions[i]
			c.Type, c.Status = unique.Make(c.Type).Value(), unique.Make(c.Status).Value()
			c.Reason = unique.Make(c.Reason).Value()
		}
	}

	return o, nil
}

// labelSets has a few label maps of recently decoded objects. Objects that are created together often have the same
// labels, and a map of two labels takes as much memory as a map of eight.
type labelSets struct {
	mu     sync.Mutex
	recent [4]map[string]string
	next   int
}

func (s *labelSets) shared(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return labels
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, set := range s.recent {
		if maps.Equal(set, labels) {
			return set
		}
	}
	labels = withCommonKeys(labels)
	s.recent[s.next], s.next = labels, (s.next+1)%len(s.recent)

	return labels
}

func withCommonKeys(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for key, value := range m {
		out[common(key)] = value
	}

	return out
}

func common(text string) string { return unique.Make(text).Value() }

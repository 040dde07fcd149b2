package managed

import (
	"strings"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestCacheSharesTheKind verifies that strings that all objects of a kind have in common are shared; unstructured
// objects are kept as they are.
func TestCacheSharesTheKind(t *testing.T) {
	holds(t, "apps/v1")
	holds(t, "Deployment")
	transform := CacheOptions().DefaultTransform
	var kept []*metav1.PartialObjectMetadata
	for range 2 {
		out, err := transform(&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{
			APIVersion: strings.Clone("apps/v1"), Kind: strings.Clone("Deployment"),
		}})
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, out.(*metav1.PartialObjectMetadata))
	}
	if kept[0].APIVersion != "apps/v1" || kept[0].Kind != "Deployment" ||
		unsafe.StringData(kept[0].Kind) != unsafe.StringData(kept[1].Kind) ||
		unsafe.StringData(kept[0].APIVersion) != unsafe.StringData(kept[1].APIVersion) {
		t.Errorf("the kind is kept for each object: %+v", kept[0].TypeMeta)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"kind": "a"}}
	if out, err := transform(u); err != nil || out != any(u) {
		t.Errorf("%p was kept as %p: %v", u, out, err)
	}
}

// TestCacheKeepsFourSetsOfLabels verifies that four label sets are kept, and the fifth replaces the first.
func TestCacheKeepsFourSetsOfLabels(t *testing.T) {
	var s labelSets
	share := func(name string) *byte {
		return unsafe.StringData(s.shared(map[string]string{"fleet": strings.Clone(name)})["fleet"])
	}
	first := map[string]*byte{}
	for _, name := range []string{"a", "b", "c", "d"} {
		first[name] = share(name)
	}
	for name, of := range first {
		if share(name) != of {
			t.Errorf("the labels of %s are kept for each object", name)
		}
	}
	share("e")
	for _, name := range []string{"b", "c", "d"} {
		if share(name) != first[name] {
			t.Errorf("the labels of %s are not kept any more", name)
		}
	}
	if share("a") == first["a"] {
		t.Error("the labels that were kept first are kept for ever")
	}
}

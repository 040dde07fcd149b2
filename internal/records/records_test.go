package records_test

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/internal/records"
)

// TestRecords checks that a record belongs to one object, and is dropped with it. Another object of the name gets an
// empty record.
func TestRecords(t *testing.T) {
	var gone []int
	r := records.New(func(n *int) { gone = append(gone, *n) })
	name, other := types.NamespacedName{Namespace: "a", Name: "x"}, types.NamespacedName{Namespace: "b", Name: "x"}
	if r.Peek(name, "1") != nil || r.Peek(name, "") != nil {
		t.Error("an unknown object has a record")
	}
	if uid, record := r.At(name); uid != "" || record != nil {
		t.Error("an unknown name leads to a record")
	}
	first := r.Of(name, "1")
	if uid, record := r.At(name); uid != "1" || record != first {
		t.Errorf("the name leads to the record of %q", uid)
	}
	*first = 7
	if r.Of(name, "1") != first || r.Peek(name, "1") != first || len(gone) != 0 {
		t.Error("an object is forgotten")
	}
	if r.Peek(name, "2") != nil || *r.Of(name, "2") != 0 || r.Len() != 1 {
		t.Error("a namesake inherits, or is kept beside the other")
	}
	if *r.Of(other, "2") != 0 || r.Len() != 2 {
		t.Error("a namesake in another namespace inherits")
	}
	*r.Of(name, "2"), *r.Of(other, "2") = 8, 9
	visited := map[types.NamespacedName]int{}
	r.Each(func(name types.NamespacedName, uid types.UID, n *int) {
		if r.Peek(name, uid) != n {
			t.Errorf("visited another record than that of %s", name)
		}
		visited[name] = *n
	})
	if want := map[types.NamespacedName]int{name: 8, other: 9}; !maps.Equal(visited, want) {
		t.Errorf("visited %v, want %v", visited, want)
	}
	r.Forget(name)
	r.Forget(name)
	if r.Peek(name, "2") != nil || r.Len() != 1 {
		t.Error("an object that is gone is remembered")
	}
	r.Clear()
	if r.Peek(other, "2") != nil || r.Len() != 0 {
		t.Error("something is left")
	}
	if want := []int{7, 8, 9}; !slices.Equal(gone, want) {
		t.Errorf("called with %v, want %v", gone, want)
	}
}

// TestNoCallback checks that the callback is optional.
func TestNoCallback(t *testing.T) {
	r := records.New[int](nil)
	name := types.NamespacedName{Name: "x"}
	r.Of(name, "1")
	r.Of(name, "2")
	r.Forget(name)
	r.Clear()
	if r.Len() != 0 {
		t.Error("something is left")
	}
}

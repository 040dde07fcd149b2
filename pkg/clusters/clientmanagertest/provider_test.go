package clientmanagertest

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

var east = types.NamespacedName{Namespace: "apps", Name: "east"}

func TestFakeClientProvider(t *testing.T) {
	f := NewFakeClientProvider[*string](nil)
	if _, _, err := f.GetK8sClient(types.NamespacedName{Name: "default"}); !errors.Is(err, clusters.ErrNotFound) {
		t.Errorf("want %v, got %v", clusters.ErrNotFound, err)
	}
	if _, _, err := f.GetK8sClient(types.NamespacedName{Namespace: "apps"}); err == nil ||
		err.Error() != "cluster key cannot be empty" {
		t.Errorf("got %v", err)
	}
	first, second := new("first"), new("second")
	if added, at := f.AddK8sClient(east, first); !added || at.IsZero() {
		t.Errorf("want it added, got %t, %v", added, at)
	}
	if added, at := f.AddK8sClient(east, second); added || !at.IsZero() {
		t.Errorf("want it refused, got %t, %v", added, at)
	}
	if c, _, err := f.GetK8sClient(east); c != first || err != nil {
		t.Errorf("want the first one, got %v, %v", c, err)
	}
	if c, _, err := NewFakeClientProvider(first).GetK8sClient(types.NamespacedName{Name: "default"}); c != first ||
		err != nil {
		t.Errorf("want the default, got %v, %v", c, err)
	}
}

// TestTimesGrow: a client that replaces another one, or an error, is later, however fast
// they come.
func TestTimesGrow(t *testing.T) {
	f := NewFakeClientProvider(0)
	last := metav1.MicroTime{}
	for i := range 1000 {
		at := f.SetK8sClient(east, i)
		if !at.After(last.Time) || at.Nanosecond()%1000 != 0 {
			t.Fatalf("%d: %v does not come after %v, or is finer than a microsecond", i, at, last)
		}
		if i%2 == 0 {
			f.SetClusterError(east, errors.New("boom"))
		}
		last = at
	}
}

func TestErrorsLoseTheirIdentity(t *testing.T) {
	boom := errors.New("boom")
	f := NewFakeClientProvider(0)
	f.SetClusterError(east, boom)
	_, _, err := f.GetK8sClient(east)
	if err == nil || errors.Is(err, boom) || err.Error() != "boom" {
		t.Errorf("want another error of the same text, got %v", err)
	}
	if added, _ := f.AddK8sClient(east, 1); added {
		t.Error("want it refused, since there is an error")
	}
	f.SetK8sClient(east, 2)
	if c, _, err := f.GetK8sClient(east); c != 2 || err != nil {
		t.Errorf("want the error overwritten, got %v, %v", c, err)
	}
	f.SetClusterError(east, boom)
	if _, _, err := f.GetK8sClient(east); err == nil {
		t.Error("want the client overwritten")
	}
}

func ExampleFakeClientProvider() {
	f := NewFakeClientProvider("a client")
	fmt.Println(f.GetK8sClient(types.NamespacedName{Name: "west"}))
	c, _, err := f.GetK8sClient(types.NamespacedName{Name: "default"})
	fmt.Println(c, err)
	// Output:
	//  0001-01-01 00:00:00 +0000 UTC cluster client does not exist
	// a client <nil>
}

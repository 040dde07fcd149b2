package managed_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// What the guard reads, of the kind of these tests.
const (
	definition     = "volumes.example.moorage.dev"
	namespaceRead  = "Namespace default"
	definitionRead = "CustomResourceDefinition " + definition
)

// TestDeletionGuard verifies that resources are retained when the namespace or kind is deleted, at the cost of one
// read of each before each Delete, and of none elsewhere.
func TestDeletionGuard(t *testing.T) {
	both := managed.WithDeletionGuard()
	cases := map[string]struct {
		reason   string
		guards   managed.ReconcilerOption
		leaving  func(*world)
		refused  bool // the first Delete is
		reads    []string
		retained bool
	}{
		"the object goes": {"Nobody deletes what it is in.", both, nil, false,
			[]string{namespaceRead, definitionRead}, false},
		"the namespace goes": {"One reason is enough.", both, (*world).leavingNamespace, false,
			[]string{namespaceRead}, true},
		"the kind goes": {"The namespace stays.", both, (*world).leavingDefinition, false,
			[]string{namespaceRead, definitionRead}, true},
		"nobody asked for it": {"It is an option.", nil, (*world).leavingNamespace, false, nil, false},
		"of the kind, it goes": {"Its own guard looks at nothing else.", managed.WithKindDeletionGuard(),
			(*world).leavingDefinition, false, []string{definitionRead}, true},
		"of the kind, another": {"The namespace is not its business.", managed.WithKindDeletionGuard(),
			(*world).leavingNamespace, false, []string{definitionRead}, false},
		"of the namespace, it goes": {"Its own guard looks at nothing else.", managed.WithNamespaceDeletionGuard(),
			(*world).leavingNamespace, false, []string{namespaceRead}, true},
		"of the namespace, another": {"The kind is not its business.", managed.WithNamespaceDeletionGuard(),
			(*world).leavingDefinition, false, []string{namespaceRead}, false},
		"Delete is made again": {"It may have begun to go meanwhile.", both, nil, true,
			[]string{namespaceRead, definitionRead, namespaceRead, definitionRead}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tc.guards != nil {
				w.o = append(w.o, tc.guards)
				w.restart()
			}
			w.create(nil)
			w.pass()
			w.pass()
			if tc.leaving != nil {
				tc.leaving(w)
			}
			w.delete()
			w.taken()
			if tc.refused {
				w.cloud.Before = failing("Delete", errLost)
				if _, err := w.try(); err == nil {
					t.Fatal("a Delete that fails is no error")
				}
				w.cloud.Before = nil
				w.taken()
			}
			w.pass()
			want := "Normal/DeletedExternalResource"
			if tc.retained {
				want = "Warning/ExternalResourceSpared"
			}
			if _, _, events := w.taken(); events != want || !w.gone() || (len(w.cloud.Disks()) == 1) != tc.retained {
				t.Errorf("%s events %q, gone %t, disks %v", tc.reason, events, w.gone(), w.cloud.Disks())
			}
			if !slices.Equal(w.above, tc.reads) {
				t.Errorf("%s read %q, want %q", tc.reason, w.above, tc.reads)
			}
		})
	}
}

// leavingNamespace makes the namespace one that is being deleted.
func (w *world) leavingNamespace() {
	w.leaving(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, key.Namespace)
}

// leavingDefinition makes the definition of the kind one that is being deleted.
func (w *world) leavingDefinition() {
	w.leaving(schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
	}, definition)
}

func (w *world) leaving(of schema.GroupVersionKind, name string) {
	w.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(of)
	o.SetName(name)
	o.SetFinalizers([]string{"example.org/hold"})
	w.Create(o)
	w.Delete(o)
}

package providerconfig

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestUsedForDeletion(t *testing.T) {
	leaving := func(namespace, name, kind string) *Boat {
		b := boat(namespace, name, kind, "main")
		b.Finalizers = []string{"example.org/held"}

		return b
	}
	cases := map[string]struct {
		reason  string
		live    []client.Object
		deleted []client.Object
		of      Config
		want    bool
	}{
		"Nobody": {"nobody refers to it", nil, nil, wharf("a", "main"), false},
		"Live": {"nobody is being deleted", []client.Object{boat("a", "one", "", "main")}, nil,
			wharf("a", "main"), false},
		"Deleted": {"one of them is", []client.Object{boat("a", "one", "", "main")},
			[]client.Object{leaving("a", "two", "")}, wharf("a", "main"), true},
		"OtherNamespace": {"another namespace has another configuration", nil,
			[]client.Object{leaving("b", "two", "")}, wharf("a", "main"), false},
		"OtherKind": {"it refers to that of the cluster", nil,
			[]client.Object{leaving("a", "two", "ClusterWharf")}, wharf("a", "main"), false},
		"Cluster": {"that is used from any namespace", nil,
			[]client.Object{leaving("a", "two", "ClusterWharf")}, clusterWharf("main"), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPort(t, append(tc.live, tc.deleted...)...)
			for _, o := range tc.deleted {
				if err := p.Delete(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			got, err := UsedForDeletion(t.Context(), p, kinds, []User{&Boat{}}, tc.of)
			if err != nil || got != tc.want {
				t.Errorf("%s: UsedForDeletion(...) = %t, %v, want %t", tc.reason, got, err, tc.want)
			}
		})
	}
	if _, err := UsedForDeletion(t.Context(), newPort(t), Kinds{}, nil, wharf("a", "main")); err == nil {
		t.Error("without kinds: want an error")
	}
	if _, err := UsedForDeletion(t.Context(), newPort(t), kinds, []User{&Raft{}}, wharf("a", "main")); err == nil {
		t.Error("a kind that is not in the scheme: want an error")
	}
}

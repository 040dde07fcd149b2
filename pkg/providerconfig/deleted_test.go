package providerconfig

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestUsedForDeletion(t *testing.T) {
	leaving := func(namespace, name, kind string) *Bucket {
		b := bucket(namespace, name, kind, "main")
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
		"Nobody": {"nobody refers to it", nil, nil, tenant("a", "main"), false},
		"Live": {"nobody is being deleted", []client.Object{bucket("a", "one", "", "main")}, nil,
			tenant("a", "main"), false},
		"Deleted": {"one of them is", []client.Object{bucket("a", "one", "", "main")},
			[]client.Object{leaving("a", "two", "")}, tenant("a", "main"), true},
		"OtherNamespace": {"another namespace has another configuration", nil,
			[]client.Object{leaving("b", "two", "")}, tenant("a", "main"), false},
		"OtherKind": {"it refers to that of the cluster", nil,
			[]client.Object{leaving("a", "two", "ClusterTenant")}, tenant("a", "main"), false},
		"Cluster": {"that is used from any namespace", nil,
			[]client.Object{leaving("a", "two", "ClusterTenant")}, clusterTenant("main"), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newFixture(t, append(tc.live, tc.deleted...)...)
			for _, o := range tc.deleted {
				if err := p.Delete(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			got, err := UsedForDeletion(t.Context(), p, kinds, []User{&Bucket{}}, tc.of)
			if err != nil || got != tc.want {
				t.Errorf("%s: UsedForDeletion(...) = %t, %v, want %t", tc.reason, got, err, tc.want)
			}
		})
	}
	if _, err := UsedForDeletion(t.Context(), newFixture(t), Kinds{}, nil, tenant("a", "main")); err == nil {
		t.Error("without kinds: want an error")
	}
	if _, err := UsedForDeletion(t.Context(), newFixture(t), kinds, []User{&Role{}}, tenant("a", "main")); err == nil {
		t.Error("a kind that is not in the scheme: want an error")
	}
}

package translate_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/translate"
)

// TestSafeConcatName verifies joined and truncated names.
func TestSafeConcatName(t *testing.T) {
	cases := map[string]struct {
		reason string
		parts  []string
		want   string
	}{
		"Short": {"A short name is joined.", []string{"a", "b"}, "a-b"},
		"Fits": {
			"63 bytes fit.", []string{strings.Repeat("a", 31), strings.Repeat("b", 31)},
			strings.Repeat("a", 31) + "-" + strings.Repeat("b", 31),
		},
		"Long": {
			"64 do not. The hash must never change: it is stored.",
			[]string{
				strings.Repeat("a", 31), strings.Repeat("b", 32),
			}, strings.Repeat("a", 31) + "-" + strings.Repeat("b", 20) + "-e67a3605e2",
		},
		"Dot": {
			"A cut right after a dot leaves a name that is allowed.",
			[]string{strings.Repeat("a", 51) + ".example.org.example.org"}, strings.Repeat("a", 51) + "-00e550d7f4",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := translate.SafeConcatName(tc.parts...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 {
				t.Errorf("%s\n%s is no name: %v", tc.reason, got, problems)
			}
		})
	}
	if got := len(translate.SafeConcatGenerateName(strings.Repeat("a", 60))); got != 53 {
		t.Errorf("a generateName of %d bytes, want 53", got)
	}
}

// TestPhysicalNames verifies that names never change, because objects are stored under
// them. With the suffix "red", 54 bytes of name and namespace result in 63.
func TestPhysicalNames(t *testing.T) {
	names := translate.Names{Suffix: "red"}
	n := func(letter string, count int) string { return strings.Repeat(letter, count) }
	cases := map[string]struct {
		reason string
		got    string
		want   string
	}{
		"62": {
			"One byte less than the limit is not changed.", names.PhysicalName(n("n", 50), n("s", 3)),
			n("n", 50) + "-x-sss-x-red",
		},
		"63": {"The limit is not changed.", names.PhysicalName(n("n", 51), n("s", 3)), n("n", 51) + "-x-sss-x-red"},
		"64": {
			"One byte more is truncated and ends in a hash.", names.PhysicalName(n("n", 52), n("s", 3)),
			"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn-405531a07a",
		},
		"64Other": {
			"The hash is of the whole name: names that differ after the truncated part differ.",
			names.PhysicalName(n("n", 52), "sst"), "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn-b7d42dfeed",
		},
		"253": {
			"The longest valid name is truncated.", names.PhysicalName(n("n", 253), n("s", 63)),
			"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn-939dc01085",
		},
		"Cluster63": {
			"The limit is the same for cluster-scoped names.", names.PhysicalNameClusterScoped(n("n", 43), "ns"),
			"vcluster-" + n("n", 43) + "-x-ns-x-red",
		},
		"Cluster64": {
			"One byte more is truncated.", names.PhysicalNameClusterScoped(n("n", 44), "ns"),
			"vcluster-nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn-fbf3019a8b",
		},
		"Label": {
			"Label keys always contain a hash.", names.ConvertLabelKeyWithPrefix(translate.LabelPrefix, "app"),
			"vcluster.loft.sh/label-red-x-a172cedcae",
		},
	}
	for name, tc := range cases {
		if tc.got != tc.want || len(tc.got) > 63 {
			t.Errorf("%s: %s\ngot  %q (%d bytes)\nwant %q", name, tc.reason, tc.got, len(tc.got), tc.want)
		}
	}
}

// TestNamesOfManyObjects searches for a collision of names other than that of ambiguous
// pairs.
func TestNamesOfManyObjects(t *testing.T) {
	names := translate.Names{Suffix: "red"}
	seen := map[string]string{}
	for n := range 70 {
		for m := range 70 {
			name, namespace := strings.Repeat("n", n+1), strings.Repeat("m", m+1)
			host := names.PhysicalName(name, namespace)
			if len(host) > 63 {
				t.Fatalf("%s has %d bytes", host, len(host))
			}
			if other, taken := seen[host]; taken {
				t.Fatalf("%s is the name of %s/%s and of %s", host, namespace, name, other)
			}
			seen[host] = namespace + "/" + name
		}
	}
	if names.PhysicalName("a-x-b", "c") != names.PhysicalName("a", "b-x-c") {
		t.Error("stored names have changed: these two have always been the same")
	}
	if names.PhysicalName("", "ns") != "" || names.PhysicalNameClusterScoped("", "ns") != "" {
		t.Error("nothing has got a name")
	}
}

// TestMarks verifies which objects are managed.
func TestMarks(t *testing.T) {
	red, blue := translate.Names{Suffix: "red"}, translate.Names{Suffix: "blue"}
	labelled := func(value string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{translate.MarkerLabel: value}}}
	}
	cases := map[string]struct {
		reason string
		got    bool
		want   bool
	}{
		"Ours":     {"The label matches.", red.IsManaged(labelled("red")), true},
		"Others":   {"The label is that of another cluster.", blue.IsManaged(labelled("red")), false},
		"None":     {"There is no label.", red.IsManaged(&corev1.ConfigMap{}), false},
		"NoObject": {"The object is nil.", red.IsManaged(nil), false},
		"NoSuffix": {"Without a suffix nothing is managed.", translate.Names{}.IsManaged(&corev1.ConfigMap{}), false},
		"Cluster": {
			"The label of cluster-scoped objects contains the namespace.", red.IsManagedCluster("ns", labelled("ns-x-red")),
			true,
		},
		"ClusterOther": {
			"The same suffix in another namespace is another cluster.", red.IsManagedCluster("other", labelled("ns-x-red")),
			false,
		},
		"ClusterDefault": {
			"The package's functions use its variables.", translate.IsManagedCluster("ns", labelled("ns-x-suffix")), true,
		},
		"Default": {"The package's functions use its variables.", translate.IsManaged(labelled("suffix")), true},
	}
	for name, tc := range cases {
		if tc.got != tc.want {
			t.Errorf("%s: %s Got %t", name, tc.reason, tc.got)
		}
	}
}

// TestOwner verifies the owner references.
func TestOwner(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "red", UID: "1"}}
	names := translate.Names{Suffix: "red", Owner: service}
	want := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "red", UID: "1"}}
	if diff := cmp.Diff(want, names.OwnerReferences("ns")); diff != "" {
		t.Errorf("in its own namespace: -want, +got:\n%s", diff)
	}
	if got := names.OwnerReferences("other"); got != nil {
		t.Errorf("a reference crosses namespaces: %v", got)
	}
	if got := translate.GetOwnerReference(service); got != nil {
		t.Errorf("without an owner: %v", got)
	}
}

// TestAbsent verifies nil interfaces and nil pointers.
func TestAbsent(t *testing.T) {
	var pointer *corev1.ConfigMap
	if !translate.Absent(nil) || !translate.Absent(pointer) || translate.Absent(&corev1.ConfigMap{}) {
		t.Error("nil is not distinguished from an object")
	}
}

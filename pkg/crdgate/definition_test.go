package crdgate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func crd(name, kind, uid string, established apiextensionsv1.ConditionStatus,
	versions ...string) *apiextensionsv1.CustomResourceDefinition {
	d := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + ".example.org", UID: types.UID(uid), ResourceVersion: "5",
			Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x",
				1000)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.org", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: name},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established,
				Status: established}},
		},
	}
	for _, v := range versions {
		name, off := strings.CutPrefix(v, "-")
		d.Spec.Versions = append(d.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: !off, Storage: !off,
			Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Description: strings.Repeat("x", 10_000)},
			},
			AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{{Name: "READY"}},
		})
	}

	return d
}

func TestStripDefinition(t *testing.T) {
	full := crd("buckets", "Bucket", "u1", "True", "v1", "-v1alpha1")
	deleted := metav1.Now()
	full.DeletionTimestamp = &deleted
	before := definitionOf(full)
	stripped, err := StripDefinition(full)
	if err != nil {
		t.Fatal(err)
	}
	image, err := json.Marshal(stripped)
	if err != nil {
		t.Fatal(err)
	}
	if len(image) > 1000 {
		t.Errorf("%d bytes are left: %s", len(image), image)
	}
	small := stripped.(*apiextensionsv1.CustomResourceDefinition)
	if diff := cmp.Diff(before, definitionOf(small), cmp.AllowUnexported(definition{})); diff != "" {
		t.Errorf("the gate reads another thing: -want, +got:\n%s", diff)
	}
	if small.ResourceVersion != "5" || small.DeletionTimestamp == nil || small.Spec.Names.Plural != "buckets" ||
		small.Spec.Scope != "Namespaced" {
		t.Errorf("too much is gone: %s", image)
	}
	if other, err := StripDefinition("a tombstone"); other != "a tombstone" || err != nil {
		t.Errorf("StripDefinition(...) = %v, %v", other, err)
	}
}

func TestCatalogue(t *testing.T) {
	type state struct {
		Finding serving
		UID     string
	}
	type step struct {
		reason     string
		do         func(*crdIndex)
		discovered bool
		want       state
	}
	bucket := gvk("Bucket")
	put := func(d *apiextensionsv1.CustomResourceDefinition) func(*crdIndex) {
		return func(c *crdIndex) { c.set(d) }
	}
	cases := map[string][]step{
		"Life": {
			{
				reason: "nothing is known before all are",
				do:     put(crd("buckets", "Bucket", "u1", "True", "v1")), want: state{unknown, ""},
			},
			{reason: "served", do: (*crdIndex).setSynced, want: state{served, "u1"}},
			{
				reason: "another version only",
				do:     put(crd("buckets", "Bucket", "u1", "True", "-v1", "v2")), want: state{unserved, ""},
			},
			{reason: "not established", do: put(crd("buckets", "Bucket", "u1", "False", "v1")), want: state{unserved, ""}},
			{reason: "established", do: put(crd("buckets", "Bucket", "u1", "True", "v2", "v1")), want: state{served, "u1"}},
			{
				reason: "gone: discovery, which may lag behind, is not asked",
				do:     func(c *crdIndex) { c.remove("buckets.example.org") }, want: state{unserved, ""},
			},
			{
				reason: "gone twice", do: func(c *crdIndex) { c.remove("buckets.example.org") },
				discovered: true, want: state{unserved, ""},
			},
			{reason: "made anew", do: put(crd("buckets", "Bucket", "u2", "True", "v1")), want: state{served, "u2"}},
		},
		"Deleting": {
			{do: (*crdIndex).setSynced, want: state{undefined, ""}},
			{reason: "while its objects go, a definition serves them", do: func(c *crdIndex) {
				d := crd("buckets", "Bucket", "u1", "True", "v1")
				now := metav1.Now()
				d.DeletionTimestamp = &now
				c.set(d)
			}, want: state{served, "u1"}},
		},
		"Other": {
			{reason: "discovery knows", do: (*crdIndex).setSynced, want: state{undefined, ""}},
			{
				reason: "a group with definitions has no other kinds",
				do:     put(crd("databases", "Database", "u1", "True", "v1")), want: state{unserved, ""},
			},
			{
				reason: "unless discovery has found one", do: func(*crdIndex) {}, discovered: true,
				want: state{undefined, ""},
			},
			{
				reason: "the group has no definition any more",
				do:     func(c *crdIndex) { c.remove("databases.example.org") },
				want:   state{undefined, ""},
			},
		},
		"Twice": {
			{do: (*crdIndex).setSynced, want: state{undefined, ""}},
			{do: put(crd("buckets", "Bucket", "u1", "True", "v1")), want: state{served, "u1"}},
			{
				reason: "of two with one kind, one is established",
				do:     put(crd("pails", "Bucket", "u2", "False", "v1")), want: state{served, "u1"},
			},
		},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCRDIndex()
			c.track(bucket.GroupKind())
			for i, s := range steps {
				s.do(c)
				finding, uid := c.find(bucket, s.discovered)
				if diff := cmp.Diff(s.want, state{finding, uid}); diff != "" {
					t.Errorf("step %d, %s: -want, +got:\n%s", i, s.reason, diff)
				}
			}
			if finding, _ := c.find(schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
				false); finding != undefined {
				t.Error("a built-in kind has no definition")
			}
		})
	}
}

// TestCatalogueTracksLate: a kind may be tracked when its definition is there already, or is tracked twice.
func TestCatalogueTracksLate(t *testing.T) {
	c := newCRDIndex()
	c.setSynced()
	c.set(crd("buckets", "Bucket", "u1", "True", "v1"))
	bucket := gvk("Bucket")
	for range 2 {
		c.track(bucket.GroupKind())
		if finding, uid := c.find(bucket, false); finding != served || uid != "u1" {
			t.Errorf("find(...) = %v, %q, want that u1 serves it", finding, uid)
		}
	}
	c.remove("buckets.example.org")
	c.track(bucket.GroupKind())
	if finding, _ := c.find(bucket, true); finding != unserved {
		t.Errorf("find(...) = %v, want that its definition is gone", finding)
	}
}

// TestCatalogueDoesNotGrow: definitions that come and go leave nothing behind, but for kinds that are tracked.
func TestCatalogueDoesNotGrow(t *testing.T) {
	c := newCRDIndex()
	c.track(gvk("Bucket").GroupKind())
	for i := range 1000 {
		name := fmt.Sprintf("kinds-%d", i)
		d := crd(name, fmt.Sprintf("Kind%d", i), "u1", "True", "v1")
		d.Spec.Group = name + ".example.org"
		c.set(d)
		c.remove(d.Name)
	}
	if len(c.byName) != 0 || len(c.groups) != 0 || len(c.hadDefinition) != 1 {
		t.Errorf("%d definitions, %d groups, %d kinds are left, want the one kind that is tracked", len(c.byName),
			len(c.groups), len(c.hadDefinition))
	}
}

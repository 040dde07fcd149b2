package conformance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestStepsOf: a path is read as package difference writes it. A path that is none leads nowhere, and ends.
func TestStepsOf(t *testing.T) {
	for path, want := range map[string]specPath{
		"maxAge":                       {"maxAge"},
		"sources[0].name":              {"sources", "0", "name"},
		`labels["example.org/team"]`:   {"labels", "example.org/team"},
		`labels["a]b\""].x`:            {"labels", `a]b"`, "x"},
		"ports[http].port":             {"ports", "http", "port"},
		"":                             nil,
		"a[":                           {"a", ""},
		`a["b`:                         {"a", `"b`},
		"..":                           {"", ""},
		"spec.forProvider.maxAge":      {"spec", "forProvider", "maxAge"},
		`["example.org/team"].enabled`: {"example.org/team", "enabled"},
	} {
		if diff := cmp.Diff(want, stepsOf(path)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", path, diff)
		}
	}
}

// A nested is an object whose spec has the field forProvider.
type nested struct {
	volume.Volume

	Spec nestedSpec
}

type nestedSpec struct {
	ForProvider struct {
		nestedInline `json:",inline"`

		Labels  map[string]string `json:"labels,omitempty"`
		Sources []*struct {
			Name string `json:"name"`
		} `json:"sources,omitempty"`
		Until *metav1.Time `json:"until,omitempty"`
		Any   any          `json:"any,omitempty"`
	} `json:"forProvider"`
}

type nestedInline struct {
	MaxAge string `json:"maxAge,omitempty"`
}

// TestHasField: the type of the spec decides which fields it has, not the values of an object.
func TestHasField(t *testing.T) {
	for path, want := range map[string]bool{
		"maxAge": true, "labels": true, `labels["a"]`: true, "sources[0].name": true, "sources[x].name": true,
		"until": true, "until.seconds": true, "any.thing": true,
		"": false, "MaxAge": false, "sources[0].names": false, "maxAge.days": false, "forProvider.maxAge": false,
	} {
		if got := hasField(&nested{}, stepsOf(path)); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
	if !hasField(sample("vol"), stepsOf("sizeGiB")) || rootName(sample("vol")) != "spec" {
		t.Error("the field of a spec without forProvider is not found")
	}
}

// TestChangedFields: the fields that differ are named, down to the key of a map and to a list.
func TestChangedFields(t *testing.T) {
	a, b := &nested{}, &nested{}
	a.Spec.ForProvider.Labels = map[string]string{"x": "1", "y": "1"}
	b.Spec.ForProvider.Labels = map[string]string{"x": "1", "y": "2"}
	if got, want := fieldNames(changedFields(a, b)), `"labels.y"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	b.Spec.ForProvider.MaxAge, b.Spec.ForProvider.Labels = "1h", nil
	if got, want := fieldNames(changedFields(a, b)), `"labels, maxAge"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for named, want := range map[string]bool{"labels": true, `labels["y"]`: true, "maxAge": true, "max": false} {
		got := false
		for _, changed := range changedFields(resource.Managed(a), b) {
			got = got || stepsOf(named).overlaps(changed)
		}
		if got != want {
			t.Errorf("%s is of the change: %t, want %t", named, got, want)
		}
	}
}

// TestIsSetBy: a reference or selector sets the field whose name it has.
func TestIsSetBy(t *testing.T) {
	for _, c := range []struct {
		field, changed string
		want           bool
	}{
		{"database", "databaseRef.name", true},
		{"database", "databaseSelector.matchLabels.a", true},
		{"roles[0]", "roleRefs", true},
		{"roles", "rolesRefs", true},
		{"roles", "roleSelector", true},
		{"owner.database", "owner.databaseRef", true},
		{"databases", "databaseRef", false},
		{"owner.database", "databaseRef", false},
		{"name", "databaseRef.name", false},
		{"", "Ref", false},
		{"database", "database", false}, // overlaps reports that
	} {
		if got := stepsOf(c.field).isSetBy(stepsOf(c.changed)); got != c.want {
			t.Errorf("%s is set by %s: %t, want %t", c.field, c.changed, got, c.want)
		}
	}
}

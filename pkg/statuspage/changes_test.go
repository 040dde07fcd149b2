package statuspage

import (
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/changelog"
)

// TestChangesAreBounded: the last hundred changes are remembered, and all are counted.
func TestChangesAreBounded(t *testing.T) {
	l := &changeLog{}
	for i := range 3 * maxChanges {
		must(t, l.Record(t.Context(), changelog.Entry{
			Time: begin, Name: fmt.Sprintf("b-%d", i), Operation: changelog.OperationUpdate,
			GroupVersionKind: schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Bucket"},
		}))
	}
	changes, total := l.read()
	if len(changes) != maxChanges || total != 3*maxChanges {
		t.Fatalf("%d changes of %d", len(changes), total)
	}
	if c := changes[maxChanges-1]; c.Object.Name != "b-299" || c.Object.Kind != "Bucket" || c.Operation != "Update" ||
		!c.Time.Equal(begin) {
		t.Errorf("the last change is %+v", c)
	}
}

// TestChangeHasTheFieldsOfAnEntry: cause and differences are read from the JSON of an entry.
func TestChangeHasTheFieldsOfAnEntry(t *testing.T) {
	var c change
	must(t, json.Unmarshal([]byte(`{"operation":"Update","cause":"drift","differences":[{"path":"maxAge"}],
		"generation":3,"object":{"name":"a"}}`), &c))
	if v := changesOf([]change{c}, "")[0]; v.Cause != "drift" || v.Fields != "maxAge" {
		t.Errorf("cause %q, fields %q", v.Cause, v.Fields)
	}
}

package cli

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/cluster"
)

// TestLongLines checks that a line without an end is skipped, and does not fill the memory.
func TestLongLines(t *testing.T) {
	k := cluster.Kind{Name: "Stream", Resource: schema.GroupVersionResource{Group: "nats.example.org"}}
	entries := strings.SplitAfter(lines, "\n")
	in := strings.Repeat("{", maxLine+1) + "\n" + entries[2] + strings.Repeat("x", 2*maxLine)

	got, err := readChanges(strings.NewReader(in), k, "sea", "orders")
	if err != nil || len(got) != 1 || got[0].What != "Update succeeded" {
		t.Errorf("%v: %+v", err, got)
	}
}

func FuzzReadChanges(f *testing.F) {
	f.Add(lines)
	f.Fuzz(func(t *testing.T, in string) {
		k := cluster.Kind{Name: "Stream", Resource: schema.GroupVersionResource{Group: "nats.example.org"}}

		got, err := readChanges(strings.NewReader(in), k, "sea", "orders")
		if err != nil {
			t.Error(err)
		}

		for _, m := range got {
			if strings.ContainsAny(m.What+m.Message, "\n\x1b") {
				t.Errorf("%+v is not one line", m)
			}
		}
	})
}

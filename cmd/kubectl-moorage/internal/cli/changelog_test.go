package cli

import (
	"encoding/json"
	"slices"
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

// TestChangesHaveTheirCause checks the cause and the fields of an entry in the table, and in the JSON: no value of a
// sensitive field, and no control characters.
func TestChangesHaveTheirCause(t *testing.T) {
	const entry = `{"time":"2026-11-28T11:57:00Z","object":{"apiVersion":"nats.example.org/v1","kind":"Stream",` +
		`"namespace":"sea","name":"orders"},"externalName":"ORDERS","operation":"Update","generation":3,"cause":"drift",` +
		`"differences":[{"path":"max\u001bAge","desired":"\"24h\"","observed":"\"72h\""},` +
		`{"path":"password","desired":"canary-3f9d","sensitive":true,"immutable":true}`

	many := strings.Repeat(`,{"path":"subjects"}`, 7)
	s := newHistory(t)

	got := s.run(entry+many+"]}\n", "history", "stream/orders", "-")
	for _, want := range []string{
		"Update succeeded (drift)", `external name "ORDERS": maxAge "24h" <- "72h", password (immutable) (sensitive), ` +
			"subjects (none) <- (none)", "and 1 more",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("there is no %q in\n%s", want, got.out)
		}
	}

	wide := s.run(entry+many+"]}\n", "history", "stream/orders", "-", "-o", "wide")
	if strings.Count(wide.out, "subjects") != 7 || strings.Contains(wide.out, "more") {
		t.Errorf("with whole values:\n%s", wide.out)
	}

	asJSON := s.run(entry+"]}\n", "history", "stream/orders", "-", "-o", "json")

	var h historyOutput
	if err := json.Unmarshal([]byte(asJSON.out), &h); err != nil {
		t.Fatal(err)
	}

	i := slices.IndexFunc(h.Items, func(m moment) bool { return m.Source == "change log" })
	if i < 0 || h.Items[i].Cause != "drift" || len(h.Items[i].Differences) != 2 {
		t.Errorf("the JSON is %s", asJSON.out)
	}

	if strings.Contains(got.out+wide.out+asJSON.out, "canary") {
		t.Error("the value of a sensitive field is shown")
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

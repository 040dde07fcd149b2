package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// lines are lines of the log of a provider: some are entries of its change log.
const lines = `starting
{"level":"info","msg":"started"}
{"time":"2026-11-28T11:57:00Z","object":{"apiVersion":"nats.example.org/v1","kind":"Stream","namespace":"sea",` +
	`"name":"orders"},"externalName":"ORDERS","operation":"Update","before":{"password":"canary-3f9d"}}
{"time":"2026-11-28T11:58:00Z","object":{"apiVersion":"nats.example.org/v1","kind":"Stream","namespace":"land",` +
	`"name":"orders"},"operation":"Update"}
{"time":"2026-11-28T11:59:30Z","object":{"apiVersion":"nats.example.org/v1","kind":"Stream","namespace":"sea",` +
	`"name":"orders"},"operation":"Delete","error":"no route\nto host"}
`

// newHistory returns a server with a stream that has events.
func newHistory(t *testing.T) *server {
	t.Helper()

	s := newServer(t)
	o := stream("orders", set([]any{map[string]any{
		"manager": "kubectl-edit", "operation": "Update", "time": "2026-11-28T10:00:00Z", "apiVersion": "v1",
	}}, "metadata", "managedFields"))
	s.add("streams.nats.example.org", o)
	s.add("events", event(&unstructured.Unstructured{Object: o}, "e", "UpdatedExternalResource", "updated: maxAge", ""))

	other := stream("orders", set("another", "metadata", "uid"))
	s.add("events", event(&unstructured.Unstructured{Object: other}, "f", "Created", "of an earlier object", ""))

	return s
}

func TestHistory(t *testing.T) {
	s := newHistory(t)
	got := s.run(lines, "history", "stream/orders", "-")

	want := []string{
		"2026-11-27T12:00:00Z   24h   object       Created",
		"2026-11-28T10:00:00Z   2h    client       kubectl-edit changed the object last",
		"2026-11-28T11:55:00Z   5m    condition    UpToDate is True (ObserveMatched)",
		`2026-11-28T11:57:00Z   3m    change log   Update succeeded                       external name "ORDERS"`,
		"2026-11-28T11:59:00Z   60s   event        Normal UpdatedExternalResource         updated: maxAge",
		"2026-11-28T11:59:30Z   30s   change log   Delete failed                          no route to host",
	}
	rest := got.out

	for _, line := range want {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Errorf("%q is missing, or in another place, in\n%s", line, got.out)

			continue
		}

		rest = after
	}

	if got.code != 0 || got.err != "" || strings.Contains(got.out, "earlier object") ||
		strings.Count(got.out, "change log") != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestHistoryVariants(t *testing.T) {
	file := filepath.Join(t.TempDir(), "changes.json")
	if err := os.WriteFile(file, []byte(strings.TrimSpace(lines)), 0o600); err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		reason  string
		prepare func(s *server)
		args    []string
		code    int
		want    []string
	}{
		"NoFile": {
			"what cannot be known is said", nil, []string{"stream", "orders"}, 0,
			[]string{"Not known: earlier changes: events are kept for about an hour"},
		},
		"File": {"a file is the same", nil, []string{"stream", "orders", file}, 0, []string{"Delete failed"}},
		"NoEvents": {
			"the rest is shown", func(s *server) { s.forbid["list events"] = true }, []string{"stream/orders"}, 0,
			[]string{"Created", "Not known: events: you may not list events"},
		},
		"Deleted": {
			"of an object that is gone, events and entries are left",
			func(s *server) { s.remove() }, []string{"stream/orders", file}, 0,
			[]string{"updated: maxAge", "Delete failed", `there is no Stream "orders" in namespace "sea" any more`},
		},
		"NothingKnown": {
			"no object and no event", nil, []string{"stream/none"}, 1, []string{"nothing is known of an earlier one"},
		},
		"NoSuchFile": {"the file is named", nil, []string{"stream/orders", "/no/such"}, 1, []string{"open /no/such"}},
		"ThreeNames": {"one object only", nil, []string{"stream", "a", "b", "c"}, 1, []string{"name one object"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newHistory(t)
			if tc.prepare != nil {
				tc.prepare(s)
			}

			got := s.run("", append([]string{"history"}, tc.args...)...)
			if got.code != tc.code {
				t.Errorf("%s: %+v", tc.reason, got)
			}

			for _, want := range tc.want {
				if !strings.Contains(got.out+got.err, want) {
					t.Errorf("%s: there is no %q in\n%s%s", tc.reason, want, got.out, got.err)
				}
			}
		})
	}
}

func TestHistoryIsJSON(t *testing.T) {
	got := newHistory(t).run("", "history", "stream/orders", "-o", "json")

	var h historyOutput
	if err := json.Unmarshal([]byte(got.out), &h); err != nil || got.code != 0 || got.err != "" {
		t.Fatalf("%v: %+v", err, got)
	}

	if len(h.Items) != 6 || h.Object.Name != "orders" || len(h.Unknown) != 1 {
		t.Errorf("the history is %+v", h)
	}
}

// TestInterruptEndsTheChangeLog checks that the standard input is not waited for after an interrupt.
func TestInterruptEndsTheChangeLog(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders"))

	if got := s.runInterrupted("history", "stream/orders", "-"); got != (result{1, "", "kubectl moorage: interrupted\n"}) {
		t.Errorf("got %+v", got)
	}
}

package mergepatch

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}

	return m
}

func TestBetween(t *testing.T) {
	cases := map[string]struct{ reason, from, to, want string }{
		"Same":  {"nothing is nothing", `{"a":1,"b":{"c":[1]}}`, `{"a":1,"b":{"c":[1]}}`, `{}`},
		"Added": {"what is new is sent", `{}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		"Changed": {"only what differs is sent", `{"a":{"b":1,"c":2},"d":3}`, `{"a":{"b":1,"c":4},"d":3}`,
			`{"a":{"c":4}}`},
		"Removed": {"null removes", `{"a":{"b":1,"c":2}}`, `{"a":{"b":1}}`, `{"a":{"c":null}}`},
		"List":    {"a list is one value", `{"a":[1,2]}`, `{"a":[1,3]}`, `{"a":[1,3]}`},
		"Kind":    {"a map may become something else", `{"a":{"b":1}}`, `{"a":"b"}`, `{"a":"b"}`},
	}
	for name, tc := range cases {
		from, to := parsed(t, tc.from), parsed(t, tc.to)
		patch := Between(from, to)
		if diff := cmp.Diff(parsed(t, tc.want), patch); diff != "" {
			t.Errorf("%s: %s: -want, +got:\n%s", name, tc.reason, diff)
		}
		if diff := cmp.Diff(to, Apply(from, patch)); diff != "" {
			t.Errorf("%s: applied: -want, +got:\n%s", name, diff)
		}
		if diff := cmp.Diff(parsed(t, tc.from), from); diff != "" {
			t.Errorf("%s: an argument was changed:\n%s", name, diff)
		}
	}
}

func TestWithout(t *testing.T) {
	m := parsed(t, `{"atProvider":{"messages":5,"bytes":7,"name":"x"},"other":{"count":1}}`)
	paths := []Path{NewPath("atProvider.messages"), NewPath("atProvider.bytes"), NewPath("other.count"),
		NewPath("not.there"), NewPath("atProvider.name.deeper")}
	if diff := cmp.Diff(parsed(t, `{"atProvider":{"name":"x"}}`), Without(m, paths)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(parsed(t, `{"atProvider":{"messages":5,"bytes":7,"name":"x"},"other":{"count":1}}`),
		m); diff != "" {
		t.Errorf("the argument was changed:\n%s", diff)
	}
}

func TestMissing(t *testing.T) {
	got := Missing(parsed(t, `{"a":1,"b":{"c":1,"d":2},"e":[1]}`), parsed(t, `{"a":2,"b":{"c":1}}`), "status.")
	want := map[string]bool{"status.b.d": true, "status.e": true}
	if len(got) != len(want) {
		t.Errorf("missing: %v", got)
	}
	for _, path := range got {
		if !want[path] {
			t.Errorf("missing: %v", got)
		}
	}
}

// FuzzMergePatch: whatever two objects are, the patch between them makes one of the other.
func FuzzMergePatch(f *testing.F) {
	f.Add(`{"a":1}`, `{"a":{"b":[1,2]}}`)
	f.Add(`{"conditions":[{"type":"Ready"}]}`, `{}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		from, to := map[string]any{}, map[string]any{}
		if json.Unmarshal([]byte(a), &from) != nil || json.Unmarshal([]byte(b), &to) != nil || hasNull(from) ||
			hasNull(to) {
			return // a merge patch cannot say null, and an API server stores none
		}
		if got := Apply(from, Between(from, to)); !cmp.Equal(got, to) {
			t.Errorf("from %s to %s: got %v", a, b, got)
		}
	})
}

func hasNull(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, below := range v {
			if hasNull(below) {
				return true
			}
		}
	}

	return false
}

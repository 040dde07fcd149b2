package merge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pairs are elements "key=value" with the key before the equals sign.
var pairs = Elements[string, string]{
	Key:   keyOf,
	Equal: func(a, b string) bool { return a == b },
	Set: func(list *[]string, pair string) {
		if i := slices.IndexFunc(*list, func(s string) bool { return keyOf(s) == keyOf(pair) }); i >= 0 {
			(*list)[i] = pair

			return
		}
		*list = append(*list, pair)
	},
}

func keyOf(pair string) string {
	key, _, _ := strings.Cut(pair, "=")

	return key
}

func TestChanges(t *testing.T) {
	cases := map[string]struct {
		reason                   string
		base, mine, newest, want string
	}{
		"Nothing":         {"without changes, the newest list stays", "a=1", "a=1", "a=2 b=1", "a=2 b=1"},
		"Changed":         {"a change replaces the element in its place", "a=1 b=1", "a=2 b=1", "a=1 b=3", "a=2 b=3"},
		"ChangedByBoth":   {"the last writer wins", "a=1", "a=2", "a=3", "a=2"},
		"Added":           {"added elements come last, in the order of mine", "", "c=1 b=1", "a=1", "a=1 c=1 b=1"},
		"AddedByOthers":   {"elements of other writers stay", "", "", "a=1", "a=1"},
		"Removed":         {"an element is removed, whatever others changed", "a=1 b=1", "b=1", "a=2 b=1", "b=1"},
		"RemovedByOthers": {"an element that did not change does not come back", "a=1", "a=1", "", ""},
		"RemovedAndSet":   {"an element that changed comes back", "a=1", "a=2", "", "a=2"},
	}
	for name, tc := range cases {
		base, mine, newest := strings.Fields(tc.base), strings.Fields(tc.mine), strings.Fields(tc.newest)
		before := fmt.Sprint(base, mine, newest)
		got := pairs.Changes(base, mine, newest)
		if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s: -want, +got:\n%s", name, tc.reason, diff)
		}
		if after := fmt.Sprint(base, mine, newest); after != before {
			t.Errorf("%s: the arguments are %s, and were %s", name, after, before)
		}
	}
}

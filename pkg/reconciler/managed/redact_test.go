package managed

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConnectionDetailsAreRemembered verifies that details of earlier observations are redacted in later passes,
// also replaced ones, once.
func TestConnectionDetailsAreRemembered(t *testing.T) {
	details := func(pairs ...string) ConnectionDetails {
		all := ConnectionDetails{}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i]] = []byte(pairs[i+1])
		}

		return all
	}
	const text, hidden = "with correct-horse and battery-staple and stapled-horse in vol-0001234", "[REDACTED]"
	for name, tc := range map[string]struct {
		reason   string
		observed []ConnectionDetails
		want     string
	}{
		"Nothing": {"there are none", []ConnectionDetails{nil, {}}, text},
		"Once": {"they were told", []ConnectionDetails{details("password", "correct-horse")},
			"with " + hidden + " and battery-staple and stapled-horse in vol-0001234"},
		"Untold": {"only a creation tells some",
			[]ConnectionDetails{details("password", "correct-horse"), details("host", "localhost"), nil},
			"with " + hidden + " and battery-staple and stapled-horse in vol-0001234"},
		"Rotated": {"the former may still be accepted",
			[]ConnectionDetails{details("password", "correct-horse"), details("password", "battery-staple"),
				details("password", "battery-staple")},
			"with " + hidden + " and " + hidden + " and stapled-horse in vol-0001234"},
		"Twice": {"one is remembered", []ConnectionDetails{details("password", "correct-horse"),
			details("password", "battery-staple"), details("password", "stapled-horse")},
			"with correct-horse and " + hidden + " and " + hidden + " in vol-0001234"},
		"Emptied": {"no value is no other value",
			[]ConnectionDetails{details("password", "correct-horse"), details("password", "")},
			"with " + hidden + " and battery-staple and stapled-horse in vol-0001234"},
		"Resumed": {"what follows no value is the next one",
			[]ConnectionDetails{details("password", "correct-horse"), details("password", ""),
				details("password", "battery-staple")},
			"with " + hidden + " and " + hidden + " and stapled-horse in vol-0001234"},
		"Name": {"everybody can read the external name", []ConnectionDetails{details("id", "vol-0001234")}, text},
		"Separate": {"another key changes nothing",
			[]ConnectionDetails{details("a", "correct-horse"), details("b", "battery-staple")},
			"with " + hidden + " and " + hidden + " and stapled-horse in vol-0001234"},
	} {
		p := endingPass()
		for _, observed := range tc.observed {
			p.state.rememberDetails(observed, "vol-0001234")
			for _, value := range observed {
				clear(value) // it is the client's
			}
		}
		p.state.release(p.r.objects.unused)
		if kept := p.state.coldState != nil; kept != (tc.want != text) {
			t.Errorf("%s: kept %t", name, kept)
		}
		p.state.acquire(p.r.objects.unused)
		if diff := cmp.Diff(tc.want, p.mask().String(text)); diff != "" {
			t.Errorf("%s, %s: -want, +got:\n%s", name, tc.reason, diff)
		}
	}
}

// TestConnectionDetailsTakeNoMore verifies that repeated details take no memory, and that changing keys are
// bounded.
func TestConnectionDetailsTakeNoMore(t *testing.T) {
	o := (&objectState{}).acquire(new(sync.Pool))
	details := ConnectionDetails{"password": []byte("correct-horse"), "id": []byte("vol-0001234")}
	o.rememberDetails(details, "vol-0001234")
	if got := testing.AllocsPerRun(100, func() { o.rememberDetails(details, "vol-0001234") }); got != 0 {
		t.Errorf("%v allocations in a pass", got)
	}
	for i := range 3 * detailsRemembered {
		key := fmt.Sprint("key", i)
		o.rememberDetails(ConnectionDetails{key: []byte("correct-horse")}, "")
		o.rememberDetails(ConnectionDetails{key: []byte("battery-staple")}, "")
		if want := (rotated{[]byte("battery-staple"),
			[]byte("correct-horse")}); len(o.details) > detailsRemembered || !reflect.DeepEqual(o.details[key], want) {
			t.Fatalf("after %d keys, %d are kept, the last as %q", i+1, len(o.details), o.details[key])
		}
	}
	many := ConnectionDetails{}
	for i := range 2 * detailsRemembered {
		many[fmt.Sprint("one of many", i)] = []byte("stapled-horse")
	}
	if o.rememberDetails(many, ""); len(o.details) != len(many) {
		t.Errorf("%d of %d are kept", len(o.details), len(many))
	}
}

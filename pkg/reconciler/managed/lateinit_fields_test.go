package managed

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A lateManaged is an object of which Observe may fill in a part.
type lateManaged struct {
	fake.Managed

	Spec lateSpec `json:"spec"`
}

type lateSpec struct {
	Size  int64  `json:"size"` // zero is encoded, and is no value of a user's
	Tier  string `json:"tier,omitempty"`
	Zone  string `json:"zone,omitempty"`
	Class string `json:"class,omitempty"`
	Bad   bad    `json:"bad,omitzero"`
}

// bad cannot be encoded if it is set.
type bad string

func (b bad) MarshalJSON() ([]byte, error) { return nil, errors.New("it cannot be encoded") }

func (m *lateManaged) DeepCopyObject() runtime.Object {
	c := *m
	c.Managed = *m.Managed.DeepCopyObject().(*fake.Managed)

	return &c
}

// TestWhatIsFilledIn verifies that only unset fields are filled and recorded, that values of the user stay, and
// that a reverted field stays unset and is reported once.
func TestWhatIsFilledIn(t *testing.T) {
	const noted = meta.AnnotationKeyLateInitialized
	found := ExternalObservation{ResourceExists: true, ResourceLateInitialized: true}
	cases := map[string]struct {
		reason     string
		o          ExternalObservation
		read, have lateSpec
		noted      string
		want       map[string]any
		notes      string
		reverted   string
	}{
		"Nothing": {"Observe has not said so", ExternalObservation{ResourceExists: true}, lateSpec{},
			lateSpec{Tier: "gold"}, "", nil, "", ""},
		"Missing": {"it is not there", ExternalObservation{ResourceLateInitialized: true}, lateSpec{},
			lateSpec{Tier: "gold"}, "", nil, "", ""},
		"Tier": {"it was unset", found, lateSpec{}, lateSpec{Tier: "gold"}, "",
			map[string]any{"spec": map[string]any{"tier": "gold"}}, "spec/tier", ""},
		"Zero": {"that is no value", found, lateSpec{}, lateSpec{Size: 5}, "",
			map[string]any{"spec": map[string]any{"size": int64(5)}}, "spec/size", ""},
		"Users": {"a user has said so", found, lateSpec{Tier: "gold", Size: 3}, lateSpec{Tier: "silver", Size: 5},
			"", map[string]any{}, "", ""},
		"Several": {"each is noted once, in their order", found, lateSpec{Class: "a"},
			lateSpec{Class: "a", Zone: "b", Tier: "gold"}, "spec/class spec/zeal",
			map[string]any{"spec": map[string]any{"tier": "gold", "zone": "b"}},
			"spec/class spec/tier spec/zeal spec/zone", ""},
		"Reverted": {"it was taken out again", found, lateSpec{}, lateSpec{Tier: "gold", Zone: "b", Class: "c"},
			"spec/zone spec/tier", map[string]any{"spec": map[string]any{"class": "c"}},
			"spec/class spec/tier spec/zone", "spec.tier, spec.zone"},
		"Unsorted": {"what was noted stays as it is", found, lateSpec{}, lateSpec{Tier: "gold", Zone: "b"},
			"spec/zone spec/tier", map[string]any{}, "spec/zone spec/tier", "spec.tier, spec.zone"},
		"AllOfIt": {"and nothing else is filled in", found, lateSpec{}, lateSpec{Tier: "gold"}, "spec/tier",
			map[string]any{}, "spec/tier", "spec.tier"},
	}
	for name, tc := range cases {
		read, mg := &lateManaged{Spec: tc.read}, &lateManaged{Spec: tc.have}
		p := passOf(mg, &objectState{})
		p.read, p.observation, p.r.empty = read, tc.o, reflect.TypeFor[lateManaged]()
		for range 2 {
			mg.Annotations = map[string]string{}
			if tc.noted != "" {
				mg.Annotations[noted] = tc.noted
			}
			got, err := p.lateFields()
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %s: -want +got:\n%s", name, tc.reason, diff)
			}
		}
		if got := mg.Annotations[noted]; got != tc.notes {
			t.Errorf("%s: %s: noted %q, want %q", name, tc.reason, got, tc.notes)
		}
		want := []event.Event(nil)
		if tc.reverted != "" {
			want = []event.Event{event.Warning(reasonLateReverted, errors.New(
				"fields that were filled in from the external resource were removed again, and are left unset: "+
					tc.reverted))}
		}
		if diff := cmp.Diff(want, p.events); diff != "" {
			t.Errorf("%s: %s: told, -want +got:\n%s", name, tc.reason, diff)
		}
	}
	p := passOf(bearing(nil), &objectState{})
	p.rememberFilled([]string{"b", "a", "b"}, []mergepatch.Path{{"c"}, {"a"}})
	if got := p.mg.GetAnnotations()[noted]; got != "a b c" {
		t.Errorf("noted %q", got)
	}
	if p.warnReverted([]mergepatch.Path{{"b"}, {"a", "c"}}); len(p.events) != 1 ||
		!strings.HasSuffix(p.events[0].Message, "left unset: a.c, b") {
		t.Errorf("told %+v", p.events)
	}
}

// TestWhatCannotBeFilledIn verifies that late initialization fails for an object that cannot be encoded.
func TestWhatCannotBeFilledIn(t *testing.T) {
	good, broken := lateSpec{Tier: "gold"}, lateSpec{Bad: "x"}
	for name, specs := range map[string][2]lateSpec{"read": {broken, good}, "filled in": {good, broken}} {
		p := passOf(&lateManaged{Spec: specs[1]}, &objectState{})
		p.read, p.r.empty = &lateManaged{Spec: specs[0]}, reflect.TypeFor[lateManaged]()
		p.observation = ExternalObservation{ResourceExists: true, ResourceLateInitialized: true}
		if got, err := p.lateFields(); err == nil || got != nil || len(p.mg.GetAnnotations()) > 0 {
			t.Errorf("what is %s and cannot be encoded: %v, %v, noted %v", name, got, err, p.mg.GetAnnotations())
		}
	}
}

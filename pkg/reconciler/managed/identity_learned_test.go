package managed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// A namedSystem is a client that knows the identity of its external system.
type namedSystem struct {
	ExternalClient

	name  string
	asked int
}

func (c *namedSystem) Identity() string {
	if c.asked++; c.name == "panics" {
		panic("nobody is connected")
	}

	return c.name
}

// TestAnotherSystemIsRecognised verifies that the stored backend identity is compared with that of the client.
func TestAnotherSystemIsRecognised(t *testing.T) {
	const identity, allow = meta.AnnotationKeyBackendIdentity, meta.AnnotationKeyAllowBackendChange
	cases := map[string]struct {
		reason   string
		identity string
		marks    map[string]string
		want     map[string]string
		says     []string // in the error
		stops    string   // the reason of a terminal error
	}{
		"Unknown": {"nothing was stored yet", "blue", nil, nil, nil, ""},
		"Same": {"it is the same", "blue", map[string]string{identity: "blue"},
			map[string]string{identity: "blue"}, nil, ""},
		"Silent": {"nobody can tell", "", map[string]string{identity: "blue"}, map[string]string{identity: "blue"},
			[]string{`"blue"`}, ""},
		"Another": {"it is another", "green", map[string]string{identity: "blue"}, map[string]string{identity: "blue"},
			[]string{`leads to "green"`, `is in "blue": correct the connection`,
				"set the annotation " + allow + " "}, "BackendChanged"},
		"Allowed": {"a user says that it is so", "green", map[string]string{identity: "blue", allow: "green"},
			map[string]string{identity: "green", allow: "green"}, nil, ""},
		"NotAllowed": {"that was of another change", "green", map[string]string{identity: "blue", allow: "red"},
			map[string]string{identity: "blue", allow: "red"}, []string{`leads to "green"`}, "BackendChanged"},
	}
	for name, tc := range cases {
		p := passOf(bearing(tc.marks), &objectState{})
		p.backend, p.system = &namedSystem{name: "another since"}, tc.identity
		err := p.checkBackend()
		if (err != nil) != (tc.says != nil) {
			t.Errorf("%s: %s: it ended with %v", name, tc.reason, err)
		}
		for _, text := range tc.says {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v does not say %q", name, err, text)
			}
		}
		if stops, _ := external.TerminalReason(err); stops != tc.stops {
			t.Errorf("%s: it stops for %q, want %q", name, stops, tc.stops)
		}
		if diff := cmp.Diff(tc.want, p.mg.GetAnnotations()); diff != "" {
			t.Errorf("%s: %s: -want +got:\n%s", name, tc.reason, diff)
		}
	}
	if p := passOf(bearing(map[string]string{identity: "blue"}), &objectState{}); p.checkBackend() != nil {
		t.Error("a client that tells nothing of its system is taken to be in another")
	}
}

// TestASystemIsNotedOnce verifies that the backend identity is stored once, as soon as the client knows it.
func TestASystemIsNotedOnce(t *testing.T) {
	const identity = meta.AnnotationKeyBackendIdentity
	for reported, tc := range map[string]struct{ stored, want string }{
		"blue": {"", "blue"}, "green": {"blue", "blue"}, "": {"", ""}, "panics": {"", ""},
	} {
		c := &namedSystem{name: reported}
		p := passOf(bearing(nil), &objectState{})
		if p.storeBackend(); len(p.mg.GetAnnotations()) > 0 {
			t.Errorf("of a client that tells nothing %v is noted", p.mg.GetAnnotations())
		}
		if p.backend = c; tc.stored != "" {
			meta.AddAnnotations(p.mg, map[string]string{identity: tc.stored})
		}
		p.storeBackend()
		if got, noted := p.mg.GetAnnotations()[identity]; got != tc.want || noted != (tc.want != "") ||
			tc.stored != "" && c.asked > 0 {
			t.Errorf("of %q, %q is noted: %t, after it was asked %d times", reported, got, noted, c.asked)
		}
	}
}

// TestASystemThatIsTakenAwayIsPutBack verifies that a removed backend identity is restored.
func TestASystemThatIsTakenAwayIsPutBack(t *testing.T) {
	const identity = meta.AnnotationKeyBackendIdentity
	o := &objectState{}
	for i, step := range []struct {
		reason   string
		stored   string
		restored bool
		want     string
	}{
		{"nothing is known", "", false, ""},
		{"the object says so", "blue", false, "blue"},
		{"and still does", "blue", false, "blue"},
		{"it was taken away", "", true, "blue"},
		{"a user has allowed another", "green", false, "green"},
		{"that was taken away", "", true, "green"},
	} {
		marks := map[string]string{}
		if step.stored != "" {
			marks[identity] = step.stored
		}
		p := passOf(bearing(marks), o)
		if got := p.restoreIdentity(); got != step.restored || p.mg.GetAnnotations()[identity] != step.want {
			t.Errorf("step %d: %s: restored is %t, and the object says %v", i, step.reason, got, p.mg.GetAnnotations())
		}
	}
	known := o.Backend
	if passOf(bearing(map[string]string{identity: "green"}), o).keepIdentity(); o.Backend != known {
		t.Error("what is known is remembered anew")
	}
}

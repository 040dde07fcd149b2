package managed

import (
	"strings"
	"testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestWhatMayBeLeftInTheFormerSystem verifies that a resource that was never observed in the former system is
// reported once, by its attempt and name, and that the change of the system is stored at once.
func TestWhatMayBeLeftInTheFormerSystem(t *testing.T) {
	const name, attempt, pending, succeeded = meta.AnnotationKeyExternalName, meta.AnnotationKeyCreateAttempt,
		meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded
	made := map[string]string{attempt: ownDone, name: "vol-1"}
	seen := objectstate.State{Resource: objectstate.Resource{Seen: objectstate.CreationRef{Mark: ownDone,
		Name: "vol-1"}}}
	byName := func(p *pass) { p.r.named = true }
	cases := map[string]struct {
		reason   string
		marks    map[string]string
		memory   objectstate.State
		change   func(*pass)
		reported string // in brackets; "": nothing
	}{
		"Nothing": {"nothing was created", map[string]string{name: "vol-1"}, objectstate.State{}, nil, ""},
		"Failed": {"the attempt came to nothing", map[string]string{attempt: ownID + "/failed"},
			objectstate.State{}, nil, ""},
		"Made": {"it was never found", made, objectstate.State{}, nil,
			"the attempt to create it was " + ownID + `, its external name is "vol-1"`},
		"Seen": {"it was found", made, seen, nil, ""},
		"Unknown": {"the result of the attempt is not known", map[string]string{attempt: ownID, pending: early},
			objectstate.State{}, nil, "the attempt to create it was " + ownID},
		"Theirs": {"another runtime records times alone", map[string]string{succeeded: early, name: "vol-1"},
			objectstate.State{}, nil, `the attempt to create it has no id, its external name is "vol-1"`},
		"Named": {"a name of our choice has no record", map[string]string{name: "data"}, objectstate.State{},
			byName, `the attempt to create it has no id, its external name is "data"`},
		"NamedAnd": {"it was found under that", map[string]string{name: "data"},
			objectstate.State{Resource: objectstate.Resource{Seen: objectstate.CreationRef{Name: "data"}}}, byName, ""},
		"Ready": {"an earlier process has found it", map[string]string{name: "data"}, objectstate.State{},
			func(p *pass) {
				byName(p)
				p.read.SetConditions(commonv1.Available())
			}, ""},
		"Unheld": {"nothing is created for what is not kept", map[string]string{name: "data"}, objectstate.State{},
			func(p *pass) {
				byName(p)
				p.mg.SetFinalizers(nil)
			}, ""},
	}
	for id, tc := range cases {
		mg := bearing(tc.marks)
		mg.SetFinalizers([]string{FinalizerName})
		p := passOf(mg, remembering(tc.memory))
		p.read = clone(mg)
		if tc.change != nil {
			tc.change(p)
		}
		p.warnLeftInBackend("blue")
		if got := len(p.events) > 0; got != (tc.reported != "") || len(p.events) > 1 || p.restored != got {
			t.Errorf("%s: %s: told %+v, to be stored is %t", id, tc.reason, p.events, p.restored)
		}
		first := p.events
		p.state.LastWarnings = map[string]string{}
		for _, e := range first {
			p.state.LastWarnings[string(e.Reason)] = e.Message
		}
		if p.warnLeftInBackend("blue"); len(p.events) != len(first) {
			t.Errorf("%s: told again: %+v", id, p.events)
		}
		for _, e := range first {
			if e.Reason != "ExternalResourceLeft" || !strings.Contains(e.Message, `"blue"`) ||
				!strings.Contains(e.Message, "("+tc.reported+")") {
				t.Errorf("%s: %s: told %+v", id, tc.reason, e)
			}
		}
	}
}

// TestAnAllowedSystemLeavesTheFormer verifies that an allowed backend change is stored, and reports what may be
// left in the former system.
func TestAnAllowedSystemLeavesTheFormer(t *testing.T) {
	p := passOf(bearing(map[string]string{
		meta.AnnotationKeyBackendIdentity: "blue", meta.AnnotationKeyAllowBackendChange: "green",
		meta.AnnotationKeyCreateAttempt: ownDone,
	}), &objectState{})
	p.backend, p.system = &namedSystem{name: "green"}, "green"
	if err := p.checkBackend(); err != nil || len(p.events) != 1 ||
		!strings.Contains(p.events[0].Message, `may be left over in "blue"`) {
		t.Errorf("it ended with %v, told %+v", err, p.events)
	}
	if err := p.checkBackend(); err != nil || len(p.events) != 1 ||
		p.mg.GetAnnotations()[meta.AnnotationKeyBackendIdentity] != "green" {
		t.Errorf("it ended with %v, told %+v, marked %v", err, p.events, p.mg.GetAnnotations())
	}
}

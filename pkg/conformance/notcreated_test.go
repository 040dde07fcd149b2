package conformance

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A settlingProbe is the probe of a system that settles what was interrupted only after a while.
type settlingProbe struct {
	lineProbe

	undoes bool // it removes what was made; otherwise it makes it only then

	interrupted bool
	known       map[string]bool // what existed before
	settled     time.Time
}

// settling is how long the system works after an interruption.
const settling = 50 * time.Millisecond

// Interrupt interrupts calls as the proxy does.
func (p *settlingProbe) Interrupt(ctx context.Context, i Interruption) (func(context.Context) error, error) {
	end, err := p.lineProbe.Interrupt(ctx, i)
	p.interrupted = true

	return func(ctx context.Context) error {
		p.interrupted, p.settled = false, time.Now().Add(settling)

		return end(ctx)
	}, err
}

// List lists what the system has.
func (p *settlingProbe) List(ctx context.Context) ([]Resource, error) {
	all, err := p.lineProbe.List(ctx)
	unsettled := p.interrupted || time.Now().Before(p.settled)
	if !unsettled && p.settled.IsZero() || err != nil {
		p.know(all)

		return all, err
	}
	var out []Resource
	for _, r := range all {
		switch {
		case p.known[r.ID] || p.undoes == unsettled:
			out = append(out, r)
		case p.undoes:
			_ = p.Remove(ctx, r.ID)
		}
	}
	if !unsettled {
		p.settled = time.Time{}
		p.know(out)
	}

	return out, nil
}

func (p *settlingProbe) know(all []Resource) {
	p.known = map[string]bool{}
	for _, r := range all {
		p.known[r.ID] = true
	}
}

// TestSettledCreate: what an interrupted Create says is compared with what the external system has once it has settled.
func TestSettledCreate(t *testing.T) {
	cases := map[string]struct {
		reason     string
		notCreated bool // a broken connection in Create is taken for "nothing was created"
		undoes     bool
		found      bool // "refusal-is-true"
	}{
		"LateAndDenied": {"the system finishes what it was asked for, and the client says that nothing was made", true,
			false, true},
		"LateAndUnknown": {"the client says that it does not know", false, false, false},
		"Undone":         {"the system removes what the call has made, and the client says so", true, true, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := lineSuite(t, func(l *lineClient) { l.notCreated = c.notCreated })
			s.Within, s.Samples = time.Nanosecond, s.Samples[:1]
			probe := s.Probe.(lineProbe) // of lineSuite
			s.Probe = &settlingProbe{lineProbe: probe, undoes: c.undoes}
			found := false
			for _, f := range examine(t, s).findings.list {
				if found = f.property == "refusal-is-true"; !found || !c.found {
					t.Errorf("%s: %s", c.reason, f)
				}
				if found && !strings.Contains(f.text, "while the ") {
					t.Errorf("%s: the finding does not say when: %s", c.reason, f)
				}
			}
			if found != c.found {
				t.Errorf("%s: found %t, want %t", c.reason, found, c.found)
			}
		})
	}
}

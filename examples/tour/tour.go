// Package tour is the form that all demos have: each step says what it claims, prints
// the evidence that it has seen, and how long that took. Begin with [Tour].
//
// A state that is not reached is an error, which says what was wanted and what was seen.
// A time that is exceeded is a warning with the load of the machine beside it: how fast
// things are depends on what else runs there. A step that has no evidence to show is an
// error, too, so that nothing is claimed that was not looked at.
package tour

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// A Tour is the steps of one demo. Out and Steps are required. A Tour is used by one
// goroutine.
type Tour struct {
	// Out is where the tour is told.
	Out io.Writer

	// Steps are shown in this order.
	Steps []Step

	// Patience returns how long Report.Until waits for what is wanted. Default: one
	// minute, for everything.
	Patience func(want string) time.Duration

	// Before is called before each step with its index. It is for tests, which see to it
	// that a step does not hold. Default: nothing is called.
	Before func(index int)

	// Load returns the load of the machine, which is printed beside a missed time bound.
	// Default: the function Load.
	Load func() string
}

// A Step is something that a demo shows.
type Step struct {
	// Name is what errors call the step, beside its number. It may be empty.
	Name string

	// Claim is what the step shows, in a sentence.
	Claim string

	// Within is how long the step takes at most on a machine that does nothing else. A
	// step that takes longer holds, with a warning. Zero is no bound.
	Within time.Duration

	// Show does what a user or somebody else would do, waits until the claim is true, and
	// reports what it has seen. An error says that the step does not hold.
	Show func(ctx context.Context, r *Report) error
}

// errNoEvidence is what a step ends with that shows nothing.
var errNoEvidence = errors.New("the step has no evidence to show")

// Run shows the steps until one does not hold, and returns an error that says which one
// and why. If ctx ends first, it returns the error of ctx.
func (t *Tour) Run(ctx context.Context) error {
	begin, warnings := time.Now(), 0
	for i, s := range t.Steps {
		if t.Before != nil {
			t.Before(i)
		}
		fmt.Fprintf(t.Out, "\n%2d/%d  %s\n", i+1, len(t.Steps), s.Claim)
		r := &Report{tour: t}
		err := r.take(ctx, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.print("DID NOT HOLD: %v", err)

			return fmt.Errorf("step %d%s did not hold: %w", i+1, inBrackets(s.Name), err)
		}
		warnings += r.warnings
	}
	fmt.Fprintf(t.Out, "\nAll %d steps held, in %s.%s\n", len(t.Steps), seconds(time.Since(begin)), late(warnings))

	return nil
}

// take shows one step, and tells how long it took.
func (r *Report) take(ctx context.Context, s Step) error {
	begin := time.Now()
	if err := s.Show(ctx, r); err != nil {
		return err
	}
	if r.evidence == 0 {
		return errNoEvidence
	}
	r.bound("It took", time.Since(begin), s.Within)

	return nil
}

func (t *Tour) patience(want string) time.Duration {
	if t.Patience == nil {
		return time.Minute
	}

	return t.Patience(want)
}

func (t *Tour) load() string {
	if t.Load == nil {
		return Load()
	}

	return t.Load()
}

func inBrackets(name string) string {
	if name == "" {
		return ""
	}

	return " (" + name + ")"
}

func late(warnings int) string {
	switch warnings {
	case 0:
		return ""
	case 1:
		return " One time bound was exceeded: see the warning above."
	default:
		return fmt.Sprintf(" %d time bounds were exceeded: see the warnings above.", warnings)
	}
}

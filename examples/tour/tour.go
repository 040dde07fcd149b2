// Package tour is the common form of the demos: each step prints its claim, the evidence that it has observed, and its
// duration. Begin with [Tour].
//
// A state that is not reached is an error, which has the wanted and the observed state. An exceeded duration is only a
// warning, printed with the load of the machine, because it depends on what else the machine does. A step without
// evidence is an error, so that no claim is unchecked.
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
	// Out receives the output of the tour.
	Out io.Writer

	// Steps are shown in this order.
	Steps []Step

	// Patience returns how long Report.Until waits for a wanted state. Default: one minute for each.
	Patience func(want string) time.Duration

	// Before is called before each step with its index. It is for tests that make a step fail. Default: nothing is
	// called.
	Before func(index int)

	// Load returns the load of the machine, which is printed with an exceeded time bound. Default: the function Load.
	Load func() string
}

// A Step is one claim of a demo.
type Step struct {
	// Name is printed in errors, after the number of the step. It may be empty.
	Name string

	// Claim is a sentence that states what the step shows.
	Claim string

	// Within is the time bound of the step on an idle machine. A step that takes longer holds, with a warning. Zero is no
	// bound.
	Within time.Duration

	// Show does what a user, an administrator or a failure would do, waits until the claim is true, and reports the
	// evidence. An error means that the step does not hold.
	Show func(ctx context.Context, r *Report) error
}

// errNoEvidence is the error of a step that reports no evidence.
var errNoEvidence = errors.New("the step has no evidence to show")

// Run shows the steps until one does not hold, and returns an error with its number and the reason. If ctx ends first,
// it returns the error of ctx.
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

// take shows one step, and prints its duration.
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

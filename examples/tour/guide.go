package tour

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Errors of a demo that ends before a person ends it.
var (
	errStopped = errors.New("stopped before the tour was over")
	errEnded   = errors.New("what was started ended by itself")
)

// A Guide runs a tour and stays after it. Tour and Commands are required.
type Guide struct {
	Tour *Tour

	// Once ends the demo after the tour. It is for scripts: that ctx ends before is an
	// error then. Default: false.
	Once bool

	// Commands are what a person types to look around, a line each. They are asked for
	// when the tour is over.
	Commands func() []string

	// Ended is closed if what was started ends by itself, which is an error. It is asked
	// for when the tour is over. Default: nothing is noticed.
	Ended func() <-chan struct{}
}

// Run runs the tour. Unless it is once only, it then says how to look around and how to
// end it, and waits until ctx ends. That a person ends it is no error.
func (g *Guide) Run(ctx context.Context) error {
	out, err := g.Tour.Out, g.Tour.Run(ctx)
	switch {
	case ctx.Err() != nil && g.Once:
		return errStopped
	case ctx.Err() != nil:
		stopping(out)

		return nil
	case err != nil:
		return err
	case g.Once:
		fmt.Fprintln(out, "It ends here (ONCE=1), and removes what it has started. Without ONCE=1 it stays up and says how to look around.")

		return nil
	}
	fmt.Fprint(out, LookAround(g.Commands()))
	var ended <-chan struct{}
	if g.Ended != nil {
		ended = g.Ended()
	}
	select {
	case <-ctx.Done():
		stopping(out)

		return nil
	case <-ended:
		return errEnded
	}
}

// LookAround returns what a person is told who may look around: the commands, and how it
// ends.
func LookAround(commands []string) string {
	return "\nAll of it stays up. To look around, in another terminal:\n\n  " + strings.Join(commands, "\n  ") +
		"\n\nCtrl-C ends it, stops all that was started, and removes its data.\n\n"
}

func stopping(out io.Writer) { fmt.Fprintln(out, "Stopping.") }

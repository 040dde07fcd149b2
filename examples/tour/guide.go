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

// A Guide starts what a tour shows, runs the tour, and stays after it. Out, Start and
// Commands are required.
type Guide struct {
	// Out is where a person is told how to go on.
	Out io.Writer

	// Start starts what the tour shows, and returns the tour. What is started is stopped by
	// the caller of Run, also if Start fails.
	Start func(ctx context.Context) (*Tour, error)

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

// Run starts, and runs the tour. Unless it is once only, it then says how to look around and
// how to end it, and waits until ctx ends. That a person ends it is no error, whenever that
// is.
func (g *Guide) Run(ctx context.Context) error {
	err := g.show(ctx)
	switch {
	case ctx.Err() != nil:
		return g.stopped()
	case err != nil:
		return err
	case g.Once:
		fmt.Fprintln(g.Out, "It ends here (ONCE=1), and removes what it has started. Without ONCE=1 it stays up and says how to look around.")

		return nil
	}
	fmt.Fprint(g.Out, LookAround(g.Commands()))
	var ended <-chan struct{}
	if g.Ended != nil {
		ended = g.Ended()
	}
	select {
	case <-ctx.Done():
		return g.stopped()
	case <-ended:
	}
	if ctx.Err() != nil { // both at a time: it ended because it was told to
		return g.stopped()
	}

	return errEnded
}

func (g *Guide) show(ctx context.Context) error {
	tour, err := g.Start(ctx)
	if err != nil {
		return err
	}

	return tour.Run(ctx)
}

// stopped says that somebody has ended it.
func (g *Guide) stopped() error {
	if g.Once {
		return errStopped
	}
	fmt.Fprintln(g.Out, "Stopping.")

	return nil
}

// LookAround returns what a person is told who may look around: the commands, and how it
// ends.
func LookAround(commands []string) string {
	return "\nAll of it stays up. To look around, in another terminal:\n\n  " + strings.Join(commands, "\n  ") +
		"\n\nCtrl-C ends it, stops all that was started, and removes its data.\n\n"
}

package tour

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Errors of a demo that ends before the user ends it.
var (
	errStopped = errors.New("stopped before the tour was over")
	errEnded   = errors.New("what was started ended by itself")
)

// A Guide starts what a tour shows, runs the tour, and stays after it. Out, Start and
// Commands are required.
type Guide struct {
	// Out receives the instructions for the user.
	Out io.Writer

	// Start starts the demo's servers and processes, and returns the tour. The caller of Run stops them, also if Start
	// fails.
	Start func(ctx context.Context) (*Tour, error)

	// Once ends the demo after the tour. It is for scripts: Run then fails if ctx ends first. Default: false.
	Once bool

	// Commands returns the commands with which the user can look around, one per line. It is called after the tour.
	Commands func() []string

	// Ended returns a channel that is closed if the demo's servers or processes end by themselves, which is an error. It
	// is called after the tour. Default: such an end is not detected.
	Ended func() <-chan struct{}
}

// Run calls Start, and runs the tour. Unless Once is set, it then prints how to look around and how to end the demo,
// and waits until ctx ends. That ctx ends, at any time, is no error unless Once is set.
func (g *Guide) Run(ctx context.Context) error {
	err := g.show(ctx)
	switch {
	case ctx.Err() != nil:
		return g.stopped()
	case err != nil:
		return err
	case g.Once:
		fmt.Fprintln(g.Out, "It ends here (ONCE=1), and removes what it has started. Without ONCE=1 it stays up and says "+
			"how to look around.")

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
	if ctx.Err() != nil { // both at the same time: Ctrl-C ended the processes too
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

// stopped returns the result of a demo that ctx has ended.
func (g *Guide) stopped() error {
	if g.Once {
		return errStopped
	}
	fmt.Fprintln(g.Out, "Stopping.")

	return nil
}

// LookAround returns the instructions for the user after the tour: the commands, and how to end the demo.
func LookAround(commands []string) string {
	return "\nAll of it stays up. To look around, in another terminal:\n\n  " + strings.Join(commands, "\n  ") +
		"\n\nCtrl-C ends it, stops all that was started, and removes its data.\n\n"
}

// Package app is the command line of the provider. Start with [Main].
package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
)

// A command is a command of the program. It has either run or main.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, args []string, out io.Writer) error
	main    func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

func commands() []command {
	return []command{
		{name: "run", summary: "run the provider against a cluster", run: run},
		{name: "plan", summary: "show what the provider would change in NATS, without a change", main: showPlan},
		{
			name: "dev", summary: "start an API server, NATS and the provider on this machine, for development", run: dev,
		},
	}
}

// Main runs the command of the arguments, until it is done or ctx ends, and returns the exit code: 0 for
// success, 1 for failure and 2 for invalid arguments. The command plan has exit codes of its own, see plan.Run.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)

		return 2
	}

	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}

		if c.main != nil {
			return c.main(ctx, args[1:], stdout, stderr)
		}

		return exitCode(c.run(ctx, args[1:], stdout), stderr)
	}

	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(stdout)

		return 0
	}

	fmt.Fprintf(stderr, "provider-nats: there is no command %q\n\n", args[0])
	usage(stderr)

	return 2
}

func usage(w io.Writer) {
	fmt.Fprint(w,
		"provider-nats manages streams, consumers, key-value buckets and object stores of NATS JetStream.\n\nCommands:\n")

	for _, c := range commands() {
		fmt.Fprintf(w, "  provider-nats %-4s  %s\n", c.name, c.summary)
	}

	fmt.Fprint(w, "\nprovider-nats COMMAND --help lists the flags of a command.\n")
}

// errUsage marks invalid arguments. The message is complete without it.
var errUsage = errors.New("wrong usage")

func exitCode(err error, stderr io.Writer) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "provider-nats: %v\n", err)

		return 2
	default:
		fmt.Fprintf(stderr, "provider-nats: %v\n", err)

		return 1
	}
}

// parse reads flags and refuses everything else.
func parse(flags *flag.FlagSet, args []string, out io.Writer) error {
	flags.SetOutput(out)

	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}

		return fmt.Errorf("%w: %w", errUsage, err)
	}

	if flags.NArg() > 0 {
		return fmt.Errorf("%w: unexpected argument %q", errUsage, flags.Arg(0))
	}

	return nil
}

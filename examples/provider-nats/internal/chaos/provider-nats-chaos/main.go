// Command provider-nats-chaos injects faults around a provider-nats while simulated users work with it, and
// fails unless NATS contains exactly what the objects ask for.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/chaos"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/child"
)

// serve is the argument by which this program is a server of NATS.
const serve = "nats"

func main() {
	ctrl.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])

	stop()

	if err != nil {
		fmt.Fprintf(os.Stderr, "provider-nats-chaos: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == serve {
		return chaos.ServeNATS(ctx, args[1:], os.Stdin, os.Stdout)
	}

	o, keep, err := options(args)
	if err != nil {
		return err
	}

	if o.Dir, err = os.MkdirTemp("", "provider-nats-chaos-"); err != nil {
		return err
	}

	res, err := chaos.Run(ctx, o)
	if err != nil {
		return fmt.Errorf("%w (the logs are in %s)", err, o.Dir)
	}

	res.Print(o.Out)

	if !res.Held() {
		return fmt.Errorf("something did not hold; run it again with --seed %d (the logs are in %s)", o.Seed, o.Dir)
	}

	if keep {
		return nil
	}

	return os.RemoveAll(o.Dir)
}

func options(args []string) (o chaos.Options, keep bool, err error) {
	o = chaos.DefaultOptions()
	o.Out = os.Stdout

	flags := flag.NewFlagSet("provider-nats-chaos", flag.ExitOnError)
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "determines the schedule, as far as the run controls it")
	flags.IntVar(&o.Rounds, "rounds", o.Rounds, "how many rounds to make")
	flags.IntVar(&o.Objects, "objects", o.Objects, "how many objects to use")
	flags.DurationVar(&o.Window, "window", o.Window, "how long the faults of a round last")
	flags.DurationVar(&o.Settle, "settle", o.Settle, "how long everything may take to settle after them")
	flags.DurationVar(&o.Limit, "limit", o.Limit, "how long the whole run may take; the default depends on the rounds")
	flags.BoolVar(&o.Unclaimed, "unclaimed", o.Unclaimed,
		"create objects with a finalizer, as the provider's package does")
	flags.BoolVar(&keep, "keep", false, "keep the logs, even if everything held")
	provider := flags.String("provider", "", "the program of the provider")

	_ = flags.Parse(args) // it exits if it cannot

	if *provider == "" || flags.NArg() > 0 {
		return o, keep, fmt.Errorf("name the provider by --provider, and nothing else")
	}

	self, err := child.Self()
	o.Provider, o.NATS = []string{*provider}, []string{self, serve}

	return o, keep, err
}

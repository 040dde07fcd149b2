package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/tour"
	demo "github.com/moorage-dev/moorage/examples/tour"
)

func dev(ctx context.Context, args []string, out io.Writer) error {
	flags, o := flag.NewFlagSet("provider-nats dev", flag.ContinueOnError), provider.DefaultOptions()
	o.HealthAddress, o.MetricsAddress, o.StatusAddress = "0", "0", "127.0.0.1:0"
	debug := tuning(flags, &o)
	dir := flags.String("dir", "", "folder that keeps all data for the next time; empty means none")
	port := flags.Int("nats-port", 0, "port of NATS on 127.0.0.1; 0 means any that is free")
	guided := flags.Bool("tour", false,
		"show what the provider does, step by step; it polls each stream every two seconds then")
	plugin := flags.String("kubectl-moorage", "", "program of kubectl moorage, with which the tour shows what happened; "+
		"empty means that it is not run")
	once := flags.Bool("once", false, "end after the tour; the exit code is 0 only if every step held")

	if err := parse(flags, args, out); err != nil {
		return err
	}

	if err := check(o); err != nil {
		return err
	}

	switch {
	case *once && !*guided:
		return fmt.Errorf("%w: --once goes with --tour", errUsage)
	case *guided && *dir != "":
		return fmt.Errorf("%w: --tour does not go with --dir: it begins without data", errUsage)
	case *port < 0 || *port > math.MaxUint16:
		return fmt.Errorf("%w: --nats-port must be a port, from 0 to %d", errUsage, math.MaxUint16)
	}

	o.Logger = logTo(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level(*debug)}))
	where := devenv.Options{Dir: *dir, NATSPort: *port, Progress: out}

	if *guided {
		return guide(ctx, where, tour.Options{Out: out, Plugin: *plugin}, *once)
	}

	return develop(ctx, where, o, out)
}

// start starts everything but the provider.
func start(ctx context.Context, where devenv.Options, out io.Writer) (*devenv.Env, error) {
	fmt.Fprintln(out, "Starting an API server and NATS.")

	begin := time.Now()

	env, err := devenv.Start(ctx, where)
	if err != nil {
		return nil, err
	}

	fmt.Fprintf(out, "Both run after %.1f s.\n", time.Since(begin).Seconds())

	return env, nil
}

// guide runs the tour, and stays until ctx ends unless once is set.
func guide(ctx context.Context, where devenv.Options, o tour.Options, once bool) error {
	out := o.Out
	env, t := &devenv.Env{}, &tour.Tour{}
	g := &demo.Guide{
		Out: out, Once: once,
		Start: func(ctx context.Context) (*demo.Tour, error) {
			started, err := start(ctx, where, out)
			if err != nil {
				return nil, err
			}

			env = started

			walk, err := tour.New(ctx, env, o)
			if err != nil {
				return nil, err
			}

			t = walk

			return t.Guided(), nil
		},
		Commands: func() []string { return append(commandsFor(env, o.Plugin), t.StatusPage()...) },
		Ended:    func() <-chan struct{} { return t.Provider() },
	}
	err := g.Run(ctx)

	t.Close()

	return errors.Join(err, env.Stop())
}

// stopped reports that a person has interrupted it, which is no failure.
func stopped(out io.Writer) error {
	fmt.Fprintln(out, "Stopping.")

	return nil
}

// develop runs the provider until ctx ends, or the provider does.
func develop(ctx context.Context, where devenv.Options, o provider.Options, out io.Writer) (err error) {
	env, err := start(ctx, where, out)
	if err == nil {
		defer func() { err = errors.Join(err, env.Stop()) }()
	}

	var p *devenv.Provider
	if err == nil {
		p, err = env.RunProvider(ctx, o)
	}

	switch {
	case err != nil && ctx.Err() != nil:
		return stopped(out)
	case err != nil:
		return err
	}

	fmt.Fprint(out, instructions(env))

	select {
	case <-ctx.Done():
		_ = stopped(out)
	case <-p.Done():
	}

	if err := p.Stop(); ctx.Err() == nil || !errors.Is(err, context.Canceled) { // it may be interrupted while it starts
		return err
	}

	return nil
}

// instructions returns the commands that a person can type now.
func instructions(env *devenv.Env) string {
	return "\nThe provider runs. In another terminal:\n\n  " +
		strings.Join(commandsFor(env, ""), "\n  ") + "\n\nPress Ctrl-C to end it.\n\n"
}

// installation is the command that installs kubectl moorage.
const installation = "go install github.com/moorage-dev/moorage/cmd/kubectl-moorage@latest"

// commandsFor returns commands that show the state of the environment. Those of kubectl moorage need its program.
func commandsFor(env *devenv.Env, plugin string) []string {
	examples, err := filepath.Abs("examples")
	if err != nil {
		examples = "examples"
	}

	ask := []string{
		"# kubectl moorage drift, why and history show what differs, why, and what happened. To install it: " + installation,
	}
	if plugin != "" {
		ask = []string{
			"export PATH=$PATH:" + filepath.Dir(plugin), "kubectl moorage wait stream/orders",
			"kubectl moorage why stream/orders", "kubectl moorage history stream/orders", "kubectl moorage drift",
		}
	}

	return append([]string{
		"export KUBECONFIG=" + env.Cluster.Kubeconfig,
		fmt.Sprintf("kubectl apply -f %[1]s/stream.yaml -f %[1]s/consumer.yaml", examples),
		"kubectl get managed",
		"kubectl get stream orders -o yaml",
		"nats --server " + env.NATS.URL() + " stream ls --all",
	}, ask...)
}

package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
)

func dev(ctx context.Context, args []string, out io.Writer) error {
	flags, o := flag.NewFlagSet("provider-nats dev", flag.ContinueOnError), provider.DefaultOptions()
	o.HealthAddress, o.MetricsAddress = "0", "0"
	debug := tuning(flags, &o)
	dir := flags.String("dir", "", "folder that keeps all data for the next time; empty means none")
	port := flags.Int("nats-port", 0, "port of NATS on 127.0.0.1; 0 means any that is free")

	if err := parse(flags, args, out); err != nil {
		return err
	}

	if err := check(o); err != nil {
		return err
	}

	o.Logger = logTo(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level(*debug)}))

	return develop(ctx, devenv.Options{Dir: *dir, NATSPort: *port, Progress: out}, o, out)
}

// develop runs everything until ctx ends, or the provider does.
func develop(ctx context.Context, where devenv.Options, o provider.Options, out io.Writer) (err error) {
	fmt.Fprintln(out, "Starting an API server and NATS. The first time, the API server is compiled; that takes some minutes.")

	env, err := devenv.Start(ctx, where)
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, env.Stop()) }()

	p, err := env.RunProvider(ctx, o)
	if err != nil {
		return err
	}

	fmt.Fprint(out, instructions(env))

	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "Stopping.")
	case <-p.Done():
	}

	return p.Stop()
}

// instructions say what a person can do now.
func instructions(env *devenv.Env) string {
	examples, err := filepath.Abs("examples")
	if err != nil {
		examples = "examples"
	}

	return fmt.Sprintf(`
The provider runs. In another terminal:

  export KUBECONFIG=%s
  kubectl apply -f %s/stream.yaml -f %s/keyvalue.yaml
  kubectl get managed
  kubectl get stream orders -o yaml
  nats --server %s stream ls --all

Press Ctrl-C to end it.

`, env.Cluster.Kubeconfig, examples, examples, env.NATS.URL())
}

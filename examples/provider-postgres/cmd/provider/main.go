// Command provider runs provider-postgres against a cluster. "provider plan" shows what it would change, and changes
// nothing.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/pkg/plan"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/provider"
)

func main() {
	o := provider.DefaultOptions()
	debug := flag.Bool("debug", false, "also log debug messages")

	addFlags(flag.CommandLine, &o)
	flag.Usage = usage
	flag.Parse() // --kubeconfig is a flag of controller-runtime

	if flag.NArg() > 0 {
		os.Exit(command(o, flag.Args()))
	}

	if err := o.Election.Check(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", provider.Name, err)
		os.Exit(2)
	}

	o.Logger = logger(*debug)

	if err := run(o); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", provider.Name, err)
		os.Exit(1)
	}
}

// usage prints the commands and the flags.
func usage() {
	fmt.Fprintf(flag.CommandLine.Output(), `Usage of %[1]s:
  %[1]s [flags]
        runs the provider
  %[1]s [flags] plan [flags of plan]
        shows what the provider would change, and changes nothing; "plan --help" lists its flags

Flags:
`, provider.Name)
	flag.PrintDefaults()
}

// command runs a command of the command line, and returns the exit code. A misspelled command does not run the
// provider.
func command(o provider.Options, args []string) int {
	if args[0] != "plan" {
		fmt.Fprintf(os.Stderr, "%s: there is no command %q: the only one is plan, and flags begin with a hyphen\n",
			provider.Name, args[0])

		return 2
	}

	return showPlan(o, args[1:])
}

// showPlan shows what a provider with these options would change, and returns the exit code.
func showPlan(o provider.Options, args []string) int {
	o.Logger = logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	ctrl.SetLogger(o.Logger)
	klog.SetLogger(o.Logger)

	p, err := provider.Plan(o, func(kubeconfig string) (*rest.Config, error) {
		if kubeconfig == "" {
			return ctrl.GetConfig()
		}

		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", provider.Name, err)

		return plan.ExitFailed
	}

	return plan.Run(ctrl.SetupSignalHandler(), args, os.Stdout, os.Stderr, p)
}

func addFlags(flags *flag.FlagSet, o *provider.Options) {
	flags.DurationVar(&o.PollInterval, "poll", o.PollInterval, "how often each resource is compared with its object")
	flags.DurationVar(&o.PollJitter, "poll-jitter", o.PollJitter, "by how much --poll varies; 0 means a tenth of it")
	flags.DurationVar(&o.SyncInterval, "sync", o.SyncInterval, "how often all objects are reconciled anew")
	flags.DurationVar(&o.RestoreProbe, "restore-probe", o.RestoreProbe,
		"without leader election, how often to read the version of the API server, to end when it was "+
			"restored to an earlier state; 0 means never")
	flags.DurationVar(&o.Timeout, "timeout", o.Timeout, "how long one pass may take in the external system")
	flags.IntVar(&o.MaxReconcileRate, "max-reconcile-rate", o.MaxReconcileRate,
		"how many passes may begin in a second, and run at a time")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", o.HealthAddress,
		"where to serve /healthz and /readyz; 0 means nowhere")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress,
		"where to serve /metrics; 0 means nowhere")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure,
		"serve /metrics by TLS, with a certificate that is created at each start, and only to users that the "+
			"API server permits to get it")
	flags.StringVar(&o.Namespace, "namespace", o.Namespace,
		"reconcile only objects of this namespace, or of several, separated by commas; empty means all")
	flags.StringVar(&o.ProfilingAddress, "pprof-bind-address", o.ProfilingAddress,
		"where to serve /debug/pprof; 0 means nowhere")
	o.Connect.AddFlags(flags)
	o.Election.AddFlags(flags)
}

// logger returns a logger that writes JSON, and sets it as the logger of the Kubernetes
// libraries. The level V(1) of logr is the level -1 of slog.
func logger(debug bool) logr.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.Level(-1)
	}

	log := logr.FromSlogHandler(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: level}))
	ctrl.SetLogger(log)
	klog.SetLogger(log)

	return log
}

func run(o provider.Options) error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find a cluster, set --kubeconfig: %w", err)
	}

	return provider.Run(ctrl.SetupSignalHandler(), cfg, o)
}

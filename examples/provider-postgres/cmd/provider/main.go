// Command provider runs provider-postgres against a cluster. "provider plan" shows what it would change, without a
// change.
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
	if len(os.Args) > 1 && os.Args[1] == "plan" {
		os.Exit(showPlan(o, os.Args[2:]))
	}

	debug := flag.Bool("debug", false, "also log debug messages")

	addFlags(flag.CommandLine, &o)
	flag.Parse() // --kubeconfig is a flag of controller-runtime

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

// showPlan shows what the provider would change, and returns the exit code.
func showPlan(o provider.Options, args []string) int {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))

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

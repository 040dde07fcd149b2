package app

import (
	"context"
	stderrors "errors"
	"flag"
	"io"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/statuspage"
)

// tuning adds the flags that both commands have.
func tuning(flags *flag.FlagSet, o *provider.Options) (debug *bool) {
	flags.DurationVar(&o.PollInterval, "poll", o.PollInterval, "how often each stream is compared with its object")
	flags.DurationVar(&o.PollJitter, "poll-jitter", o.PollJitter, "by how much --poll varies; 0 means a tenth")
	flags.DurationVar(&o.PollWhenNotified, "poll-when-notified", o.PollWhenNotified,
		"how often while JetStream notifies of changes; streams share lists then; 0 means that each is observed separately")
	flags.BoolVar(&o.WatchSecrets, "watch-secrets", o.WatchSecrets,
		"watch the Secrets that connections are made from, each by name; the role has to allow it")
	flags.DurationVar(&o.SyncInterval, "sync", o.SyncInterval, "how often all objects are reconciled anew")
	flags.DurationVar(&o.RestoreProbe, "restore-probe", o.RestoreProbe,
		"without leader election, how often to ask the API server for its version, to end when it was restored to an "+
			"earlier state; 0 means never")
	flags.DurationVar(&o.Timeout, "timeout", o.Timeout, "how long one pass may take in NATS")
	flags.IntVar(&o.MaxReconcileRate, "max-reconcile-rate", o.MaxReconcileRate,
		"how many passes may begin in a second, and run at a time")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", o.HealthAddress,
		"where to serve /healthz and /readyz; 0 means nowhere")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress,
		"where to serve /metrics; 0 means nowhere")

	flags.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure,
		"serve /metrics by TLS, with a certificate that is created at each start, only to users that the API server "+
			"permits to get it")
	flags.StringVar(&o.ProfilingAddress, "pprof-bind-address", o.ProfilingAddress,
		"where to serve /debug/pprof; 0 means nowhere")
	flags.StringVar(&o.StatusAddress, "status-addr", o.StatusAddress,
		"where to serve the status page, such as 127.0.0.1:8082: a loopback address, which kubectl port-forward reaches; "+
			"the log has a link that opens it once; empty means nowhere")
	flags.StringVar(&o.Namespace, "namespace", o.Namespace,
		"reconcile the objects of this namespace only, or of several, separated by commas; empty means all")

	return flags.Bool("debug", false, "log details for debugging, too")
}

func check(o provider.Options) error {
	switch {
	case o.PollInterval <= 0:
		return errors.Errorf("%w: --poll must be more than 0", errUsage)
	case o.PollJitter < 0 || o.PollJitter >= o.PollInterval:
		return errors.Errorf("%w: --poll-jitter must be less than --poll, and not negative", errUsage)
	case o.PollWhenNotified < 0:
		return errors.Errorf("%w: --poll-when-notified must not be negative", errUsage)
	case o.SyncInterval <= 0:
		return errors.Errorf("%w: --sync must be more than 0", errUsage)
	case o.RestoreProbe < 0:
		return errors.Errorf("%w: --restore-probe must not be negative", errUsage)
	case o.Timeout <= 0:
		return errors.Errorf("%w: --timeout must be more than 0", errUsage)
	case o.MaxReconcileRate <= 0:
		return errors.Errorf("%w: --max-reconcile-rate must be more than 0", errUsage)
	}

	if err := statuspage.CheckAddress(o.StatusAddress); err != nil {
		return errors.Errorf("%w: --status-addr: %w", errUsage, err)
	}

	if err := o.Election.Check(); err != nil {
		return errors.Errorf("%w: %w", errUsage, err)
	}

	return nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags, o := flag.NewFlagSet("provider-nats run", flag.ContinueOnError), provider.DefaultOptions()
	debug := tuning(flags, &o)
	kubeconfig := flags.String("kubeconfig", "",
		"path of a kubeconfig; empty means $KUBECONFIG, the pod's own access, or ~/.kube/config")
	o.Election.AddFlags(flags)

	record := flags.String("change-log", "",
		"file to which every change in NATS is written, as lines of JSON; - is standard output, empty means none")
	supervised := flags.Bool("exit-on-stdin-eof", false,
		"stop when standard input ends, as it does when the parent is killed")

	if err := parse(flags, args, out); err != nil {
		return err
	}

	if err := check(o); err != nil {
		return err
	}

	if *supervised {
		ctx = untilEOF(ctx, os.Stdin)
	}

	o.Logger = logTo(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level(*debug)}))

	cfg, err := access(*kubeconfig)
	if err != nil {
		return errors.Wrap(err, "cannot find a cluster: name a kubeconfig by --kubeconfig")
	}

	sink, done, err := changeLog(*record, out)
	if err != nil {
		return err
	}

	o.ChangeLog = sink

	return stderrors.Join(provider.Run(ctx, cfg, o), done())
}

// changeLog returns the sink for changes that the flag names, and a function that closes it.
func changeLog(where string, out io.Writer) (changelog.Sink, func() error, error) {
	switch where {
	case "":
		return nil, func() error { return nil }, nil
	case "-":
		return changelog.NewJSON(out), func() error { return nil }, nil
	}

	file, err := changelog.OpenFile(where)
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot record changes: name another file by --change-log")
	}

	return file, file.Close, nil
}

// untilEOF returns a context that also ends when there is nothing more to read.
func untilEOF(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)

	go func() {
		defer cancel()

		_, _ = io.Copy(io.Discard, r)
	}()

	return ctx
}

func access(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	}

	return ctrl.GetConfig()
}

// level maps --debug to a level of slog. V(1) of logr is -1 there.
func level(debug bool) slog.Level {
	if debug {
		return slog.Level(-1)
	}

	return slog.LevelInfo
}

// logTo returns a logger, and makes the libraries of Kubernetes use it, too.
func logTo(handler slog.Handler) logr.Logger {
	log := logr.FromSlogHandler(handler)
	ctrl.SetLogger(log)
	klog.SetLogger(log)

	return log
}

// Package provider runs the provider: one manager with the controllers of all kinds.
// Begin with [Run].
package provider

import (
	"context"
	stderrors "errors"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	kinds "github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
)

// Name is what the provider calls itself: in its role, its lease and towards the API
// server.
const Name = "provider-nats"

// shutdown is how long what is under way may take to end: a creation goes on for 4 s, its
// result is recorded within 25 s and the status of the pass within 10 s, and sinks have
// 10 s to send what they hold. Then the lease is released, and the process ends: a pod
// needs terminationGracePeriodSeconds that are longer, see deploy.
const shutdown = 50 * time.Second

// Options say how the provider runs. Use DefaultOptions, and change what differs.
type Options struct {
	// PollInterval is how often each resource is compared with its object, and
	// PollJitter by how much that varies. A jitter of zero is a tenth of it.
	PollInterval, PollJitter time.Duration

	// PollWhenTold is how often a stream is compared with its object while JetStream
	// tells what happens to it. In between, all streams of a connection share a
	// list. Zero means that each is looked at by itself, at each PollInterval.
	PollWhenTold time.Duration

	// WatchSecrets lets Secrets that connections are made from be read again when they
	// have changed, and not only once a minute. The role in package does not allow it:
	// the operator has to, for those Secrets.
	WatchSecrets bool

	// Limits hold the calls over each connection to what NATS serves. Nil means those
	// of controller.NewLimits.
	Limits *limit.Set

	// SyncInterval is how often all objects are reconciled anew, whether they are
	// due or not.
	SyncInterval time.Duration

	// Timeout bounds what one pass may take in the external system.
	Timeout time.Duration

	// MaxReconcileRate is how many passes may begin in a second, and how many may
	// run at a time for each kind.
	MaxReconcileRate int

	// Election says how several replicas wait for one that works.
	Election Election

	// RestoreProbe is how often a provider without an election asks the API server for
	// its version, so that it ends when that was restored to an earlier state. One with an
	// election sees it with each renewal. Zero, the default, means never: without it a
	// provider in steady state sends no request.
	RestoreProbe time.Duration

	// Namespace is the one whose objects are looked at, or several, separated by commas.
	// Empty means all.
	Namespace string

	// HealthAddress serves /healthz and /readyz, MetricsAddress /metrics and
	// ProfilingAddress /debug/pprof. "0" switches one off.
	HealthAddress, MetricsAddress, ProfilingAddress string

	// MetricsSecure serves metrics by TLS, with a certificate made for the occasion, and
	// to those alone whom the API server lets get /metrics, see GuardMetrics.
	MetricsSecure bool

	// ChangeLog is told of every change that the provider makes in NATS. Nil
	// tells nobody. It neither delays nor fails a pass.
	ChangeLog changelog.Sink

	// Logger is where the provider logs. The zero value discards.
	Logger logr.Logger
}

// DefaultOptions returns the options of a provider in production.
func DefaultOptions() Options {
	return Options{
		PollInterval:     time.Minute,
		PollWhenTold:     10 * time.Minute,
		SyncInterval:     time.Hour,
		Timeout:          time.Minute,
		MaxReconcileRate: 10,
		Election:         DefaultElection(),
		HealthAddress:    ":8081",
		MetricsAddress:   ":8080",
		MetricsSecure:    true,
		ProfilingAddress: "0",
		Logger:           logr.Discard(),
	}
}

// Run runs the provider against a cluster until ctx ends, which is no error. The kinds
// must be installed. It may be called again in the same process.
func Run(ctx context.Context, cfg *rest.Config, o Options, ro ...managed.ReconcilerOption) error {
	if o.Limits == nil {
		o.Limits = kinds.NewLimits()
	}

	scheme := runtime.NewScheme()

	all := runtime.NewSchemeBuilder(corev1.AddToScheme, v1alpha1.AddToScheme)
	if err := all.AddToScheme(scheme); err != nil {
		return errors.Wrap(err, "cannot register the kinds")
	}

	cfg = ratelimiter.LimitRESTConfig(cfg, o.MaxReconcileRate)
	cfg.UserAgent = Name
	// The API server warns of the finalizer's name at every write. Once is enough.
	cfg.WarningHandlerWithContext = log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{Deduplicate: true})

	mo := managerOptions(scheme, o)

	restores := controller.NewRestoreDetector(controller.WithRestoreLogger(logging.NewLogrLogger(o.Logger)))

	lease, err := o.Election.elect(cfg, &mo, restores)
	if err != nil {
		return err
	}

	mgr, err := ctrl.NewManager(cfg, mo)
	if err != nil {
		return errors.Wrap(err, "cannot make a manager")
	}

	if err := stderrors.Join(probes(mgr), endWithRestore(mgr, restores, o)); err != nil {
		return err
	}

	options := []managed.ReconcilerOption{managed.WithTimeout(o.Timeout), managed.WithProvider(Name, version()), managed.WithRestoreDetector(restores)}
	if o.PollJitter > 0 {
		options = append(options, managed.WithPollJitterHook(o.PollJitter))
	}

	recorded, forget, err := record(mgr, o)
	if err != nil {
		return err
	}
	defer forget()

	options = append(options, recorded...)

	if lease != nil {
		options = append(options, managed.WithLeaseDeadline(lease.Deadline))
	}

	if err := setup(ctx, mgr, o, append(options, ro...)); err != nil {
		return err
	}

	return errors.Wrap(mgr.Start(ctx), "the manager failed")
}

// endWithRestore ends the provider when the API server was restored to an earlier state:
// its caches are of another history, and the next process lists everything anew.
func endWithRestore(mgr ctrl.Manager, restores *controller.RestoreDetector, o Options) error {
	if err := mgr.Add(restores); err != nil {
		return errors.Wrap(err, "cannot watch for a restore of the API server")
	}

	if o.Election.Enabled || o.RestoreProbe <= 0 {
		return nil
	}

	po := []controller.ProbeOption{controller.WithProbeInterval(o.RestoreProbe)}
	if names := o.namespaces(); len(names) > 0 { // the version is the server's: any one tells it
		po = append(po, controller.WithProbeNamespace(names[0]))
	}

	probe := controller.NewRestoreProbe(restores, mgr.GetAPIReader(), v1alpha1.GroupVersion().WithKind(v1alpha1.StreamKind), po...)

	return errors.Wrap(mgr.Add(probe), "cannot ask the API server for its version")
}

// setup adds all controllers to the manager.
func setup(ctx context.Context, mgr ctrl.Manager, o Options, ro []managed.ReconcilerOption) error {
	logger := logging.NewLogrLogger(o.Logger)

	return kinds.Setup(ctx, mgr, controller.Options{
		Logger:                  logger,
		GlobalRateLimiter:       ratelimiter.NewGlobal(o.MaxReconcileRate),
		PollInterval:            o.PollInterval,
		MaxConcurrentReconciles: o.MaxReconcileRate,
	}, kinds.Sharing{PollWhenTold: o.PollWhenTold, WatchSecrets: o.WatchSecrets, Limits: o.Limits}, ro...)
}

// record has changes recorded, and shows among the metrics what that has lost and the
// state of connections, until forget is called.
func record(mgr ctrl.Manager, o Options) (options []managed.ReconcilerOption, forget func(), err error) {
	collectors := []prometheus.Collector{o.Limits}

	if o.ChangeLog != nil {
		queue := changelog.NewQueue(o.ChangeLog, changelog.WithLogger(logging.NewLogrLogger(o.Logger)))
		if err := mgr.Add(queue); err != nil {
			return nil, nil, errors.Wrap(err, "cannot see to it that changes are recorded")
		}

		options, collectors = []managed.ReconcilerOption{managed.WithChangeLog(queue)}, append(collectors, queue.Collector())
	}

	forget, err = measure(collectors)

	return options, forget, err
}

// measure shows collectors among the metrics until forget is called. Of several
// providers in a process, the first is shown.
func measure(collectors []prometheus.Collector) (forget func(), err error) {
	var registered []prometheus.Collector

	forget = func() {
		for _, c := range registered {
			metrics.Registry.Unregister(c)
		}
	}

	for _, c := range collectors {
		var exists prometheus.AlreadyRegisteredError

		switch err := metrics.Registry.Register(c); {
		case err == nil:
			registered = append(registered, c)
		case !errors.As(err, &exists):
			forget()

			return nil, errors.Wrap(err, "cannot show all metrics")
		}
	}

	return forget, nil
}

// version returns which version of the provider this is, as it was built.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}

	return "devel"
}

// namespaces returns the ones whose objects are looked at; none means all.
func (o Options) namespaces() []string {
	return strings.FieldsFunc(o.Namespace, func(r rune) bool { return r == ',' })
}

func managerOptions(scheme *runtime.Scheme, o Options) ctrl.Options {
	caches := managed.CacheOptions()
	caches.SyncPeriod = &o.SyncInterval

	if names := o.namespaces(); len(names) > 0 {
		caches.DefaultNamespaces = map[string]cache.Config{}
		for _, name := range names {
			caches.DefaultNamespaces[name] = cache.Config{}
		}
	}

	return ctrl.Options{
		Scheme: scheme,
		Logger: o.Logger,
		Cache:  caches,
		// Secrets are read one by one: a provider that lists them could read all.
		Client:                 client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
		Metrics:                metricsOptions(o),
		HealthProbeBindAddress: o.HealthAddress,
		PprofBindAddress:       o.ProfilingAddress,
		// Less would cut off a creation whose result is not recorded yet.
		GracefulShutdownTimeout: new(shutdown),
		Controller: config.Controller{
			// A replica that waits has its caches and its queue filled when its turn
			// comes.
			EnableWarmup: new(true),
			// The names are unique. The check counts for the whole life of a process,
			// in which the provider may run more than once.
			SkipNameValidation: new(true),
		},
	}
}

func probes(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return errors.Wrap(err, "cannot add a health check")
	}

	// Whether the external system works is no part of it: a provider that is not
	// ready for that would be taken away when it is needed most.
	return errors.Wrap(mgr.AddReadyzCheck("caches", func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()

		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("caches are not in sync yet")
		}

		return nil
	}), "cannot add a readiness check")
}

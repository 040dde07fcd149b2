// Package provider runs the provider: one manager with the controllers of all kinds. Start with [Run].
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
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/moorage-dev/moorage/pkg/statuspage"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	kinds "github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
)

// Name is the provider's name in its role, its lease and its user agent.
const Name = "provider-nats"

// shutdown is the graceful shutdown timeout: a creation goes on for 4 s, its result is recorded within 25 s
// and the status of the pass within 10 s, and sinks have 10 s to send their queues. Then the lease is
// released, and the process ends: a pod needs a longer terminationGracePeriodSeconds, see deploy.
const shutdown = 50 * time.Second

// Options configure the provider. Start from DefaultOptions.
type Options struct {
	// PollInterval is how often each resource is compared with its object, and
	// PollJitter by how much that varies. A jitter of zero is a tenth of it.
	PollInterval, PollJitter time.Duration

	// PollWhenNotified is how often a stream is compared with its object while JetStream notifies of its
	// changes. All streams of a connection share lists. Zero means that each stream is observed separately, at
	// each PollInterval.
	PollWhenNotified time.Duration

	// WatchSecrets lets the provider read Secrets that connections are made from again as soon as they change,
	// and not only once a minute. The role in package does not allow it: the operator has to, for those
	// Secrets.
	WatchSecrets bool

	// Limits bound the rate of calls over each connection to what NATS serves. Nil means those of
	// controller.NewLimits.
	Limits *limit.Set

	// SyncInterval is how often all objects are reconciled anew, whether they are due or not.
	SyncInterval time.Duration

	// Timeout bounds the time that one pass may take in the external system.
	Timeout time.Duration

	// MaxReconcileRate is how many passes may begin in a second, and how many may
	// run at a time for each kind.
	MaxReconcileRate int

	// Election configures leader election among replicas.
	Election Election

	// RestoreProbe is how often a provider without leader election asks the API server for its version, so
	// that it ends when the API server was restored to an earlier state. With leader election each renewal
	// shows that. Zero, the default, means never: without it a provider in steady state sends no request.
	RestoreProbe time.Duration

	// Namespace is the one whose objects are reconciled, or several, separated by commas. Empty means all.
	Namespace string

	// HealthAddress serves /healthz and /readyz, MetricsAddress /metrics and
	// ProfilingAddress /debug/pprof. "0" switches one off.
	HealthAddress, MetricsAddress, ProfilingAddress string

	// MetricsSecure serves metrics by TLS, with a certificate that is created at the start, and only to users
	// that the API server permits to get /metrics, see GuardMetrics.
	MetricsSecure bool

	// StatusAddress serves the status page, on a loopback address. Empty means that there is none.
	StatusAddress string

	// ChangeLog receives every change that the provider makes in NATS. Nil means none. It neither delays nor
	// fails a pass.
	ChangeLog changelog.Sink

	// credentials is the Secret of a plan, in place of those that the configurations name.
	credentials types.NamespacedName

	// Logger is the provider's logger. The zero value discards.
	Logger logr.Logger
}

// DefaultOptions returns the options of a provider in production.
func DefaultOptions() Options {
	return Options{
		PollInterval:     time.Minute,
		PollWhenNotified: 10 * time.Minute,
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

	scheme, err := newScheme()
	if err != nil {
		return err
	}

	cfg = access(cfg, o)
	mo := managerOptions(scheme, o)

	restores := controller.NewRestoreDetector(controller.WithRestoreLogger(logging.NewLogrLogger(o.Logger)))

	lease, err := o.Election.elect(cfg, &mo, restores)
	if err != nil {
		return err
	}

	mgr, err := ctrl.NewManager(cfg, mo)
	if err != nil {
		return errors.Wrap(err, "cannot create a manager")
	}

	if err := stderrors.Join(probes(mgr), endWithRestore(mgr, restores, o)); err != nil {
		return err
	}

	options := []managed.ReconcilerOption{
		managed.WithTimeout(o.Timeout), managed.WithProvider(Name, version()), managed.WithRestoreDetector(restores),
	}
	if o.PollJitter > 0 {
		options = append(options, managed.WithPollJitterHook(o.PollJitter))
	}

	recorded, forget, err := record(mgr, o)
	if err != nil {
		return err
	}
	defer forget()

	page, err := statusPage(mgr, o, lease)
	if err != nil {
		return err
	}

	options = append(append(options, recorded...), page)

	if lease != nil {
		options = append(options, managed.WithLeaseDeadline(lease.Deadline))
	}

	if err := setup(ctx, mgr, o, append(options, ro...)); err != nil {
		return err
	}

	return errors.Wrap(mgr.Start(ctx), "the manager failed")
}

// statusPage adds the status page to the manager, if it has an address, and returns the option of each kind.
func statusPage(mgr ctrl.Manager, o Options, lease *controller.Lease) (managed.ReconcilerOption, error) {
	return statuspage.Add(mgr, statuspage.Options{
		Address: o.StatusAddress, Provider: Name, Version: version(), Limits: o.Limits, Lease: lease,
		Logger: logging.NewLogrLogger(o.Logger),
	})
}

// newScheme returns a scheme with all kinds.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	all := runtime.NewSchemeBuilder(corev1.AddToScheme, v1alpha1.AddToScheme)

	return scheme, errors.Wrap(all.AddToScheme(scheme), "cannot register the kinds")
}

// access returns a config that is limited to the rate of the provider.
func access(cfg *rest.Config, o Options) *rest.Config {
	cfg = ratelimiter.LimitRESTConfig(cfg, o.MaxReconcileRate)
	cfg.UserAgent = Name
	// The API server returns a warning about the name of the finalizer at each write. It is logged once.
	cfg.WarningHandlerWithContext = log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{Deduplicate: true})

	return cfg
}

// endWithRestore ends the provider when the API server was restored to an earlier state: its caches are of
// another history, and the next process lists everything anew.
func endWithRestore(mgr ctrl.Manager, restores *controller.RestoreDetector, o Options) error {
	if err := mgr.Add(restores); err != nil {
		return errors.Wrap(err, "cannot watch for a restore of the API server")
	}

	if o.Election.Enabled || o.RestoreProbe <= 0 {
		return nil
	}

	po := []controller.ProbeOption{controller.WithProbeInterval(o.RestoreProbe)}
	if names := o.namespaces(); len(names) > 0 { // the version is that of the server: any namespace shows it
		po = append(po, controller.WithProbeNamespace(names[0]))
	}

	probe := controller.NewRestoreProbe(restores, mgr.GetAPIReader(),
		v1alpha1.GroupVersion().WithKind(v1alpha1.StreamKind), po...)

	return errors.Wrap(mgr.Add(probe), "cannot add the probe of the API server")
}

// setup adds all controllers to the manager.
func setup(ctx context.Context, mgr ctrl.Manager, o Options, ro []managed.ReconcilerOption) error {
	logger := logging.NewLogrLogger(o.Logger)

	return kinds.Setup(ctx, mgr, controller.Options{
		Logger:                  logger,
		GlobalRateLimiter:       ratelimiter.NewGlobal(o.MaxReconcileRate),
		PollInterval:            o.PollInterval,
		MaxConcurrentReconciles: o.MaxReconcileRate,
	}, kinds.Sharing{
		PollWhenNotified: o.PollWhenNotified, WatchSecrets: o.WatchSecrets, Limits: o.Limits, Credentials: o.credentials,
	}, ro...)
}

// record configures the change log, and registers the metrics of its losses and of the connections, until
// forget is called.
func record(mgr ctrl.Manager, o Options) (options []managed.ReconcilerOption, forget func(), err error) {
	collectors := []prometheus.Collector{o.Limits}

	if o.ChangeLog != nil {
		queue := changelog.NewQueue(o.ChangeLog, changelog.WithLogger(logging.NewLogrLogger(o.Logger)))
		if err := mgr.Add(queue); err != nil {
			return nil, nil, errors.Wrap(err, "cannot record changes")
		}

		options, collectors = []managed.ReconcilerOption{managed.WithChangeLog(queue)}, append(collectors, queue.Collector())
	}

	forget, err = measure(collectors)

	return options, forget, err
}

// measure registers collectors until forget is called. Of several providers in a process, the first is
// registered.
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

			return nil, errors.Wrap(err, "cannot register all metrics")
		}
	}

	return forget, nil
}

// version returns the version of the provider, as it was built.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}

	return "devel"
}

// namespaces returns the namespaces whose objects are reconciled; none means all.
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
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{
			&corev1.Secret{}, &corev1.ConfigMap{},
		}}},
		Metrics:                metricsOptions(o),
		HealthProbeBindAddress: o.HealthAddress,
		PprofBindAddress:       o.ProfilingAddress,
		// A shorter one would cut off a creation whose result is not recorded yet.
		GracefulShutdownTimeout: new(shutdown),
		Controller: config.Controller{
			// A standby replica has its caches and its queue filled when it becomes the leader.
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

	// The external system is not a part of it: a provider that is not ready because of that would be removed
	// when it is needed most.
	return errors.Wrap(mgr.AddReadyzCheck("caches", func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()

		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("caches are not in sync yet")
		}

		return nil
	}), "cannot add a readiness check")
}

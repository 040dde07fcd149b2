// Package provider runs the provider: one manager with the controllers of all
// its kinds. Start with [Run].
package provider

import (
	"context"
	"net/http"
	"runtime/debug"
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
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	natscontroller "github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// Name is what the provider calls itself: in its role, its lease and towards the
// API server.
const Name = "provider-nats"

// Options say how the provider runs. Use DefaultOptions, and change what differs.
type Options struct {
	// PollInterval is how often each stream is compared with its object.
	PollInterval time.Duration

	// PollJitter is by how much that varies, so that not all are looked at at
	// once. Zero means a tenth of the interval.
	PollJitter time.Duration

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

	// SyncInterval is how often all objects are reconciled anew, whether they
	// are due or not.
	SyncInterval time.Duration

	// Timeout bounds what one pass may take in NATS.
	Timeout time.Duration

	// MaxReconcileRate is how many passes may begin in a second, and how many
	// may run at a time for each kind.
	MaxReconcileRate int

	// Election says how several replicas wait for one that works.
	Election Election

	// Namespace is the one whose objects are looked at. Empty means all.
	Namespace string

	// HealthAddress serves /healthz and /readyz, MetricsAddress /metrics. "0"
	// switches one off.
	HealthAddress  string
	MetricsAddress string

	// MetricsSecure serves metrics by TLS, with a certificate made for the occasion.
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
		Logger:           logr.Discard(),
	}
}

// Run runs the provider against a cluster until ctx ends, which is no error. The
// kinds must be installed. It may be called again in the same process.
func Run(ctx context.Context, cfg *rest.Config, o Options, ro ...managed.ReconcilerOption) error {
	if o.Limits == nil {
		o.Limits = natscontroller.NewLimits()
	}

	scheme, err := newScheme()
	if err != nil {
		return err
	}

	cfg = ratelimiter.LimitRESTConfig(cfg, o.MaxReconcileRate)
	cfg.UserAgent = Name
	// The API server warns of the finalizer's name at every write. Once is enough.
	cfg.WarningHandlerWithContext = log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{Deduplicate: true})

	mo := managerOptions(scheme, o)

	lease, err := o.Election.elect(cfg, &mo)
	if err != nil {
		return err
	}

	mgr, err := ctrl.NewManager(cfg, mo)
	if err != nil {
		return errors.Wrap(err, "cannot make a manager")
	}

	if err := probes(mgr); err != nil {
		return err
	}

	options, collectors, err := reconcilerOptions(mgr, o)
	if err != nil {
		return err
	}

	forget, err := measure(append(collectors, o.Limits))
	if err != nil {
		return err
	}
	defer forget()

	if lease != nil {
		options = append(options, managed.WithLeaseDeadline(lease.Deadline))
	}

	if err := natscontroller.Setup(ctx, mgr, controller.Options{
		Logger:                  logging.NewLogrLogger(o.Logger),
		GlobalRateLimiter:       ratelimiter.NewGlobal(o.MaxReconcileRate),
		PollInterval:            o.PollInterval,
		MaxConcurrentReconciles: o.MaxReconcileRate,
	}, natscontroller.Sharing{PollWhenTold: o.PollWhenTold, WatchSecrets: o.WatchSecrets, Limits: o.Limits}, append(options, ro...)...); err != nil {
		return err
	}

	return errors.Wrap(mgr.Start(ctx), "the manager failed")
}

// reconcilerOptions returns those that are the same for all kinds.
func reconcilerOptions(mgr ctrl.Manager, o Options) ([]managed.ReconcilerOption, []prometheus.Collector, error) {
	options := []managed.ReconcilerOption{managed.WithTimeout(o.Timeout), managed.WithProvider(Name, version())}
	if o.PollJitter > 0 {
		options = append(options, managed.WithPollJitterHook(o.PollJitter))
	}

	if o.ChangeLog == nil {
		return options, nil, nil
	}

	queue := changelog.NewQueue(o.ChangeLog, changelog.WithLogger(logging.NewLogrLogger(o.Logger)))

	return append(options, managed.WithChangeLog(queue)), []prometheus.Collector{queue.Collector()},
		errors.Wrap(mgr.Add(queue), "cannot see to it that changes are recorded")
}

// measure shows collectors among the metrics until forget is called: what the record
// of changes has lost, and the state of connections. Of several providers in a
// process, the first is shown.
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
	const unreleased = "(devel)"

	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != unreleased {
		return info.Main.Version
	}

	return "devel"
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, errors.Wrap(err, "cannot register the kinds of Kubernetes")
	}

	return scheme, errors.Wrap(v1alpha1.AddToScheme(scheme), "cannot register the kinds of this provider")
}

func managerOptions(scheme *runtime.Scheme, o Options) ctrl.Options {
	return ctrl.Options{
		Scheme:                 scheme,
		Logger:                 o.Logger,
		Cache:                  cacheOptions(o),
		Client:                 client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
		Metrics:                server.Options{BindAddress: o.MetricsAddress, SecureServing: o.MetricsSecure},
		HealthProbeBindAddress: o.HealthAddress,
		// The names are unique. The check counts for the whole life of a
		// process, in which the provider may run more than once.
		Controller: config.Controller{SkipNameValidation: new(true)},
	}
}

func cacheOptions(o Options) cache.Options {
	out := managed.CacheOptions()
	out.SyncPeriod = &o.SyncInterval

	if o.Namespace != "" {
		out.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}

	return out
}

func probes(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return errors.Wrap(err, "cannot add a health check")
	}

	return errors.Wrap(mgr.AddReadyzCheck("caches", func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()

		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("caches are not in sync yet")
		}

		return nil
	}), "cannot add a readiness check")
}

// Package provider runs the provider: one manager with the controllers of all
// its kinds. Start with [Run].
package provider

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	natscontroller "github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
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

	// SyncInterval is how often all objects are reconciled anew, whether they
	// are due or not.
	SyncInterval time.Duration

	// Timeout bounds what one pass may take in NATS.
	Timeout time.Duration

	// MaxReconcileRate is how many passes may begin in a second, and how many
	// may run at a time for each kind.
	MaxReconcileRate int

	// LeaderElection lets several replicas wait for one that works. The lease is
	// in LeaderElectionNamespace, or if that is empty in the pod's own.
	LeaderElection          bool
	LeaderElectionNamespace string

	// HealthAddress serves /healthz and /readyz, MetricsAddress /metrics. "0"
	// switches one off.
	HealthAddress  string
	MetricsAddress string

	// Logger is where the provider logs. The zero value discards.
	Logger logr.Logger
}

// DefaultOptions returns the options of a provider in production.
func DefaultOptions() Options {
	return Options{
		PollInterval:     time.Minute,
		SyncInterval:     time.Hour,
		Timeout:          time.Minute,
		MaxReconcileRate: 10,
		HealthAddress:    ":8081",
		MetricsAddress:   ":8080",
		Logger:           logr.Discard(),
	}
}

// Run runs the provider against a cluster until ctx ends, which is no error. The
// kinds must be installed. It may be called again in the same process.
func Run(ctx context.Context, cfg *rest.Config, o Options, ro ...managed.ReconcilerOption) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}

	cfg = ratelimiter.LimitRESTConfig(cfg, o.MaxReconcileRate)
	cfg.UserAgent = Name
	// The API server warns of the finalizer's name at every write. Once is enough.
	cfg.WarningHandlerWithContext = log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{Deduplicate: true})

	mgr, err := ctrl.NewManager(cfg, managerOptions(scheme, o))
	if err != nil {
		return errors.Wrap(err, "cannot make a manager")
	}

	if err := probes(mgr); err != nil {
		return err
	}

	options := []managed.ReconcilerOption{managed.WithTimeout(o.Timeout)}
	if o.PollJitter > 0 {
		options = append(options, managed.WithPollJitterHook(o.PollJitter))
	}

	if err := natscontroller.Setup(ctx, mgr, controller.Options{
		Logger:                  logging.NewLogrLogger(o.Logger),
		GlobalRateLimiter:       ratelimiter.NewGlobal(o.MaxReconcileRate),
		PollInterval:            o.PollInterval,
		MaxConcurrentReconciles: o.MaxReconcileRate,
	}, append(options, ro...)...); err != nil {
		return err
	}

	return errors.Wrap(mgr.Start(ctx), "the manager failed")
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
		Scheme:                        scheme,
		Logger:                        o.Logger,
		Cache:                         cacheOptions(o),
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
		Metrics:                       server.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:        o.HealthAddress,
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              Name + "." + v1alpha1.Group, // The role names it, too.
		LeaderElectionNamespace:       o.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		// The names are unique. The check counts for the whole life of a
		// process, in which the provider may run more than once.
		Controller: config.Controller{SkipNameValidation: new(true)},
	}
}

func cacheOptions(o Options) cache.Options {
	out := managed.CacheOptions()
	out.SyncPeriod = &o.SyncInterval

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

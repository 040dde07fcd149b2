package syncer

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A clusterManager is a manager.Manager for a cluster that is already running.
type clusterManager struct {
	cluster.Cluster

	ctx   context.Context //nolint:containedctx // ends with the cluster
	log   logr.Logger
	start func(manager.Runnable)
	cache ctrlcache.Cache // nil: that of the cluster
}

var _ manager.Manager = clusterManager{}

// GetCache returns the cache that replaces the cluster's cache. If no cache replaces the cluster's cache, GetCache
// returns the cluster's cache.
func (t clusterManager) GetCache() ctrlcache.Cache {
	if t.cache != nil {
		return t.cache
	}
	return t.Cluster.GetCache()
}

// Add starts the runnable.
func (t clusterManager) Add(r manager.Runnable) error {
	t.start(r)
	return nil
}

// Start blocks until its context or the context of the cluster ends. It does not start the cluster,
// which is running already.
func (t clusterManager) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-t.ctx.Done():
	}
	return nil
}

// Elected returns a closed channel.
func (t clusterManager) Elected() <-chan struct{} {
	elected := make(chan struct{})
	close(elected) // the manager of the process decides when controllers start
	return elected
}

// GetLogger returns a logger with the name of the virtual cluster.
func (t clusterManager) GetLogger() logr.Logger { return t.log }

// GetControllerOptions returns options that allow controllers with equal names.
func (t clusterManager) GetControllerOptions() config.Controller {
	// Every virtual cluster has controllers with the same names.
	return config.Controller{SkipNameValidation: ptr.To(true)}
}

// errServesNothing is returned by the methods that add a handler to a server. Servers
// belong to the manager of the process.
var errServesNothing = errors.New("the manager of a virtual cluster in a fleet has no server")

func (t clusterManager) AddMetricsServerExtraHandler(string, http.Handler) error {
	return errServesNothing
}
func (t clusterManager) AddHealthzCheck(string, healthz.Checker) error { return errServesNothing }
func (t clusterManager) AddReadyzCheck(string, healthz.Checker) error  { return errServesNothing }
func (t clusterManager) GetWebhookServer() webhook.Server              { return nil }
func (t clusterManager) GetConverterRegistry() conversion.Registry     { return nil }

// A scopedCache is the shared cache of the host, limited to the lifetime of one virtual cluster.
// When the context of the virtual cluster ends, the handlers that were added through this cache are
// removed from the informers. The informers keep running for the other clusters.
type scopedCache struct {
	ctrlcache.Cache

	ctx context.Context //nolint:containedctx // ends with the virtual cluster
}

// GetInformer returns an informer that removes its handlers when the context ends.
func (l scopedCache) GetInformer(
	ctx context.Context, obj client.Object, opts ...ctrlcache.InformerGetOption,
) (ctrlcache.Informer, error) {
	i, err := l.Cache.GetInformer(ctx, obj, opts...)
	return scopedInformer{i, l.ctx}, err
}

// A scopedInformer removes its handlers when the context ends.
type scopedInformer struct {
	ctrlcache.Informer

	ctx context.Context //nolint:containedctx // see scopedCache
}

// AddEventHandlerWithOptions adds a handler that is removed when the context ends.
func (l scopedInformer) AddEventHandlerWithOptions(
	h cache.ResourceEventHandler, o cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	r, err := l.Informer.AddEventHandlerWithOptions(h, o)
	if err == nil {
		context.AfterFunc(l.ctx, func() { _ = l.RemoveEventHandler(r) })
	}
	return r, err
}

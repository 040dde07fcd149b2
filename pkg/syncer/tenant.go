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

// A tenant is the manager of a cluster that somebody else runs.
type tenant struct {
	cluster.Cluster

	ctx   context.Context //nolint:containedctx // ends with the tenant
	log   logr.Logger
	start func(manager.Runnable)
	cache ctrlcache.Cache // nil: that of the cluster
}

var _ manager.Manager = tenant{}

func (t tenant) GetCache() ctrlcache.Cache {
	if t.cache != nil {
		return t.cache
	}
	return t.Cluster.GetCache()
}

func (t tenant) Add(r manager.Runnable) error {
	t.start(r)
	return nil
}

// Start does not start the cluster: it runs already.
func (t tenant) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-t.ctx.Done():
	}
	return nil
}

func (t tenant) Elected() <-chan struct{} {
	elected := make(chan struct{})
	close(elected) // controllers are started by whoever is elected
	return elected
}

func (t tenant) GetLogger() logr.Logger { return t.log }

func (t tenant) GetControllerOptions() config.Controller {
	// Every virtual cluster has controllers of the same names.
	return config.Controller{SkipNameValidation: ptr.To(true)}
}

// errNoServers is what is answered to who wants to serve something for one of many
// virtual clusters: that is for the manager of the process.
var errNoServers = errors.New("the manager of one of many virtual clusters serves nothing")

func (t tenant) AddMetricsServerExtraHandler(string, http.Handler) error { return errNoServers }
func (t tenant) AddHealthzCheck(string, healthz.Checker) error           { return errNoServers }
func (t tenant) AddReadyzCheck(string, healthz.Checker) error            { return errNoServers }
func (t tenant) GetWebhookServer() webhook.Server                        { return nil }
func (t tenant) GetConverterRegistry() conversion.Registry               { return nil }

// leaving is the cache of the host for one virtual cluster: when that goes, its
// handlers are taken from the informers, which stay for the others.
type leaving struct {
	ctrlcache.Cache

	ctx context.Context //nolint:containedctx // ends with the virtual cluster
}

func (l leaving) GetInformer(ctx context.Context, obj client.Object, opts ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	i, err := l.Cache.GetInformer(ctx, obj, opts...)
	return leavingInformer{i, l.ctx}, err
}

type leavingInformer struct {
	ctrlcache.Informer

	ctx context.Context //nolint:containedctx // see leaving
}

func (l leavingInformer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, o cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	r, err := l.Informer.AddEventHandlerWithOptions(h, o)
	if err == nil {
		context.AfterFunc(l.ctx, func() { _ = l.RemoveEventHandler(r) })
	}
	return r, err
}

package kube

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// ErrNoAPIServer is the error of every request that is sent with the configuration or
// the HTTP client of a Cluster.
var ErrNoAPIServer = errors.New("there is no API server: the objects are in stores")

// Options configure a Cluster. With the zero value, reads of all kinds except Secrets and ConfigMaps use the cache, and
// events without a store are discarded.
type Options struct {
	// Cache has options of controller-runtime's cache, such as managed.CacheOptions. NewCluster returns an error if they
	// restrict the cache to namespaces or by selectors, because a store is always watched completely.
	Cache cache.Options

	// Uncached are the kinds that the client reads from the store instead of the cache. The default, nil, means Secrets
	// and ConfigMaps. An empty list means that every kind is cached.
	Uncached []client.Object

	// Resync is the interval at which the cache is compared with the stores. An object that was removed without an event,
	// such as an expired value, is removed from the cache within this time. The default is store.DefaultResync. A negative
	// value disables the comparison.
	Resync time.Duration

	// Logger receives a message for each entry that cannot be decoded. It also receives the events if no kind of events
	// has a store. By default, messages are discarded.
	Logger logr.Logger

	// Around wraps the client that reads and writes the stores, for tests and to count requests. The default is no
	// wrapper.
	Around func(client.WithWatch) client.WithWatch
}

// A Cluster is a cluster.Cluster of controller-runtime whose objects are in stores. Its client reads from a cache,
// which watches the stores. Its API reader reads from the stores. Its events are written to the store of
// events.k8s.io/v1 Events, if there is one. It runs until the context of Start ends. Use NewCluster. Its methods may be
// called concurrently.
type Cluster struct {
	stores   *Client
	direct   client.WithWatch
	cached   client.Client
	cache    cache.Cache
	recorder *recorders
	config   *rest.Config
	http     *http.Client
}

var _ cluster.Cluster = &Cluster{}

// NewCluster returns a cluster of the kinds. It fails if a type is not in the scheme, if kinds has the same kind twice,
// or if a store does not support the options of the cache.
func NewCluster(scheme *runtime.Scheme, o Options, kinds ...Kind) (*Cluster, error) {
	stores, err := NewClient(scheme, kinds, WithLogger(o.Logger), WithResync(o.Resync))
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		stores: stores, direct: stores,
		config: &rest.Config{
			Host: "https://stores.invalid", Transport: failingTransport{}, QPS: -1,
		}, http: &http.Client{Transport: failingTransport{}},
	}
	if o.Around != nil {
		c.direct = o.Around(stores)
	}
	if c.cache, err = stores.newCache(c, o.Cache); err != nil {
		return nil, err
	}
	uncached := map[schema.GroupVersionKind]bool{}
	if o.Uncached == nil {
		o.Uncached = []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}
	}
	for _, of := range o.Uncached {
		gvk, err := stores.gvk(of)
		if err != nil && !runtime.IsNotRegisteredError(err) {
			return nil, errors.Wrap(err, "cannot find the kind of an uncached object")
		}
		uncached[gvk] = true
	}
	c.cached = &cachedClient{WithWatch: c.direct, cache: c.cache, stores: stores, uncached: uncached}
	c.recorder = newRecorders(c.direct, stores, o.Logger)

	return c, nil
}

func (c *Client) newCache(of *Cluster, o cache.Options) (cache.Cache, error) {
	if len(o.DefaultNamespaces) > 0 || o.DefaultLabelSelector != nil || o.DefaultFieldSelector != nil {
		return nil, errors.New("cannot restrict the cache: a store is watched as a whole")
	}
	for _, by := range o.ByObject {
		if len(by.Namespaces) > 0 || by.Label != nil || by.Field != nil {
			return nil, errors.New("cannot restrict the cache: a store is watched as a whole")
		}
	}
	o.Scheme, o.Mapper, o.HTTPClient, o.NewInformer = c.scheme, c.mapper, of.http, c.newInformer
	made, err := cache.New(of.config, o)

	return made, errors.Wrap(err, "cannot make a cache")
}

// A failingTransport fails every request with ErrNoAPIServer.
type failingTransport struct{}

// RoundTrip returns ErrNoAPIServer.
func (failingTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, ErrNoAPIServer }

// GetClient returns a client that writes to the stores and reads from the cache. It reads unstructured objects and the
// kinds in Options.Uncached from the stores.
func (c *Cluster) GetClient() client.Client { return c.cached }

// GetAPIReader returns a client that reads the stores.
func (c *Cluster) GetAPIReader() client.Reader { return c.direct }

// GetCache returns the cache, which is controller-runtime's own.
func (c *Cluster) GetCache() cache.Cache { return c.cache }

// GetFieldIndexer returns the cache.
func (c *Cluster) GetFieldIndexer() client.FieldIndexer { return c.cache }

// GetScheme returns the scheme.
func (c *Cluster) GetScheme() *runtime.Scheme { return c.stores.scheme }

// GetRESTMapper returns a mapper for the kinds given to NewCluster.
func (c *Cluster) GetRESTMapper() meta.RESTMapper { return c.stores.mapper }

// GetConfig returns a configuration with which every request fails with
// ErrNoAPIServer.
func (c *Cluster) GetConfig() *rest.Config { return c.config }

// GetHTTPClient returns a client with which every request fails with
// ErrNoAPIServer.
func (c *Cluster) GetHTTPClient() *http.Client { return c.http }

// Start runs the cache and the recording of events until the context ends.
func (c *Cluster) Start(ctx context.Context) error {
	stop, err := c.recorder.start(ctx)
	if err != nil {
		return err
	}
	defer stop()

	return errors.Wrap(c.cache.Start(ctx), "cannot run the cache")
}

// A cachedClient reads from a cache and writes to stores.
type cachedClient struct {
	client.WithWatch

	cache    cache.Cache
	stores   *Client
	uncached map[schema.GroupVersionKind]bool
}

// Get reads from the cache, or from the store if the kind is not cached.
func (c *cachedClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	reader, err := c.reader(o)
	if err != nil {
		return err
	}

	return reader.Get(ctx, key, o, opts...)
}

// List reads from the cache, or from the store if the kind is not cached.
func (c *cachedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	reader, err := c.reader(list)
	if err != nil {
		return err
	}

	return reader.List(ctx, list, opts...)
}

func (c *cachedClient) reader(o runtime.Object) (client.Reader, error) {
	k, err := c.stores.of(o)
	if err != nil {
		return nil, err
	}
	if _, loose := o.(runtime.Unstructured); loose || c.uncached[k.GVK] {
		return c.WithWatch, nil
	}

	return c.cache, nil
}

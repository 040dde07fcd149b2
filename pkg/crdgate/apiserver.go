package crdgate

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// A Cluster gives access to the API server whose kinds a Gate checks. A manager and a cluster.Cluster of
// controller-runtime implement it.
type Cluster interface {
	GetConfig() *rest.Config
	GetHTTPClient() *http.Client
	GetScheme() *runtime.Scheme
	GetCache() cache.Cache
}

// byDiscovery is used in place of the UID of a definition.
const byDiscovery = "discovery"

const (
	listRetryBase  = 100 * time.Millisecond // between two lookups of a new kind
	listRetryMax   = 5 * time.Second
	requestTimeout = 10 * time.Second // of one request

	// syncWarningAfter is the time after which a log message reports that the sync of definitions takes long.
	syncWarningAfter = 30 * time.Second
)

// An apiServer implements cluster.
type apiServer struct {
	cluster     Cluster
	logger      logging.Logger
	interval    time.Duration
	definitions *crdIndex
	resources   func(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
	groups      func(ctx context.Context) (*metav1.APIGroupList, error)
	probeNow    chan struct{}

	mu         sync.Mutex
	discovered map[schema.GroupVersionKind]discoveryResult // one for each tracked kind
}

// A discoveryResult is the last result of discovery for a kind.
type discoveryResult int

const (
	notDiscovered discoveryResult = iota
	absentInDiscovery
	presentInDiscovery
)

// newAPIServer returns the access to the API server of the cluster.
func newAPIServer(c Cluster, o options) (*apiServer, error) {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(c.GetConfig(), c.GetHTTPClient())
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a discovery client")
	}

	return &apiServer{
		cluster: c, logger: o.logger, interval: o.interval,
		definitions: newCRDIndex(), resources: d.ServerResourcesForGroupVersionWithContext,
		groups:   d.ServerGroupsWithContext,
		probeNow: make(chan struct{}, 1), discovered: map[schema.GroupVersionKind]discoveryResult{},
	}, nil
}

// track adds a kind and triggers discovery.
func (s *apiServer) track(gvk schema.GroupVersionKind) {
	s.definitions.track(gvk.GroupKind())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discovered[gvk] = notDiscovered
	select {
	case s.probeNow <- struct{}{}:
	default:
	}
}

// served returns the UID of the definition that serves a kind, byDiscovery, or "" if the kind is not served. It returns
// false while this is unknown.
func (s *apiServer) served(gvk schema.GroupVersionKind) (string, bool) {
	s.mu.Lock()
	answered := s.discovered[gvk]
	s.mu.Unlock()
	switch finding, uid := s.definitions.find(gvk, answered == presentInDiscovery); {
	case finding == served:
		return uid, true
	case finding == unserved:
		return "", true
	case finding == unknown || answered == notDiscovered:
		return "", false
	case answered == presentInDiscovery:
		return byDiscovery, true
	default:
		return "", true
	}
}

// watch watches the definitions. It looks up kinds without a definition in discovery.
func (s *apiServer) watch(ctx context.Context, changed func()) error {
	c, err := s.definitionCache()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { _ = c.Start(ctx) }) // fails only if it was started before
	informer, err := c.GetInformer(ctx, &apiextensionsv1.CustomResourceDefinition{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	registration, err := informer.AddEventHandler(s.handler(changed))
	if err != nil {
		return err
	}
	if !s.sync(ctx, registration.HasSyncedChecker().Done()) {
		return nil
	}
	s.definitions.setSynced()
	changed()
	s.probe(ctx, changed)

	return nil
}

// definitionCache returns a cache of definitions without their schemas.
func (s *apiServer) definitionCache() (cache.Cache, error) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{apiextensionsv1.SchemeGroupVersion})
	mapper.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)

	return cache.New(s.cluster.GetConfig(), cache.Options{
		HTTPClient: s.cluster.GetHTTPClient(), Scheme: scheme, Mapper: mapper, DefaultTransform: StripDefinition,
	})
}

// handler returns the event handler of definitions.
func (s *apiServer) handler(changed func()) toolscache.ResourceEventHandler {
	set := func(obj any) {
		if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
			s.definitions.set(crd)
			changed()
		}
	}

	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, obj any) { set(obj) },
		DeleteFunc: func(obj any) {
			if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
				s.definitions.remove(crd.Name)
				changed()
			}
		},
	}
}

// sync waits until the definitions are synced, and logs a message if this takes long. It returns false if the context
// ends before.
func (s *apiServer) sync(ctx context.Context, done <-chan struct{}) bool {
	for {
		select {
		case <-done:
			return true
		case <-ctx.Done():
			return false
		case <-time.After(syncWarningAfter):
			s.logger.Info("Still waiting for CustomResourceDefinitions; the role needs list and watch on them")
		}
	}
}

// probe runs discovery at once for new kinds, and periodically for all kinds.
func (s *apiServer) probe(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.probeNow:
		case <-time.After(s.interval):
		}
		if s.probeAll(ctx) {
			changed()
		}
	}
}

// probeAll looks up each kind without a definition in discovery, and reports whether a result has changed. If a lookup
// fails, the last result stays.
func (s *apiServer) probeAll(ctx context.Context) bool {
	lists := map[schema.GroupVersion]func() (*metav1.APIResourceList, error){}
	fresh := false
	for gvk, last := range s.discoveredKinds() {
		if finding, _ := s.definitions.find(gvk, last == presentInDiscovery); finding != undefined {
			continue
		}
		gv := gvk.GroupVersion()
		if lists[gv] == nil {
			lists[gv] = sync.OnceValues(func() (*metav1.APIResourceList, error) { return s.list(ctx, gv) })
		}
		list, err := lists[gv]()
		if err != nil {
			s.logger.Debug("Cannot ask discovery", "groupVersion", gv.String(), "error", redact.Error(err))

			continue
		}
		now := absentInDiscovery
		if hasKind(list, gvk.Kind) {
			now = presentInDiscovery
		}
		fresh = fresh || now != last
		s.mu.Lock()
		s.discovered[gvk] = now
		s.mu.Unlock()
	}

	return fresh
}

// discoveredKinds returns the last result for each tracked kind.
func (s *apiServer) discoveredKinds() map[schema.GroupVersionKind]discoveryResult {
	s.mu.Lock()
	defer s.mu.Unlock()

	return maps.Clone(s.discovered)
}

// list returns the resources of a group version. If the API server does not list the group version, it returns an empty
// list. A response 404 is not enough for that, because it may come from a proxy.
func (s *apiServer) list(ctx context.Context, gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := s.resources(ctx, gv.String())
	if !gone.Unserved(err) && !gone.Answered(err, gv.String()) {
		return list, err
	}
	groups, err := s.groups(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(groups.Groups) == 0 || hasGroupVersion(groups, gv):
		return nil, errors.Errorf("the API server returns 404 for %s, although it lists the group version", gv)
	default:
		return &metav1.APIResourceList{}, nil
	}
}

// hasGroupVersion reports whether the groups include the group version.
func hasGroupVersion(all *metav1.APIGroupList, gv schema.GroupVersion) bool {
	return slices.ContainsFunc(all.Groups, func(g metav1.APIGroup) bool {
		return slices.ContainsFunc(g.Versions, func(v metav1.GroupVersionForDiscovery) bool {
			return v.GroupVersion == gv.String()
		})
	})
}

// hasKind reports whether the list includes the kind.
func hasKind(list *metav1.APIResourceList, kind string) bool {
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind })
}

// waitUntilListable returns nil when discovery lists the kind, or the error of the context.
func (s *apiServer) waitUntilListable(ctx context.Context, gvk schema.GroupVersionKind) error {
	for wait := listRetryBase; ; wait = min(2*wait, listRetryMax) {
		list, err := s.list(ctx, gvk.GroupVersion())
		if err == nil && hasKind(list, gvk.Kind) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// removeInformers removes the informers of the kind, in the three forms that a cache has.
func (s *apiServer) removeInformers(ctx context.Context, gvk schema.GroupVersionKind) error {
	untyped := &unstructured.Unstructured{}
	untyped.SetGroupVersionKind(gvk)
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(gvk)
	objects := []client.Object{untyped, metadata}
	if typed, err := s.cluster.GetScheme().New(gvk); err == nil {
		if object, ok := typed.(client.Object); ok {
			objects = append(objects, object)
		}
	}
	for _, o := range objects {
		if err := s.cluster.GetCache().RemoveInformer(ctx, o); err != nil {
			return errors.Wrapf(err, "cannot remove the informer of %T", o)
		}
	}

	return nil
}

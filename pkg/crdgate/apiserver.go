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

// A Cluster is where kinds are served. A manager is one, and so is a
// cluster.Cluster of controller-runtime.
type Cluster interface {
	GetConfig() *rest.Config
	GetHTTPClient() *http.Client
	GetScheme() *runtime.Scheme
	GetCache() cache.Cache
}

// byDiscovery stands where the UID of a definition would.
const byDiscovery = "discovery"

const (
	askBase = 100 * time.Millisecond // between two questions whether a new kind can be listed
	askMax  = 5 * time.Second
	askTime = 10 * time.Second // one request takes at most

	// patience is how long definitions are waited for before that is told.
	patience = 30 * time.Second
)

// An apiServer is the world of a gate.
type apiServer struct {
	cluster     Cluster
	logger      logging.Logger
	interval    time.Duration
	definitions *catalogue
	resources   func(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
	groups      func(ctx context.Context) (*metav1.APIGroupList, error)
	ask         chan struct{}

	mu      sync.Mutex
	answers map[schema.GroupVersionKind]answer // one for each kind that is tracked
}

// An answer of discovery.
type answer int

const (
	noAnswer answer = iota
	no
	yes
)

func newAPIServer(c Cluster, o options) (*apiServer, error) {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(c.GetConfig(), c.GetHTTPClient())
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a discovery client")
	}

	return &apiServer{
		cluster: c, logger: o.logger, interval: o.interval,
		definitions: newCatalogue(), resources: d.ServerResourcesForGroupVersionWithContext, groups: d.ServerGroupsWithContext,
		ask: make(chan struct{}, 1), answers: map[schema.GroupVersionKind]answer{},
	}, nil
}

func (s *apiServer) track(gvk schema.GroupVersionKind) {
	s.definitions.track(gvk.GroupKind())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[gvk] = noAnswer
	select {
	case s.ask <- struct{}{}:
	default:
	}
}

func (s *apiServer) served(gvk schema.GroupVersionKind) (string, bool) {
	s.mu.Lock()
	answered := s.answers[gvk]
	s.mu.Unlock()
	switch finding, uid := s.definitions.find(gvk, answered == yes); {
	case finding == served:
		return uid, true
	case finding == unserved:
		return "", true
	case finding == unknown || answered == noAnswer:
		return "", false
	case answered == yes:
		return byDiscovery, true
	default:
		return "", true
	}
}

// watch follows the definitions, and asks discovery for the kinds without one.
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
	s.definitions.complete()
	changed()
	s.probe(ctx, changed)

	return nil
}

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

// sync waits for the definitions, and says so if it takes long.
func (s *apiServer) sync(ctx context.Context, done <-chan struct{}) bool {
	for {
		select {
		case <-done:
			return true
		case <-ctx.Done():
			return false
		case <-time.After(patience):
			s.logger.Info("Still waiting for CustomResourceDefinitions; the role needs list and watch on them")
		}
	}
}

// probe asks discovery, at once for new kinds and from time to time for all.
func (s *apiServer) probe(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.ask:
		case <-time.After(s.interval):
		}
		if s.probeAll(ctx) {
			changed()
		}
	}
}

// probeAll asks for every kind that definitions say nothing of, and reports
// whether an answer is new. What discovery cannot answer stays as it was.
func (s *apiServer) probeAll(ctx context.Context) bool {
	lists := map[schema.GroupVersion]func() (*metav1.APIResourceList, error){}
	fresh := false
	for gvk, last := range s.answered() {
		if finding, _ := s.definitions.find(gvk, last == yes); finding != undefined {
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
		now := no
		if names(list, gvk.Kind) {
			now = yes
		}
		fresh = fresh || now != last
		s.mu.Lock()
		s.answers[gvk] = now
		s.mu.Unlock()
	}

	return fresh
}

func (s *apiServer) answered() map[schema.GroupVersionKind]answer {
	s.mu.Lock()
	defer s.mu.Unlock()

	return maps.Clone(s.answers)
}

// list returns what a group version serves, nothing if the API server lists its group
// versions without it. The 404 of discovery alone is also that of a proxy.
func (s *apiServer) list(ctx context.Context, gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	list, err := s.resources(ctx, gv.String())
	if !gone.Unserved(err) && !gone.Answered(err, gv.String()) {
		return list, err
	}
	groups, err := s.groups(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(groups.Groups) == 0 || lists(groups, gv):
		return nil, errors.Errorf("the API server answers not-found for %s, which it does not leave out of its list", gv)
	default:
		return &metav1.APIResourceList{}, nil
	}
}

func lists(all *metav1.APIGroupList, gv schema.GroupVersion) bool {
	return slices.ContainsFunc(all.Groups, func(g metav1.APIGroup) bool {
		return slices.ContainsFunc(g.Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.GroupVersion == gv.String() })
	})
}

func names(list *metav1.APIResourceList, kind string) bool {
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind })
}

func (s *apiServer) await(ctx context.Context, gvk schema.GroupVersionKind) error {
	for wait := askBase; ; wait = min(2*wait, askMax) {
		list, err := s.list(ctx, gvk.GroupVersion())
		if err == nil && names(list, gvk.Kind) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// forget removes the informers of the kind, in the three forms a cache has them.
func (s *apiServer) forget(ctx context.Context, gvk schema.GroupVersionKind) error {
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

package serviceprovider

import (
	"context"
	"reflect"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// Errors of a ConfigSource. After any other error it is unknown whether there is a configuration, and the status of the
// object is not changed.
var (
	// ErrConfigNotFound means that there is no configuration.
	ErrConfigNotFound = errors.New("there is no configuration")

	// ErrConfigTerminating means that the configuration is being deleted. ConfigFor returns this error together with the
	// configuration, because deletions of objects still use the configuration.
	ErrConfigTerminating = errors.New("the configuration is being deleted")

	// ErrConfigNotLoaded means that the configuration has not been loaded yet. It is unknown whether a configuration
	// exists.
	ErrConfigNotLoaded = errors.New("the configuration is not loaded yet")
)

// A ConfigSource returns the configuration of an object. Its methods may be called concurrently.
type ConfigSource[T API, C Config] interface {
	// ConfigFor returns the configuration of an object. It must not modify the argument obj. The caller does not modify
	// the configuration. Errors to branch on are ErrConfigNotFound, ErrConfigTerminating and ErrConfigNotLoaded.
	ConfigFor(ctx context.Context, obj T) (C, error)

	// Source returns a source that requeues the objects whose configuration has changed. The function enqueue returns the
	// requests of the objects that use a configuration. The workers of the controller start after the source has synced.
	// If Source returns nil, configurations never change.
	Source(enqueue func(ctx context.Context, c C) []reconcile.Request) source.TypedSyncingSource[reconcile.Request]
}

// StaticConfig returns a source of one configuration for all objects, which never changes.
func StaticConfig[T API, C Config](c C) ConfigSource[T, C] { return staticConfig[T, C]{c} }

// staticConfig is the source that StaticConfig returns.
type staticConfig[T API, C Config] struct{ config C }

// ConfigFor returns the configuration.
func (s staticConfig[T, C]) ConfigFor(context.Context, T) (C, error) { return s.config, nil }

// Source returns nil.
func (staticConfig[T, C]) Source(
	func(context.Context, C) []reconcile.Request,
) source.TypedSyncingSource[reconcile.Request] {
	return nil
}

// NamedConfig returns a source of one configuration for all objects: the cluster-scoped configuration whose name is the
// argument name. The argument empty is a function that returns an empty object of the configuration's kind. The source
// reads from the cache of the cluster, so add the cluster to the manager. If the cluster has no cache, as in tests, the
// source reads with the client.
func NamedConfig[T API, C Config](cl *clusters.Cluster, name string, empty func() C) ConfigSource[T, C] {
	mine := func(o client.Object) bool { return o.GetName() == name && o.GetNamespace() == "" }

	return &selectedConfig[T, C]{cluster: cl, newConfig: empty, filter: mine, pick: func(_ T, all []C) (C, error) {
		for _, c := range all {
			if mine(c) {
				return c, nil
			}
		}
		var none C

		return none, ErrConfigNotFound
	}}
}

// SelectedConfig returns a source that calls the function pick to select the configuration of an object from all
// configurations of a cluster. If no configuration matches, pick returns ErrConfigNotFound or a nil configuration. The
// function pick must not modify its arguments. A change of a configuration requeues two groups of objects: those that
// use this configuration, and those for which pick now selects it. The type C must be a pointer to a struct.
func SelectedConfig[T API, C Config](cl *clusters.Cluster, pick func(T, []C) (C, error)) ConfigSource[T, C] {
	return &selectedConfig[T, C]{
		cluster: cl, newConfig: newValue[C], filter: func(client.Object) bool { return true }, pick: pick,
	}
}

// newValue returns a pointer to a new value if C is a pointer type, and the zero value otherwise.
func newValue[C any]() C {
	var none C
	t := reflect.TypeFor[C]()
	if t.Kind() != reflect.Pointer {
		return none
	}
	value, _ := reflect.New(t.Elem()).Interface().(C)

	return value
}

// selectedConfig is the source that NamedConfig and SelectedConfig return.
type selectedConfig[T API, C Config] struct {
	cluster   *clusters.Cluster
	newConfig func() C
	filter    func(client.Object) bool // whether an object may use a configuration
	pick      func(T, []C) (C, error)

	mu       sync.Mutex
	lastRead []C // the last successful read
	hasRead  bool
}

// ConfigFor returns the configuration that pick selects for the object.
func (s *selectedConfig[T, C]) ConfigFor(ctx context.Context, obj T) (C, error) {
	var none C
	all, err := s.list(ctx)
	if err != nil {
		return none, err
	}
	c, err := s.pick(obj, all)
	if err == nil && isNil(c) {
		err = ErrConfigNotFound
	}
	if err == nil && !c.GetDeletionTimestamp().IsZero() {
		err = ErrConfigTerminating
	}

	return c, err
}

// list reads the configurations. If this fails, it returns the configurations of the last successful read.
func (s *selectedConfig[T, C]) list(ctx context.Context) ([]C, error) {
	var reader client.Reader = s.cluster.Client()
	if cl := s.cluster.Cluster(); cl != nil {
		reader = cl.GetCache()
	}
	all, err := listObjects(ctx, reader, s.cluster.Client(), s.newConfig)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.lastRead, s.hasRead = all, true
	case s.hasRead:
		return s.lastRead, nil
	}

	return all, err
}

// Source watches the configurations in the cache of the cluster.
func (s *selectedConfig[T, C]) Source(
	enqueue func(context.Context, C) []reconcile.Request,
) source.TypedSyncingSource[reconcile.Request] {
	cl := s.cluster.Cluster()
	if cl == nil {
		return nil
	}

	to := fanOut{func(ctx context.Context, o client.Object) []reconcile.Request {
		c, ok := o.(C)
		if !ok {
			return nil
		}

		return enqueue(ctx, c)
	}}

	return source.Kind(
		cl.GetCache(), client.Object(s.newConfig()), to, predicate.NewPredicateFuncs(s.filter), configChanged())
}

// configChanged passes changes of a configuration, except those of its status and managed fields.
func configChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectNew.GetGeneration() == 0 || specOrMetadataChanged(e)
	}}
}

// channelConfig is the ConfigSource for the configurations of ProviderConfig and of the channel of SetupWithManager.
type channelConfig[T API, C Config] struct {
	mu      sync.Mutex
	config  C
	loaded  bool
	removed bool
}

// ConfigFor returns the last received configuration. After the configuration was removed, ConfigFor still returns the
// last received one, together with an error. Deletions of objects still use this configuration.
func (r *channelConfig[T, C]) ConfigFor(context.Context, T) (C, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.removed && r.loaded:
		return r.config, ErrConfigTerminating
	case r.removed:
		return r.config, ErrConfigNotFound
	case !r.loaded:
		return r.config, ErrConfigNotLoaded
	default:
		return r.config, nil
	}
}

// Source returns nil, because the controller watches the channel by a separate source.
func (*channelConfig[T, C]) Source(
	func(context.Context, C) []reconcile.Request,
) source.TypedSyncingSource[reconcile.Request] {
	return nil
}

// receive stores the configuration of an event. An event without an object means that the configuration was removed.
func (r *channelConfig[T, C]) receive(e event.GenericEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := e.Object.(C)
	if !ok || isNil(c) {
		r.removed = true

		return
	}
	if copied, ok := c.DeepCopyObject().(C); ok {
		r.config, r.loaded, r.removed = copied, true, false
	}
}

// isNil reports whether v is nil or holds a nil pointer, map, slice, function or channel.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return r.IsNil()
	default:
		return false
	}
}

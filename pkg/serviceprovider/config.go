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

// Errors of a ConfigSource. Any other error says that it cannot be told at the moment
// whether there is a configuration, which changes nothing.
var (
	// ErrConfigNotFound says that there is no configuration.
	ErrConfigNotFound = errors.New("there is no configuration")

	// ErrConfigTerminating says that the configuration is being deleted. Deletions of
	// objects still use it; it comes along with the error.
	ErrConfigTerminating = errors.New("the configuration is being deleted")

	// ErrConfigNotLoaded says that it is not known yet whether there is one.
	ErrConfigNotLoaded = errors.New("the configuration is not loaded yet")
)

// A ConfigSource finds the configuration of an object. Its methods may be called
// concurrently.
type ConfigSource[T API, C Config] interface {
	// ConfigFor returns the configuration of an object, which is not changed. The
	// errors are ErrConfigNotFound, ErrConfigTerminating, or any other.
	ConfigFor(ctx context.Context, obj T) (C, error)

	// Source leads to the objects whose configuration has changed, which enqueue finds.
	// The workers start after it has synced. Nil means that it never changes.
	Source(enqueue func(ctx context.Context, c C) []reconcile.Request) source.TypedSyncingSource[reconcile.Request]
}

// StaticConfig returns a source of one configuration for all objects, which never
// changes.
func StaticConfig[T API, C Config](c C) ConfigSource[T, C] { return static[T, C]{c} }

type static[T API, C Config] struct{ config C }

// ConfigFor returns the configuration.
func (s static[T, C]) ConfigFor(context.Context, T) (C, error) { return s.config, nil }

// Source returns nil.
func (static[T, C]) Source(func(context.Context, C) []reconcile.Request) source.TypedSyncingSource[reconcile.Request] {
	return nil
}

// NamedConfig returns a source of one configuration for all objects: the one of this
// name on a cluster, without a namespace, which empty returns an empty one of. It is
// read from the cache of the cluster, which has to be added to the manager; without one,
// as in tests, from its client.
func NamedConfig[T API, C Config](cl *clusters.Cluster, name string, empty func() C) ConfigSource[T, C] {
	mine := func(o client.Object) bool { return o.GetName() == name && o.GetNamespace() == "" }

	return &selected[T, C]{cluster: cl, empty: empty, concerns: mine, pick: func(_ T, all []C) (C, error) {
		for _, c := range all {
			if mine(c) {
				return c, nil
			}
		}
		var none C

		return none, ErrConfigNotFound
	}}
}

// SelectedConfig returns a source that lets pick choose the configuration of an object
// among all there are on a cluster. Pick returns ErrConfigNotFound, or nil, if none is
// right, and changes nothing. When a configuration changes, those objects are looked at that use it,
// or would now. C has to be a pointer to a struct.
func SelectedConfig[T API, C Config](cl *clusters.Cluster, pick func(T, []C) (C, error)) ConfigSource[T, C] {
	return &selected[T, C]{cluster: cl, empty: newOf[C], concerns: func(client.Object) bool { return true }, pick: pick}
}

// NewOf returns an empty one of what a type points to, the zero value if it does not.
func newOf[C any]() C {
	var none C
	t := reflect.TypeFor[C]()
	if t.Kind() != reflect.Pointer {
		return none
	}
	made, _ := reflect.New(t.Elem()).Interface().(C)

	return made
}

type selected[T API, C Config] struct {
	cluster  *clusters.Cluster
	empty    func() C
	concerns func(client.Object) bool // whether a configuration could be any object's
	pick     func(T, []C) (C, error)

	mu   sync.Mutex
	last []C // what was read last, for when it cannot be read
	read bool
}

// ConfigFor picks among the configurations there are.
func (s *selected[T, C]) ConfigFor(ctx context.Context, obj T) (C, error) {
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

// List reads the configurations. If that fails, those of the last time are as good.
func (s *selected[T, C]) list(ctx context.Context) ([]C, error) {
	var reader client.Reader = s.cluster.Client()
	if whole := s.cluster.Cluster(); whole != nil {
		reader = whole.GetCache()
	}
	all, err := listOf(ctx, reader, s.cluster.Client(), s.empty)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.last, s.read = all, true
	case s.read:
		return s.last, nil
	}

	return all, err
}

// Source watches the configurations in the cache of the cluster.
func (s *selected[T, C]) Source(enqueue func(context.Context, C) []reconcile.Request) source.TypedSyncingSource[reconcile.Request] {
	whole := s.cluster.Cluster()
	if whole == nil {
		return nil
	}

	to := fanOut{func(ctx context.Context, o client.Object) []reconcile.Request {
		c, ok := o.(C)
		if !ok {
			return nil
		}

		return enqueue(ctx, c)
	}}

	return source.Kind(whole.GetCache(), client.Object(s.empty()), to, predicate.NewPredicateFuncs(s.concerns), matters())
}

// Matters lets changes of a configuration pass: not those of its status, or of who wrote
// it.
func matters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectNew.GetGeneration() == 0 || differs(e)
	}}
}

// Remembered is the source behind ProviderConfig and a channel of updates: what was
// sent last.
type remembered[T API, C Config] struct {
	mu     sync.Mutex
	config C
	loaded bool
	gone   bool
}

// ConfigFor returns what was sent last. After it was taken back it still comes along
// with the error, since deletions can go on with it.
func (r *remembered[T, C]) ConfigFor(context.Context, T) (C, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.gone && r.loaded:
		return r.config, ErrConfigTerminating
	case r.gone:
		return r.config, ErrConfigNotFound
	case !r.loaded:
		return r.config, ErrConfigNotLoaded
	default:
		return r.config, nil
	}
}

// Source returns nil: what is sent comes over a channel.
func (*remembered[T, C]) Source(func(context.Context, C) []reconcile.Request) source.TypedSyncingSource[reconcile.Request] {
	return nil
}

// Take stores what was sent, nil for nothing.
func (r *remembered[T, C]) take(e event.GenericEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := e.Object.(C)
	if !ok || isNil(c) {
		r.gone = true

		return
	}
	if copied, ok := c.DeepCopyObject().(C); ok {
		r.config, r.loaded, r.gone = copied, true, false
	}
}

// IsNil sees through an interface that holds a nil pointer, or anything else that is nil.
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

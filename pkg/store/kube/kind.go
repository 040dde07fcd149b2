package kube

import (
	"context"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/apicore"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// A Kind assigns a store to a kind of objects. Use Serve.
type Kind struct {
	kind func(scheme *runtime.Scheme) (*kind, error)
}

// A KindOption is an option of Serve.
type KindOption func(k *kind)

// ClusterScoped declares that objects of the kind have no namespace. The default is
// that they have one.
func ClusterScoped() KindOption { return func(k *kind) { k.scope = meta.RESTScopeRoot } }

// Serve assigns a store to the objects of type T. The store must hold no other objects, so two kinds need two stores. T
// is a pointer to a type in the scheme of the client. If the type has a field status, that field is the subresource
// status.
func Serve[T client.Object](s store.Store[*Envelope[T]], o ...KindOption) Kind {
	return Kind{func(scheme *runtime.Scheme) (*kind, error) {
		k := &kind{typ: reflect.TypeFor[T](), scope: meta.RESTScopeNamespace}
		if k.typ.Kind() != reflect.Pointer || k.typ.Elem().Kind() != reflect.Struct {
			return nil, errors.Errorf("cannot serve %s: it is not a pointer to a struct", k.typ)
		}
		empty, ok := reflect.New(k.typ.Elem()).Interface().(T)
		if !ok {
			return nil, errors.Errorf("cannot serve %s: it is no object", k.typ)
		}
		gvks, _, err := scheme.ObjectKinds(empty)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot serve %s", k.typ)
		}
		k.plural, k.singular = meta.UnsafeGuessKindToResource(gvks[0])
		k.Kind = apicore.NewKind(gvks[0], k.plural.GroupResource(), k.typ.Elem())
		k.entries = &typed[T]{store: s}
		for _, apply := range o {
			apply(k)
		}

		return k, nil
	}}
}

// A kind describes the objects of one kind. It is immutable.
type kind struct {
	apicore.Kind

	plural, singular schema.GroupVersionResource
	typ              reflect.Type // a pointer
	scope            meta.RESTScope
	entries          entries
}

func (k *kind) namespaced() bool { return k.scope.Name() == meta.RESTScopeNameNamespace }

// show makes an image what a client sees, and returns it.
func (k *kind) show(image map[string]any) map[string]any {
	image["apiVersion"], image["kind"] = k.GVK.GroupVersion().String(), k.GVK.Kind
	if !k.Custom {
		delete(apicore.Metadata(image), "generation")
		delete(apicore.Metadata(image), "deletionGracePeriodSeconds")
	}

	return image
}

// typed returns a new typed object, decoded from a JSON object.
func (k *kind) typed(image map[string]any) (client.Object, error) {
	o, ok := reflect.New(k.typ.Elem()).Interface().(client.Object)
	if !ok {
		return nil, errors.Errorf("%s is no object", k.typ)
	}
	if err := decode(image, o); err != nil {
		return nil, err
	}
	o.GetObjectKind().SetGroupVersionKind(k.GVK)

	return o, nil
}

// entries is a store of envelopes without its type parameter. The caller owns the metadata of the returned JSON
// objects. Their other fields are shared and must not be changed.
type entries interface {
	state(ctx context.Context) (store.State, error)
	get(ctx context.Context, key string) (map[string]any, error)
	list(ctx context.Context, prefix string, each func(map[string]any) bool, bad func(error)) error
	create(ctx context.Context, image map[string]any) (map[string]any, error)
	update(ctx context.Context, image map[string]any, sub string) (map[string]any, error)
	remove(ctx context.Context, key string, o ...store.DeleteOption) error
	watch(ctx context.Context, prefix string) (
		change func(tick <-chan time.Time) (storeEvent, bool), why func() error, stop func(), err error)
}

// A storeEvent is an event of a store's watch without its type parameter.
type storeEvent struct {
	store.Event[struct{}]

	image   map[string]any
	compare bool // no event: it is time to compare with the store
}

type typed[T client.Object] struct{ store store.Store[*Envelope[T]] }

func (t *typed[T]) state(ctx context.Context) (store.State, error) { return t.store.State(ctx) }

func (t *typed[T]) get(ctx context.Context, key string) (map[string]any, error) {
	return image(t.store.Get(ctx, key))
}

func image[T client.Object](e *Envelope[T], err error) (map[string]any, error) {
	if err != nil {
		return nil, err
	}

	return e.image(), nil
}

// list calls each with every object, and bad with the error of every entry that cannot be decoded.
func (t *typed[T]) list(ctx context.Context, prefix string, each func(map[string]any) bool, bad func(error)) error {
	for e, err := range t.store.List(ctx, store.WithPrefix(prefix)) {
		switch {
		case errors.Is(err, store.ErrUndecodable):
			bad(err)
		case err != nil:
			return err
		case !each(e.image()):
			return nil
		}
	}

	return nil
}

func (t *typed[T]) create(ctx context.Context, in map[string]any) (map[string]any, error) {
	e, err := seal[T](in)
	if err != nil {
		return nil, err
	}

	return image(t.store.Create(ctx, e))
}

func (t *typed[T]) update(ctx context.Context, in map[string]any, sub string) (map[string]any, error) {
	e, err := seal[T](in)
	if err != nil {
		return nil, err
	}
	if sub != "" {
		return image(t.store.UpdateStatus(ctx, e))
	}

	return image(t.store.Update(ctx, e))
}

func (t *typed[T]) remove(ctx context.Context, key string, o ...store.DeleteOption) error {
	return t.store.Delete(ctx, key, o...)
}

// watch starts a watch of the store and returns three functions. The first waits for the next event or tick, and
// returns false if there is none. The second returns the error of the watch. The third stops the watch, and may be
// called again.
func (t *typed[T]) watch(ctx context.Context,
	prefix string) (func(<-chan time.Time) (storeEvent, bool), func() error, func(), error) {
	w, err := t.store.Watch(ctx, store.WithPrefix(prefix))
	if err != nil {
		return nil, nil, nil, err
	}
	next := func(tick <-chan time.Time) (storeEvent, bool) {
		var e store.Event[*Envelope[T]]
		ok := false
		select {
		case <-tick:
			return storeEvent{compare: true}, true
		case e, ok = <-w.Events():
		}
		if !ok {
			return storeEvent{}, false
		}
		h := storeEvent{Event: store.Event[struct{}]{
			Op: e.Op, Key: e.Key, Revision: e.Revision, Err: e.Err, Synced: e.Synced,
			Epoch: e.Epoch,
		}}
		if e.Object != nil && e.Err == nil {
			h.image = e.Object.image()
		}

		return h, true
	}

	return next, w.Err, w.Stop, nil
}

// A registry has the kinds that are served.
type registry struct {
	scheme *runtime.Scheme
	kinds  map[schema.GroupVersionKind]*kind
	mapper *meta.DefaultRESTMapper
}

func newRegistry(scheme *runtime.Scheme, kinds []Kind) (*registry, error) {
	r := &registry{scheme: scheme, kinds: map[schema.GroupVersionKind]*kind{}, mapper: meta.NewDefaultRESTMapper(nil)}
	for _, of := range kinds {
		if of.kind == nil {
			return nil, errors.New("cannot serve a Kind that Serve has not made")
		}
		k, err := of.kind(scheme)
		if err != nil {
			return nil, err
		}
		if r.kinds[k.GVK] != nil {
			return nil, errors.Errorf("cannot serve %s from two stores", k.GVK)
		}
		r.kinds[k.GVK] = k
		r.mapper.AddSpecific(k.GVK, k.plural, k.singular, k.scope)
	}

	return r, nil
}

// of returns the kind of an object, which may be typed, unstructured, or metadata
// alone.
func (r *registry) of(o runtime.Object) (*kind, error) {
	gvk, err := r.gvk(o)
	if err != nil {
		return nil, err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, listSuffix(o))
	if k := r.kinds[gvk]; k != nil {
		return k, nil
	}

	return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
}

func listSuffix(o runtime.Object) string {
	if meta.IsListType(o) {
		return "List"
	}

	return ""
}

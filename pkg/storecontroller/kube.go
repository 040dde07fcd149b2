package storecontroller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// A KubeOption is an option of OwnsKube.
type KubeOption func(o *kubeOptions)

type kubeOptions struct{ client client.Client }

// WithClient sets the client that deletes garbage. It is required if the cache is not that of the manager's cluster.
// The default is the client of the manager.
func WithClient(c client.Client) KubeOption { return func(o *kubeOptions) { o.client = c } }

// OwnsKube watches objects in Kubernetes that have the marks of the controller's primaries (see Marks). The manager or
// the cluster that owns the cache also runs it.
func OwnsKube[T client.Object](c cache.Cache, obj T, o ...KubeOption) Dependency {
	d := ownsKube[T]{cache: c, obj: obj}
	for _, apply := range o {
		apply(&d.opts)
	}

	return d
}

// ReadsKube watches objects in Kubernetes that the primaries depend on. The function maps an object to the keys of
// primaries. The controller calls it with the old and the new state of an object. With a nil function no key is
// enqueued.
func ReadsKube[T client.Object](c cache.Cache, obj T, keys func(context.Context, T) []string) Dependency {
	return readsKube[T]{c, obj, keys}
}

type readsKube[T client.Object] struct {
	cache cache.Cache
	obj   T
	keys  func(context.Context, T) []string
}

func (d readsKube[T]) bind(context.Context, binding) (bound, error) {
	keys := d.keys
	if keys == nil {
		keys = func(context.Context, T) []string { return nil }
	}

	return bound{source: kubeSource(d.cache, d.obj, keys)}, nil
}

// kubeSource enqueues the keys that the function returns.
func kubeSource[T client.Object](c cache.Cache, obj T,
	keys func(context.Context, T) []string) source.TypedSource[Request] {
	return source.TypedKind(c, obj,
		handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, obj T) (out []Request) {
			for _, key := range keys(ctx, obj) {
				if store.ValidKey(key) {
					out = append(out, Request{Key: key})
				}
			}

			return out
		}))
}

type ownsKube[T client.Object] struct {
	cache cache.Cache
	obj   T
	opts  kubeOptions
}

func (d ownsKube[T]) bind(ctx context.Context, b binding) (bound, error) {
	o := cacheLister{cache: d.cache, client: d.opts.client, b: b,
		index: "moorage.dev/owner-of-kind-" + b.kind + "-for-" + b.name}
	if o.client == nil {
		o.client = b.kube
	}
	if o.client == nil {
		return bound{}, errors.New("cannot own objects in Kubernetes without a client: pass a manager or WithClient")
	}
	var err error
	if o.kind, o.list, err = newListOf(d.obj, o.client.Scheme()); err != nil {
		return bound{}, err
	}
	err = d.cache.IndexField(ctx, d.obj, o.index, func(obj client.Object) []string { return o.keys(obj) })
	if err != nil {
		return bound{}, errors.Wrapf(err,
			"cannot index %s by owners of kind %s (two controllers of the same name and kind need a cache each)", o.kind, b.kind)
	}
	src := kubeSource(d.cache, d.obj, func(_ context.Context, obj T) []string { return o.keys(obj) })

	return bound{source: src, owned: o}, nil
}

// newListOf returns the kind of an object, and a function that returns an empty list of that kind.
func newListOf(obj client.Object, scheme *runtime.Scheme) (string, func() (client.ObjectList, error), error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return "", nil, errors.Wrapf(err, "cannot determine the kind of %T", obj)
	}
	of := gvk.GroupVersion().WithKind(gvk.Kind + "List")

	return gvk.Kind, func() (client.ObjectList, error) {
		switch obj.(type) {
		case *unstructured.Unstructured:
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(of)

			return list, nil
		case *metav1.PartialObjectMetadata:
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(of)

			return list, nil
		}
		empty, err := scheme.New(of)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot list %s", gvk.Kind)
		}
		list, ok := empty.(client.ObjectList)
		if !ok {
			return nil, errors.Errorf("%T is not a list", empty)
		}

		return list, nil
	}, nil
}

// A cacheLister lists secondaries from a cache of controller-runtime.
type cacheLister struct {
	cache  cache.Cache
	client client.Client
	b      binding
	kind   string
	index  string
	list   func() (client.ObjectList, error)
}

func (o cacheLister) keys(obj client.Object) []string {
	// An incomplete mark maps to no primary; the garbage collector keeps the object.
	owner, err := o.b.marks.Owner(obj)
	if err != nil {
		return nil
	}

	return o.b.primaryKeys(owner)
}

func (o cacheLister) listByOwner(ctx context.Context, key string) ([]secondary, error) {
	return o.find(ctx, client.MatchingFields{o.index: key})
}

func (o cacheLister) listAll(ctx context.Context) ([]secondary, error) {
	var out []secondary
	seen := map[string]bool{} // both selectors match an object with marks of both prefixes
	for _, selector := range o.b.marks.selectors(o.b.kind) {
		found, err := o.find(ctx, client.MatchingLabelsSelector{Selector: selector})
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			if !seen[s.id] {
				out = append(out, s)
			}
			seen[s.id] = true
		}
	}

	return out, nil
}

func (o cacheLister) find(ctx context.Context, which client.ListOption) ([]secondary, error) {
	list, err := o.list()
	if err != nil {
		return nil, err
	}
	if err := o.cache.List(ctx, list, which); err != nil {
		return nil, errors.Wrapf(err, "cannot list %s", o.kind)
	}
	var out []secondary
	err = apimeta.EachListItem(list, func(item runtime.Object) error {
		obj, ok := item.(client.Object)
		if !ok || len(o.keys(obj)) == 0 {
			return nil
		}
		owner, err := o.b.marks.Owner(obj)
		if err == nil {
			out = append(out, kubeSecondary(o.client, o.kind, owner, obj))
		}

		return nil
	})

	return out, err
}

// kubeSecondary returns the object as a secondary. It cannot be removed without a client.
func kubeSecondary(c client.Client, kind string, owner store.Owner, obj client.Object) secondary {
	s := secondary{
		owner: owner, id: kind + " " + obj.GetNamespace() + "/" + obj.GetName() + "/" + string(obj.GetUID()),
		deleting: obj.GetDeletionTimestamp() != nil,
	}
	if c == nil {
		return s
	}
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	s.remove = func(ctx context.Context) error {
		err := c.Delete(ctx, obj.DeepCopyObject().(client.Object), client.Preconditions{UID: &uid, ResourceVersion: &version},
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		if gone.Named(err) || apierrors.IsConflict(err) {
			return nil // the object has changed since it was observed: the next pass reads it again
		}

		return err
	}

	return s
}

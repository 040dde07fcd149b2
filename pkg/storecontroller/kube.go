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

// A KubeOption changes how objects in Kubernetes are owned.
type KubeOption func(o *kubeOptions)

type kubeOptions struct{ client client.Client }

// WithClient collects garbage with this client, as the cluster of the cache needs
// it. The default is that of the manager.
func WithClient(c client.Client) KubeOption { return func(o *kubeOptions) { o.client = c } }

// OwnsKube watches objects in Kubernetes that are made for the primaries of the
// controller and marked with them, see Marks. The cache is that of a manager or of
// a cluster, and is run by it.
func OwnsKube[T client.Object](c cache.Cache, obj T, o ...KubeOption) Dependency {
	d := ownsKube[T]{cache: c, obj: obj}
	for _, apply := range o {
		apply(&d.opts)
	}

	return d
}

// ReadsKube watches objects in Kubernetes that the primaries need to know of. An
// object leads to the keys that the function returns, for what it was and for what
// it is; without a function, to none.
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

func kubeSource[T client.Object](c cache.Cache, obj T, keys func(context.Context, T) []string) source.TypedSource[Request] {
	return source.TypedKind(c, obj, handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, obj T) (out []Request) {
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
	o := kubeOwned{cache: d.cache, client: d.opts.client, b: b, index: "moorage.dev/owner-of-kind-" + b.kind + "-for-" + b.name}
	if o.client == nil {
		o.client = b.kube
	}
	if o.client == nil {
		return bound{}, errors.New("cannot own objects in Kubernetes without a client: give a manager, or WithClient")
	}
	var err error
	if o.kind, o.list, err = listOf(d.obj, o.client.Scheme()); err != nil {
		return bound{}, err
	}
	err = d.cache.IndexField(ctx, d.obj, o.index, func(obj client.Object) []string { return o.keys(obj) })
	if err != nil {
		return bound{}, errors.Wrapf(err, "cannot index %s by owners of kind %s (two controllers of one name and kind need a cache each)", o.kind, b.kind)
	}
	src := kubeSource(d.cache, d.obj, func(_ context.Context, obj T) []string { return o.keys(obj) })

	return bound{source: src, owned: o}, nil
}

// listOf returns the kind of an object, and what makes an empty list of it.
func listOf(obj client.Object, scheme *runtime.Scheme) (string, func() (client.ObjectList, error), error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return "", nil, errors.Wrapf(err, "cannot tell the kind of %T", obj)
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
			return nil, errors.Errorf("%T is no list", empty)
		}

		return list, nil
	}, nil
}

// kubeOwned finds secondaries in a cache.
type kubeOwned struct {
	cache  cache.Cache
	client client.Client
	b      binding
	kind   string
	index  string
	list   func() (client.ObjectList, error)
}

func (o kubeOwned) keys(obj client.Object) []string {
	// A mark that is half leads nowhere; the collector leaves the object alone.
	owner, err := o.b.marks.Owner(obj)
	if err != nil {
		return nil
	}

	return o.b.mine(owner)
}

func (o kubeOwned) ofOwner(ctx context.Context, key string) ([]secondary, error) {
	return o.find(ctx, client.MatchingFields{o.index: key})
}

func (o kubeOwned) all(ctx context.Context) ([]secondary, error) {
	var out []secondary
	seen := map[string]bool{} // what bears marks of two prefixes is found by both
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

func (o kubeOwned) find(ctx context.Context, which client.ListOption) ([]secondary, error) {
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

func kubeSecondary(c client.Client, kind string, owner store.Owner, obj client.Object) secondary {
	s := secondary{
		owner: owner, id: kind + " " + obj.GetNamespace() + "/" + obj.GetName() + "/" + string(obj.GetUID()),
		going: obj.GetDeletionTimestamp() != nil,
	}
	if c == nil {
		return s
	}
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	s.remove = func(ctx context.Context) error {
		err := c.Delete(ctx, obj.DeepCopyObject().(client.Object), client.Preconditions{UID: &uid, ResourceVersion: &version},
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		if gone.Named(err) || apierrors.IsConflict(err) {
			return nil // it is not what was seen any more: the next pass looks again
		}

		return err
	}

	return s
}

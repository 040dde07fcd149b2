package testing

import (
	"context"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// NewScheme returns a scheme with the kinds of client-go and CustomResourceDefinition.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // a kind is registered twice: a programming error
		}
	}
	return scheme
}

// NewFakeMapper returns a RESTMapper for all kinds of the scheme in all versions.
func NewFakeMapper(scheme *runtime.Scheme) meta.RESTMapper {
	return testrestmapper.TestOnlyStaticRESTMapper(scheme)
}

// NewFakeClient returns a client of an in-memory cluster that contains the objects.
func NewFakeClient(scheme *runtime.Scheme, objs ...runtime.Object) *FakeIndexClient {
	b := fake.NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(objs...).WithReturnManagedFields()
	return &FakeIndexClient{
		Client:  b.Build(),
		indices: map[schema.GroupVersionKind]map[string]client.IndexerFunc{},
	}
}

// A FakeIndexClient is a client of an in-memory cluster. Indices can be registered after its
// creation, as with the cache of a manager. Create it with NewFakeClient. It is safe for concurrent
// use.
type FakeIndexClient struct {
	client.Client

	mu      sync.Mutex
	indices map[schema.GroupVersionKind]map[string]client.IndexerFunc
}

var _ client.FieldIndexer = &FakeIndexClient{}

// IndexField registers an index, which List uses to evaluate field selectors.
func (fc *FakeIndexClient) IndexField(
	_ context.Context, obj client.Object, field string, extractValue client.IndexerFunc,
) error {
	kind, err := apiutil.GVKForObject(obj, fc.Scheme())
	if err != nil {
		return err
	}
	fc.mu.Lock()
	defer fc.mu.Unlock()
	if fc.indices[kind] == nil {
		fc.indices[kind] = map[string]client.IndexerFunc{}
	}
	fc.indices[kind][field] = extractValue
	return nil
}

// List lists objects. It evaluates a field selector with the registered indices. As with a cache,
// it returns an error if a field has no index.
func (fc *FakeIndexClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	selector := o.FieldSelector
	o.FieldSelector = nil
	if err := fc.Client.List(ctx, list, &o); err != nil || selector == nil || selector.Empty() {
		return err
	}
	kind, err := apiutil.GVKForObject(list, fc.Scheme())
	if err != nil {
		return err
	}
	kind.Kind = kind.Kind[:len(kind.Kind)-len("List")]
	return fc.filter(list, kind, selector)
}

// filter removes the items that do not match the field selector.
func (fc *FakeIndexClient) filter(
	list client.ObjectList, kind schema.GroupVersionKind, selector fields.Selector,
) error {
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	for _, want := range selector.Requirements() {
		fc.mu.Lock()
		values := fc.indices[kind][want.Field]
		fc.mu.Unlock()
		if values == nil {
			return errors.Errorf("index with name field:%s does not exist", want.Field)
		}
		items = slices.DeleteFunc(items, func(item runtime.Object) bool {
			obj, ok := item.(client.Object)
			return !ok || !slices.Contains(values(obj), want.Value)
		})
	}
	return meta.SetList(list, items)
}

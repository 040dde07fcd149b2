package providerconfig

import (
	"context"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/records"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The group of this package on a shared API server.
var group = schema.GroupVersion{Group: "providerconfig.example.moorage.dev", Version: "v1"}

// A Tenant is a configuration with a namespace and with conditions.
type Tenant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   map[string]string             `json:"spec,omitempty"`
	Status commonv1.ProviderConfigStatus `json:"status,omitempty"`
}

func (w *Tenant) GetUsers() int64                       { return w.Status.GetUsers() }
func (w *Tenant) SetUsers(n int64)                      { w.Status.SetUsers(n) }
func (w *Tenant) SetConditions(c ...commonv1.Condition) { w.Status.SetConditions(c...) }
func (w *Tenant) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return w.Status.GetCondition(t)
}

func (w *Tenant) DeepCopyObject() runtime.Object {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	w.Status.DeepCopyInto(&out.Status)

	return &out
}

// A ClusterTenant is a configuration without a namespace and without conditions.
type ClusterTenant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status struct {
		Users int64 `json:"users,omitempty"`
	} `json:"status,omitempty"`
}

func (w *ClusterTenant) GetUsers() int64  { return w.Status.Users }
func (w *ClusterTenant) SetUsers(n int64) { w.Status.Users = n }
func (w *ClusterTenant) DeepCopyObject() runtime.Object {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)

	return &out
}

// A Bucket uses a configuration.
type Bucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BucketSpec                 `json:"spec,omitempty"`
	Status commonv1.ConditionedStatus `json:"status,omitempty"`
}

// A BucketSpec says which one.
type BucketSpec struct {
	ProviderConfigRef *commonv1.ProviderConfigReference `json:"providerConfigRef,omitempty"`
}

// GetProviderConfigReference returns the reference.
func (b *Bucket) GetProviderConfigReference() *commonv1.ProviderConfigReference {
	return b.Spec.ProviderConfigRef
}

func (b *Bucket) SetConditions(c ...commonv1.Condition) { b.Status.SetConditions(c...) }
func (b *Bucket) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return b.Status.GetCondition(t)
}

func (b *Bucket) DeepCopyObject() runtime.Object {
	out := *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	b.Status.DeepCopyInto(&out.Status)
	if b.Spec.ProviderConfigRef != nil {
		out.Spec.ProviderConfigRef = new(*b.Spec.ProviderConfigRef)
	}

	return &out
}

// A list of objects.
type list[T any, P interface {
	*T
	runtime.Object
}] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []T `json:"items"`
}

func (l *list[T, P]) DeepCopyObject() runtime.Object {
	out := &list[T, P]{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *(*T)(P(&l.Items[i]).DeepCopyObject().(P)))
	}

	return out
}

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(group.WithKind("Tenant"), &Tenant{})
	s.AddKnownTypeWithName(group.WithKind("TenantList"), &list[Tenant, *Tenant]{})
	s.AddKnownTypeWithName(group.WithKind("ClusterTenant"), &ClusterTenant{})
	s.AddKnownTypeWithName(group.WithKind("ClusterTenantList"), &list[ClusterTenant, *ClusterTenant]{})
	s.AddKnownTypeWithName(group.WithKind("Bucket"), &Bucket{})
	s.AddKnownTypeWithName(group.WithKind("BucketList"), &list[Bucket, *Bucket]{})
	metav1.AddToGroupVersion(s, group)

	return s
}

func definitions() []*apiextensionsv1.CustomResourceDefinition {
	anything := new(true)
	define := func(kind, plural string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group.Group},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: group.Group, Scope: scope,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List",
					Plural: plural},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: group.Version, Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", XPreserveUnknownFields: anything,
					}},
					Subresources: &apiextensionsv1.CustomResourceSubresources{
						Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					},
				}},
			},
		}
	}

	return []*apiextensionsv1.CustomResourceDefinition{
		define("Tenant", "tenants", apiextensionsv1.NamespaceScoped),
		define("ClusterTenant", "clustertenants", apiextensionsv1.ClusterScoped),
		define("Bucket", "buckets", apiextensionsv1.NamespaceScoped),
	}
}

var kinds = Kinds{Namespaced: &Tenant{}, Cluster: &ClusterTenant{}}

func bucket(namespace, name, kind, config string) *Bucket {
	b := &Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if config != "" {
		b.Spec.ProviderConfigRef = &commonv1.ProviderConfigReference{Kind: kind, Name: config}
	}

	return b
}

func tenant(namespace, name string) *Tenant {
	return &Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func clusterTenant(name string) *ClusterTenant {
	return &ClusterTenant{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// A fixture is a reconciler for each kind, over an API server in memory whose writes
// are written down.
type fixture struct {
	*testing.T

	client.Client
	clock   *clocktesting.FakePassiveClock
	tracker *tracker
	rs      map[string]*reconciler
	writes  []string
	events  []string

	// before, if set, is called before a write.
	before func() error
	// stale, if set, is what the cache shows, which lags behind, or does not notice that
	// the API server was restored.
	stale *Tenant
	// gets are the reads that the cache did not answer.
	gets int
	// prunes makes the server drop whatever is written to a status.
	prunes bool
}

// A fakeCache lists from the API server in memory.
type fakeCache struct {
	cache.Cache

	client client.Client
}

func (c fakeCache) List(ctx context.Context, l client.ObjectList, o ...client.ListOption) error {
	return c.client.List(ctx, l, o...)
}

func newFixture(t *testing.T, objects ...client.Object) *fixture {
	t.Helper()
	p := &fixture{T: t, clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)), rs: map[string]*reconciler{}}
	p.restore(objects...)
	f, err := newConfigKinds(kinds, p.Client)
	if err != nil {
		t.Fatal(err)
	}
	p.tracker = newTracker(f, fakeCache{client: p}, p.Scheme(), unservedBy(nil))
	p.tracker.kindSynced[group.WithKind("Bucket")] = true
	for _, kind := range f {
		p.rs[kind.gvk.Kind] = &reconciler{
			kind: kind, client: p, apiReader: apiServerReader{p},
			finalizer: resource.NewAPIFinalizer(p, FinalizerName), tracker: p.tracker,
			records: records.New[record](nil), logger: logging.NewNopLogger(), recorder: p, clock: p.clock,
			interval: 5 * time.Second,
		}
	}

	return p
}

// restore puts another API server in the place of the one that there is. It has these
// objects, with the versions that they come with.
func (p *fixture) restore(objects ...client.Object) {
	p.Client = fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects...).
		WithStatusSubresource(&Tenant{}, &ClusterTenant{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, obj client.Object,
				o ...client.GetOption) error {
				if w, ok := obj.(*Tenant); ok && p.stale != nil {
					*w = *p.stale.DeepCopyObject().(*Tenant)

					return nil
				}

				return c.Get(ctx, k, obj, o...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
				o ...client.PatchOption) error {
				if err := p.write("patch", obj); err != nil {
					return err
				}

				return c.Patch(ctx, obj, patch, o...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object,
				patch client.Patch, o ...client.SubResourcePatchOption) error {
				if err := p.write(sub, obj); err != nil {
					return err
				}
				if p.prunes {
					return c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
				}

				return c.SubResource(sub).Patch(ctx, obj, patch, o...)
			},
		}).Build()
}

func (p *fixture) write(what string, obj client.Object) error {
	p.writes = append(p.writes, what+" "+obj.GetName())
	if p.before != nil {
		return p.before()
	}

	return nil
}

// Live reads from the API server, whatever its cache shows.
type apiServerReader struct{ fixture *fixture }

func (l apiServerReader) Get(ctx context.Context, k client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	l.fixture.gets++
	stale := l.fixture.stale
	l.fixture.stale = nil
	defer func() { l.fixture.stale = stale }()

	return l.fixture.Get(ctx, k, obj, o...)
}

func (l apiServerReader) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	return l.fixture.List(ctx, list, o...)
}

// Event writes an event down.
func (p *fixture) Event(obj runtime.Object, e event.Event) {
	p.events = append(p.events, string(e.Type)+" "+string(e.Reason)+" "+obj.(client.Object).GetName()+": "+e.Message)
}

// WithAnnotations returns the fixture.
func (p *fixture) WithAnnotations(...string) event.Recorder { return p }

// use adds a bucket, or changes its reference; the informer delivers it at once.
func (p *fixture) use(b *Bucket) {
	p.Helper()
	old := &Bucket{}
	if err := p.Get(p.Context(), client.ObjectKeyFromObject(b), old); err == nil {
		b.ResourceVersion = old.ResourceVersion
		if err := p.Update(p.Context(), b); err != nil {
			p.Fatal(err)
		}
	} else if err := p.Create(p.Context(), b); err != nil {
		p.Fatal(err)
	}
	p.tracker.handler(p.Context(), group.WithKind("Bucket").GroupKind()).OnAdd(b, false)
}

func (p *fixture) sink(b *Bucket) {
	p.Helper()
	if err := p.Client.Delete(p.Context(), b); err != nil {
		p.Fatal(err)
	}
	p.tracker.handler(p.Context(), group.WithKind("Bucket").GroupKind()).OnDelete(b)
}

// pass runs one pass over a configuration, which must succeed.
func (p *fixture) pass(c Config) reconcile.Result {
	p.Helper()
	result, err := p.try(c)
	if err != nil {
		p.Fatal(err)
	}

	return result
}

func (p *fixture) try(c Config) (reconcile.Result, error) {
	p.Helper()
	gvk, err := p.GroupVersionKindFor(c)
	if err != nil {
		p.Fatal(err)
	}

	return p.rs[gvk.Kind].Reconcile(p.Context(), reconcile.Request{
		NamespacedName: types.NamespacedName{Namespace: c.GetNamespace(), Name: c.GetName()},
	})
}

// load reads a configuration, and reports whether it exists.
func (p *fixture) load(c Config) bool {
	p.Helper()
	err := p.Get(p.Context(), client.ObjectKeyFromObject(c), c)
	if gone.Ignore(err, c.GetName()) != nil {
		p.Fatal(err)
	}

	return err == nil
}

func (p *fixture) remove(c Config) {
	p.Helper()
	if err := p.Client.Delete(p.Context(), c); err != nil {
		p.Fatal(err)
	}
}

package serviceprovider

import (
	"context"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	poll "k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/leak"
	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

const finalizer = "foo.example.org/service"

var (
	group  = schema.GroupVersion{Group: "service.example.org", Version: "v1"}
	scheme = runtime.NewScheme()
	plane  *rest.Config
	api    client.Client
	boom   = errors.New("boom")
)

// Foo is an object of a service.
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FooSpec   `json:"spec,omitempty"`
	Status FooStatus `json:"status,omitempty"`
}

type FooSpec struct {
	Size string `json:"size,omitempty"`
}

type FooStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	Note               string             `json:"note,omitempty"`
	Other              string             `json:"other,omitempty"`
}

func (f *Foo) Finalizer() string                  { return finalizer }
func (f *Foo) GetStatus() any                     { return f.Status }
func (f *Foo) GetConditions() *[]metav1.Condition { return &f.Status.Conditions }
func (f *Foo) SetPhase(p string)                  { f.Status.Phase = p }
func (f *Foo) SetObservedGeneration(g int64)      { f.Status.ObservedGeneration = g }

func (f *Foo) DeepCopyObject() runtime.Object {
	out := *f
	out.ObjectMeta = *f.ObjectMeta.DeepCopy()
	out.Status.Conditions = slices.Clone(f.Status.Conditions)

	return &out
}

type FooList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Foo `json:"items"`
}

func (l *FooList) DeepCopyObject() runtime.Object {
	out := &FooList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Foo))
	}

	return out
}

// FooConfig is the configuration of the service.
type FooConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Poll  metav1.Duration `json:"poll,omitempty"`
	Image string          `json:"image,omitempty"`
}

func (c *FooConfig) PollInterval() time.Duration { return c.Poll.Duration }

func (c *FooConfig) DeepCopyObject() runtime.Object {
	out := *c
	out.ObjectMeta = *c.ObjectMeta.DeepCopy()

	return &out
}

type FooConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FooConfig `json:"items"`
}

func (l *FooConfigList) DeepCopyObject() runtime.Object {
	out := &FooConfigList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*FooConfig))
	}

	return out
}

func newFoo() *Foo             { return &Foo{} }
func newFooConfig() *FooConfig { return &FooConfig{} }

func TestMain(m *testing.M) {
	leak.VerifyTestMain(leak.Tests(
		func() (int, error) { return run(m) }), append(leak.Connections(), leak.Informers()...)...)
}

func run(m *testing.M) (int, error) {
	ctx := context.Background()
	ctrllog.SetLogger(logr.Discard())
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	scheme.AddKnownTypes(group, &Foo{}, &FooList{}, &FooConfig{}, &FooConfigList{})
	metav1.AddToGroupVersion(scheme, group)
	c, err := devcluster.Join(ctx, devcluster.Options{Progress: os.Stderr})
	if err != nil {
		return 1, err
	}
	defer func() { _ = c.Stop() }()
	if plane, err = c.RESTConfig(); err != nil {
		return 1, err
	}
	if api, err = client.New(plane, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{
		definition("Foo", "foos", apiextensionsv1.NamespaceScoped), definition(
			"FooConfig", "fooconfigs", apiextensionsv1.ClusterScoped),
	} {
		if err := client.IgnoreAlreadyExists(api.Create(ctx, crd)); err != nil {
			return 1, err
		}
	}
	err = poll.PollUntilContextTimeout(ctx, 50*time.Millisecond, wait.Patience(), true, func(
		ctx context.Context,
	) (bool, error) {
		return api.List(ctx, &FooList{}) == nil && api.List(ctx, &FooConfigList{}) == nil, nil
	})
	if err != nil {
		return 1, err
	}

	return m.Run(), nil
}

func definition(kind, plural string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group.Group, Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: group.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object",
						XPreserveUnknownFields: new(true)},
				},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				},
			}},
		},
	}
}

// domain is a service whose results a test sets. It records its calls.
type domain struct {
	mu     sync.Mutex
	calls  []string
	config *FooConfig
	given  ClusterContext

	result ctrl.Result
	err    error
	do     func(ctx context.Context, f *Foo) error
}

func (d *domain) CreateOrUpdate(ctx context.Context, f *Foo, c *FooConfig, cc ClusterContext) (ctrl.Result, error) {
	return d.call(ctx, "CreateOrUpdate", f, c, cc, func() { StatusReady(f) })
}

func (d *domain) Delete(ctx context.Context, f *Foo, c *FooConfig, cc ClusterContext) (ctrl.Result, error) {
	return d.call(ctx, "Delete", f, c, cc, func() { StatusTerminating(f) })
}

func (d *domain) call(
	ctx context.Context, what string, f *Foo, c *FooConfig, cc ClusterContext, well func(),
) (ctrl.Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.config, d.given = append(d.calls, what), c, cc
	if d.do != nil {
		if err := d.do(ctx, f); err != nil {
			return ctrl.Result{}, err
		}
	}
	if d.err != nil {
		StatusProgressing(f, "DomainError", d.err.Error())
		if what == "Delete" {
			StatusTerminating(f)
		}

		return ctrl.Result{}, d.err
	}
	well()

	return d.result, nil
}

func (d *domain) called() []string {
	d.mu.Lock()
	defer d.mu.Unlock()

	return slices.Clone(d.calls)
}

// fakeProvider is an access provider whose results a test sets.
type fakeProvider struct {
	mu        sync.Mutex
	calls     []string
	cluster   *clusters.Cluster
	pending   time.Duration // of Reconcile
	err       error         // of Reconcile
	unasked   bool          // there is no AccessRequest
	leaving   bool          // it is being deleted
	lookErr   error         // of looking for it
	deleting  time.Duration // of ReconcileDelete
	deleteErr error
}

func (g *fakeProvider) record(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, what)
}

func (g *fakeProvider) MCPCluster(context.Context, reconcile.Request) (*clusters.Cluster, error) {
	return g.cluster, nil
}

func (g *fakeProvider) WorkloadCluster(context.Context, reconcile.Request) (*clusters.Cluster, error) {
	return g.cluster, nil
}

func (g *fakeProvider) MCPAccessRequest(
	_ context.Context, r reconcile.Request,
) (*clustersv1alpha1.AccessRequest, error) {
	return g.request(r, "mcp")
}

func (g *fakeProvider) WorkloadAccessRequest(
	_ context.Context, r reconcile.Request,
) (*clustersv1alpha1.AccessRequest, error) {
	return g.request(r, "workload")
}

func (g *fakeProvider) request(r reconcile.Request, id string) (*clustersv1alpha1.AccessRequest, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ar := &clustersv1alpha1.AccessRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "platform",
		Name: r.Name + "--" + id}}
	ar.Status.SecretRef = &clustersv1alpha1.LocalObjectReference{Name: r.Name + "." + id}
	if g.leaving {
		ar.DeletionTimestamp = new(metav1.Now())
	}
	switch {
	case g.lookErr != nil:
		return nil, g.lookErr
	case g.unasked:
		return nil, kerrors.NewNotFound(schema.GroupResource{Resource: "accessrequests"}, ar.Name)
	default:
		return ar, nil
	}
}

func (g *fakeProvider) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	g.record("Reconcile")
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unasked = g.unasked && g.err != nil

	return reconcile.Result{RequeueAfter: g.pending}, g.err
}

func (g *fakeProvider) ReconcileDelete(context.Context, reconcile.Request) (reconcile.Result, error) {
	g.record("ReconcileDelete")

	return reconcile.Result{RequeueAfter: g.deleting}, g.deleteErr
}

// eventRecorder records events.
type eventRecorder struct {
	event.Recorder

	mu     sync.Mutex
	events []string
}

func (t *eventRecorder) Event(_ runtime.Object, e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, string(e.Type)+" "+string(e.Reason))
}

// world is a namespace with an object of the service, and the environment of a reconciler.
type world struct {
	testworld.World[client.Client]

	ns     string
	domain *domain
	gate   *fakeProvider
	teller *eventRecorder
	home   *clusters.Cluster
	config *FooConfig
	build  func(b *APIReconcilerBuilder[*Foo, *FooConfig])
	r      *APIReconciler[*Foo, *FooConfig]
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		World: testworld.New(t, api), domain: &domain{}, gate: &fakeProvider{}, teller: &eventRecorder{},
		home: clusters.NewTestClusterFromClient("home", api),
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "serviceprovider-"}}
	w.Create(ns)
	w.ns = ns.Name
	w.gate.cluster = w.home
	w.config = &FooConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "foo"}, Poll: metav1.Duration{Duration: time.Minute}, Image: "v1",
	}

	return w
}

// builder returns a builder with all required values.
func (w *world) builder() *APIReconcilerBuilder[*Foo, *FooConfig] {
	b := NewAPIReconcilerBuilder[*Foo, *FooConfig]().EmptyObjectProvider(newFoo).OnboardingCluster(w.home).PlatformCluster(
		w.home).
		ClusterAccessReconciler(w.gate).Reconciler(w.domain).Recorder(w.teller).ProviderConfig(w.config)
	b.reconciler.random = func() float64 { return 0 }
	if w.build != nil {
		w.build(b)
	}

	return b
}

// restart replaces the reconciler, which loses its memory.
func (w *world) restart() { w.r = w.builder().MustBuild() }

func (w *world) create(name string, change ...func(*Foo)) *Foo {
	w.Helper()
	f := &Foo{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
	for _, c := range change {
		c(f)
	}
	w.Create(f)

	return f
}

func (w *world) pass(f *Foo) (ctrl.Result, error) {
	if w.r == nil {
		w.restart()
	}

	return w.r.Reconcile(w.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(f)})
}

// steady runs a pass that must succeed.
func (w *world) steady(f *Foo) ctrl.Result {
	w.Helper()
	result, err := w.pass(f)
	w.Must(err)

	return result
}

func (w *world) get(f *Foo) *Foo {
	w.Helper()
	got := &Foo{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: f.Name}}
	w.Read(got)

	return got
}

// expect compares the phase and the condition Ready.
func (w *world) expect(f *Foo, phase, reason string) *Foo {
	w.Helper()
	got := w.get(f)
	c := meta.FindStatusCondition(got.Status.Conditions, "Ready")
	if c == nil {
		c = &metav1.Condition{}
	}
	if got.Status.Phase != phase || c.Reason != reason {
		w.Errorf("want phase %q and reason %q, got %q and %q: %+v", phase, reason, got.Status.Phase, c.Reason,
			got.Status)
	}

	return got
}

func (w *world) condition(f *Foo, t string) string {
	w.Helper()
	c := meta.FindStatusCondition(w.get(f).Status.Conditions, t)
	if c == nil {
		return ""
	}

	return string(c.Status) + "/" + c.Reason
}

// requests is an access provider with AccessRequests for every cluster.
type requests struct{ detailedProvider }

func (r *requests) AccessRequest(
	_ context.Context, req reconcile.Request, id string,
) (*clustersv1alpha1.AccessRequest, error) {
	return r.fakeProvider.request(req, id)
}

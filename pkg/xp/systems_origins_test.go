package xp_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test/wait"
	"github.com/moorage-dev/moorage/pkg/xp"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubectl" {
		if err := kubectl(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}

		os.Exit(0)
	}

	ctrllog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// kubectl stands in for the program of that name, which not every machine has: it gets the
// objects of a kind and patches one.
func kubectl(ctx context.Context, args []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}

	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}

	kind, err := c.RESTMapper().KindFor(schema.ParseGroupResource(args[1]).WithVersion(""))
	if err != nil {
		return err
	}

	if args[0] == "get" {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))

		if err := c.List(ctx, list); err != nil {
			return err
		}

		return json.NewEncoder(os.Stdout).Encode(list)
	}

	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetName(args[2])

	for _, arg := range args {
		if namespace, ok := strings.CutPrefix(arg, "--namespace="); ok {
			o.SetNamespace(namespace)
		}
	}

	patch := []byte(strings.TrimPrefix(args[len(args)-1], "--patch="))
	if slices.Contains(args, "--subresource=status") {
		return c.Status().Patch(ctx, o, client.RawPatch(types.JSONPatchType, patch))
	}

	return c.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))
}

// A repo is of a kind of provider-runtime v0.9.
type repo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		DeletionPolicy string     `json:"deletionPolicy,omitempty"`
		ForProvider    parameters `json:"forProvider,omitempty"`
	} `json:"spec"`
	Status commonv1.ConditionedStatus `json:"status,omitempty"`
}

func (r *repo) DeepCopyObject() runtime.Object {
	out := *r
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	r.Status.DeepCopyInto(&out.Status)

	return &out
}

func (r *repo) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return r.Status.GetCondition(t)
}

func (r *repo) SetConditions(c ...commonv1.Condition) { r.Status.SetConditions(c...) }

func (r *repo) parameters() *parameters { return &r.Spec.ForProvider }

// A formerRepo is of a kind of provider-runtime v0.7: its spec has a deletion policy.
type formerRepo struct {
	repo `json:",inline"`
}

func (r *formerRepo) DeepCopyObject() runtime.Object {
	return &formerRepo{*r.repo.DeepCopyObject().(*repo)}
}

func (r *formerRepo) GetDeletionPolicy() string { return r.Spec.DeletionPolicy }

// A settings is a configuration.
type settings struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status commonv1.ProviderConfigStatus `json:"status,omitempty"`
}

func (s *settings) GetUsers() int64                       { return s.Status.GetUsers() }
func (s *settings) SetUsers(n int64)                      { s.Status.SetUsers(n) }
func (s *settings) SetConditions(c ...commonv1.Condition) { s.Status.SetConditions(c...) }
func (s *settings) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return s.Status.GetCondition(t)
}

func (s *settings) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	s.Status.DeepCopyInto(&out.Status)

	return &out
}

// A clusterSettings is a configuration without a namespace.
type clusterSettings struct {
	settings `json:",inline"`
}

func (s *clusterSettings) DeepCopyObject() runtime.Object {
	return &clusterSettings{*s.settings.DeepCopyObject().(*settings)}
}

// A listOf is a list of objects.
type listOf[T any, P interface {
	*T
	runtime.Object
}] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []T `json:"items"`
}

func (l *listOf[T, P]) DeepCopyObject() runtime.Object {
	out := &listOf[T, P]{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *(*T)(P(&l.Items[i]).DeepCopyObject().(P)))
	}

	return out
}

// An origin is a runtime that providers come from, with what its providers have.
type origin struct {
	name   string
	domain string // of its annotations
	assign bool   // the external system assigns the names; otherwise the objects' are theirs

	kind    string
	object  client.Object
	list    runtime.Object
	configs []string // kinds, the namespaced one first
	kinds   providerconfig.Kinds
}

func origins() []origin {
	return []origin{
		{
			name: "krateo-v0.7", domain: "krateo.io", assign: true, kind: "Repo",
			object: &formerRepo{}, list: &listOf[formerRepo, *formerRepo]{},
		},
		{
			name: "krateo-v0.9", domain: "krateo.io", assign: true, kind: "Repo", object: &repo{},
			list: &listOf[repo, *repo]{},
		},
		{
			name: "crossplane-v1", domain: xp.Domain, assign: true, kind: "Grant", object: &grant{},
			list:    &listOf[grant, *grant]{},
			configs: []string{"ProviderConfig"}, kinds: providerconfig.Kinds{Cluster: &clusterSettings{}},
		},
		{
			name: "crossplane-v2", domain: xp.Domain, kind: "Role", object: &role{}, list: &listOf[role, *role]{},
			configs: []string{"ProviderConfig", "ClusterProviderConfig"},
			kinds:   providerconfig.Kinds{Namespaced: &settings{}, Cluster: &clusterSettings{}},
		},
	}
}

func (o origin) crossplane() bool { return o.domain == xp.Domain }

func (o origin) namespaced(kind string) bool {
	return kind == "Secret" || kind != "ClusterProviderConfig" && o.name != "crossplane-v1"
}

// finalizer is the one that the runtime keeps managed resources with.
func (o origin) finalizer() string {
	if o.crossplane() {
		return xp.FinalizerName
	}

	return managed.FinalizerName
}

func (o origin) group() schema.GroupVersion {
	return schema.GroupVersion{Group: strings.ReplaceAll(o.name, ".", "") + "." + gv.Group, Version: "v1"}
}

func (o origin) scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	group := o.group()
	s.AddKnownTypeWithName(group.WithKind(o.kind), o.object)
	s.AddKnownTypeWithName(group.WithKind(o.kind+"List"), o.list)

	if o.kinds.Namespaced != nil {
		s.AddKnownTypeWithName(group.WithKind("ProviderConfig"), &settings{})
		s.AddKnownTypeWithName(group.WithKind("ProviderConfigList"), &listOf[settings, *settings]{})
	}

	if o.kinds.Cluster != nil {
		kind := o.configs[len(o.configs)-1]
		s.AddKnownTypeWithName(group.WithKind(kind), &clusterSettings{})
		s.AddKnownTypeWithName(group.WithKind(kind+"List"), &listOf[clusterSettings, *clusterSettings]{})
	}

	metav1.AddToGroupVersion(s, group)

	if err := corev1.AddToScheme(s); err != nil {
		panic(err)
	}

	return s
}

// definitions are the kinds as the API server has them: it takes every field.
func (o origin) definitions() (out []*apiextensionsv1.CustomResourceDefinition) {
	for _, kind := range append([]string{o.kind, "ProviderConfigUsage"}, o.configs...) {
		scope := apiextensionsv1.NamespaceScoped
		if !o.namespaced(kind) {
			scope = apiextensionsv1.ClusterScoped
		}

		out = append(out, definition(o.group(), kind, scope))
	}

	return out
}

func definition(group schema.GroupVersion, kind string,
	scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	singular := strings.ToLower(kind)

	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s." + group.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group.Group, Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: singular + "s", Singular: singular, Kind: kind, ListKind: kind + "List",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: group.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				},
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
				},
			}},
		},
	}
}

// A thing is what stands in the external system. It has a size, whatever was asked for.
type thing struct{ Color, Size string }

// A cloud is an external system that counts, by the names of objects.
type cloud struct {
	assign bool
	slow   map[string]bool // whose deletion goes on until it is not slow any more
	lose   map[string]bool // the answers to whose creation are lost
	refuse map[string]bool // whose creation is refused
	others map[string]bool // whose resource has another owner
	down   map[string]bool // whose connection fails

	things                    map[string]*thing // by external name
	created, updated, deleted map[string]int
}

func newCloud(assign bool) *cloud {
	return &cloud{
		assign: assign, slow: map[string]bool{}, lose: map[string]bool{}, refuse: map[string]bool{},
		others: map[string]bool{}, down: map[string]bool{}, things: map[string]*thing{},
		created: map[string]int{}, updated: map[string]int{}, deleted: map[string]int{},
	}
}

// make creates a resource for an object and returns its name.
func (c *cloud) make(object, wanted string, p parameters) string {
	c.created[object]++

	name := wanted
	if c.assign {
		name = fmt.Sprintf("%s-%d", object, c.created[object])
	}

	c.things[name] = &thing{Color: p.Color, Size: cmp.Or(p.Size, "small")}

	return name
}

// remove begins the deletion of a resource.
func (c *cloud) remove(object, name string) {
	c.deleted[object]++

	if !c.slow[object] {
		delete(c.things, name)
	}
}

// A parameterized says what its resource is to be.
type parameterized interface{ parameters() *parameters }

func (c *cloud) Connect(_ context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	if c.down[mg.GetName()] {
		return nil, fmt.Errorf("the credentials are missing")
	}

	return c, nil
}

func (c *cloud) Observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	found, p := c.things[meta.GetExternalName(mg)], mg.(parameterized).parameters()
	if found == nil {
		return managed.ExternalObservation{}, nil
	}

	late := p.Size == ""
	if late {
		p.Size = found.Size
	}

	mg.SetConditions(commonv1.Available())

	owner := managed.OwnerUnknown
	if c.others[meta.GetExternalName(mg)] {
		owner = managed.OwnerOther
	}

	return managed.ExternalObservation{
		Owner: owner, ResourceExists: true, ResourceUpToDate: found.Color == p.Color, ResourceLateInitialized: late,
		ConnectionDetails: managed.ConnectionDetails{"username": []byte(meta.GetExternalName(mg))},
	}, nil
}

func (c *cloud) Create(_ context.Context, mg resource.Managed) error {
	if c.refuse[mg.GetName()] {
		return external.NotCreated(fmt.Errorf("the quota is used up"))
	}

	name := c.make(mg.GetName(), meta.GetExternalName(mg), *mg.(parameterized).parameters())
	if c.lose[mg.GetName()] {
		return external.MaybeCreated(fmt.Errorf("the answer is lost"))
	}

	meta.SetExternalName(mg, name)

	return nil
}

func (c *cloud) Update(_ context.Context, mg resource.Managed) error {
	c.updated[mg.GetName()]++
	c.things[meta.GetExternalName(mg)].Color = mg.(parameterized).parameters().Color

	return nil
}

func (c *cloud) Delete(_ context.Context, mg resource.Managed) error {
	c.remove(mg.GetName(), meta.GetExternalName(mg))

	return nil
}

// A theirs is the client of a cloud as crossplane-runtime has clients.
type theirs struct{ *cloud }

func (c theirs) Connect(ctx context.Context, mg resource.Managed) (xp.ExternalClient, error) {
	_, err := c.cloud.Connect(ctx, mg)

	return c, err
}

func (c theirs) Create(ctx context.Context, mg resource.Managed) (xp.ExternalCreation, error) {
	err := c.cloud.Create(ctx, mg)
	if err != nil {
		return xp.ExternalCreation{}, err
	}

	return xp.ExternalCreation{ConnectionDetails: managed.ConnectionDetails{"password": []byte("generated")}}, nil
}

func (c theirs) Update(ctx context.Context, mg resource.Managed) (xp.ExternalUpdate, error) {
	return xp.ExternalUpdate{}, c.cloud.Update(ctx, mg)
}

func (c theirs) Delete(ctx context.Context, mg resource.Managed) (xp.ExternalDelete, error) {
	return xp.ExternalDelete{}, c.cloud.Delete(ctx, mg)
}

func (theirs) Disconnect(context.Context) error { return nil }

// A world is an API server with the objects of an origin, and the external system behind them.
type world struct {
	*testing.T
	origin
	*cloud

	kube       client.Client
	config     *rest.Config
	kubeconfig string
	bin        string
	namespace  string
	clock      *clocktesting.FakePassiveClock
	r          *managed.Reconciler
}

// programs returns a folder with moorage and kubectl, and nothing else.
func programs(t *testing.T) string {
	t.Helper()

	bin := t.TempDir()

	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(test, filepath.Join(bin, "kubectl")); err != nil {
		t.Fatal(err)
	}

	build := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join("..", "..", "cmd", "moorage"), "-o",
		bin, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	return bin
}

// newWorld returns a world without objects. It leaves none on the API server, which is that of other tests, too.
func newWorld(t *testing.T, o origin, bin string) *world {
	t.Helper()

	cluster := devcluster.Shared(t)

	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}

	if _, err := envtest.InstallCRDs(config,
		envtest.CRDInstallOptions{CRDs: o.definitions(), MaxTime: wait.Patience()}); err != nil {
		t.Fatal(err)
	}

	kube, err := client.New(config, client.Options{Scheme: o.scheme()})
	if err != nil {
		t.Fatal(err)
	}

	w := &world{
		T: t, origin: o, cloud: newCloud(o.assign), kube: kube, config: config, kubeconfig: cluster.Kubeconfig,
		bin:   bin,
		clock: clocktesting.NewFakePassiveClock(time.Now()),
	}

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "xp-"}}
	if err := kube.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}

	w.namespace = ns.Name

	t.Cleanup(func() {
		w.forget()
		_ = kube.Delete(context.Background(), ns)
	})

	return w
}

// forget deletes all objects.
func (w *world) forget() {
	for _, kind := range append([]string{w.kind, "ProviderConfigUsage", "Secret"}, w.configs...) {
		for _, o := range w.all(kind) {
			o.SetFinalizers(nil)
			_ = w.kube.Patch(context.Background(), o,
				client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))

			if err := w.kube.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
				w.Error(err)
			}
		}
	}
}

// all returns the objects of a kind, by name.
func (w *world) all(kind string) map[string]*unstructured.Unstructured {
	group := w.group()
	if kind == "Secret" {
		group = corev1.SchemeGroupVersion
	}

	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(group.WithKind(kind + "List"))

	var in []client.ListOption
	if w.origin.namespaced(kind) {
		in = append(in, client.InNamespace(w.namespace))
	}

	if err := w.kube.List(context.Background(), list, in...); err != nil {
		w.Fatal(err)
	}

	out := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		out[list.Items[i].GetName()] = &list.Items[i]
	}

	return out
}

// get returns an object, or nil.
func (w *world) get(kind, name string) *unstructured.Unstructured {
	w.Helper()

	o := w.blank(kind, name)
	if err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(o), o); resource.IsNotFound(err) {
		return nil
	} else if err != nil {
		w.Fatal(err)
	}

	return o
}

func (w *world) blank(kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(w.group().WithKind(kind))
	o.SetName(name)

	if kind == "Secret" {
		o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	}

	if w.origin.namespaced(kind) {
		o.SetNamespace(w.namespace)
	}

	return o
}

func (w *world) patch(kind, name, text string) {
	w.Helper()

	if err := w.kube.Patch(w.Context(), w.blank(kind, name),
		client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		w.Fatal(err)
	}
}

func (w *world) remove(kind, name string) {
	w.Helper()

	if err := w.kube.Delete(w.Context(), w.blank(kind, name)); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
}

// migrate runs moorage migrate objects, and returns its questions by the name of the object.
func (w *world) migrate(options ...string) (questions map[string]string) {
	w.Helper()

	args := []string{"migrate", "objects", strings.ToLower(w.kind) + "s." + w.group().Group, "--apply"}
	for _, kind := range w.configs {
		args = append(args, "--configs="+strings.ToLower(kind)+"s."+w.group().Group)
	}

	var out bytes.Buffer

	cmd := exec.CommandContext(w.Context(), filepath.Join(w.bin, "moorage"), append(args, options...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append(os.Environ(), "PATH="+w.bin, "KUBECONFIG="+w.kubeconfig)
	err := cmd.Run()

	questions = map[string]string{}

	for _, line := range strings.Split(out.String(), "\n") {
		if what, says, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "#") && what != "moorage" {
			questions[what[strings.LastIndexAny(what, " /")+1:]] += says + "\n"
		}
	}

	if (err != nil) != (len(questions) > 0) {
		w.Fatalf("moorage migrate objects: %v\n%s", err, &out)
	}

	return questions
}

// start starts the provider anew, with the options that docs/migrating.md names for the origin.
func (w *world) start() {
	m := &fake.Manager{Client: w.kube, Scheme: w.kube.Scheme()}
	of := resource.ManagedKind(w.group().WithKind(w.kind))

	options := []managed.ReconcilerOption{managed.WithClock(w.clock)}
	if !w.crossplane() {
		w.r = managed.NewReconciler(m, of, append(options, managed.WithExternalConnecter(w.cloud))...)

		return
	}

	if w.cloud.assign {
		options = append(options, managed.WithInitializers())
	}

	w.r = xp.NewReconciler(m, of, append(options, xp.WithExternalConnecter(theirs{w.cloud}))...)
}

// keep runs what keeps the configurations, until stop is called.
func (w *world) keep() (stop func()) {
	w.Helper()

	if len(w.configs) == 0 {
		return func() {}
	}

	m, err := ctrl.NewManager(w.config, ctrl.Options{
		Scheme: w.kube.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller:              ctrlconfig.Controller{SkipNameValidation: new(true)},
		GracefulShutdownTimeout: new(wait.Patience()),
	})
	if err != nil {
		w.Fatal(err)
	}

	user := w.object.(providerconfig.User)
	if err := providerconfig.Setup(m, w.kinds, []providerconfig.User{user},
		providerconfig.WithRetiredFinalizers("in-use.crossplane.io"),
		providerconfig.WithCountInterval(time.Millisecond)); err != nil {
		w.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()

	return func() {
		cancel()

		if err := <-ended; err != nil {
			w.Errorf("the manager: %v", err)
		}
	}
}

// settle makes passes over objects, a while apart.
func (w *world) settle(names ...string) {
	w.Helper()

	for range 5 {
		for _, name := range names {
			_, _ = w.r.Reconcile(w.Context(),
				reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.blank(w.kind, name))})
		}

		w.clock.SetTime(w.clock.Now().Add(40 * time.Second))
	}
}

// essence returns the fields that only a user changes.
func essence(o *unstructured.Unstructured, annotations bool) map[string]any {
	if o == nil {
		return nil
	}

	out := map[string]any{"spec": o.Object["spec"], "finalizers": o.GetFinalizers()}
	if annotations {
		out["annotations"] = o.GetAnnotations()
	}

	return out
}

func same(a, b map[string]any) bool { return equality.Semantic.DeepEqual(a, b) }

// condition returns a condition as text.
func condition(o *unstructured.Unstructured, of string) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && c["type"] == of {
			return fmt.Sprintf("%v/%v: %v", c["status"], c["reason"], c["message"])
		}
	}

	return ""
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func decoded(base string) string {
	out, err := base64.StdEncoding.DecodeString(base)
	if err != nil {
		return err.Error()
	}

	return string(out)
}

// held waits until Moorage keeps a configuration.
func (w *world) held(kind, name string) {
	w.Helper()
	wait.Until(w, kind+" "+name+" is kept", func() bool {
		return slices.Contains(w.get(kind, name).GetFinalizers(), providerconfig.FinalizerName)
	})
}

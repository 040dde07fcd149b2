package crdgate_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/crdgate"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// The group of this package on the shared API server.
var group = schema.GroupVersion{Group: "crdgate.example.moorage.dev", Version: "v1"}

// A Disk is a kind that comes and goes. Nothing but its metadata matters.
type Disk struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

func (b *Disk) DeepCopyObject() runtime.Object {
	return &Disk{TypeMeta: b.TypeMeta, ObjectMeta: *b.ObjectMeta.DeepCopy()}
}

// A DiskList is a list of them.
type DiskList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Disk `json:"items"`
}

func (l *DiskList) DeepCopyObject() runtime.Object {
	out := &DiskList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Disk))
	}

	return out
}

var (
	config *rest.Config
	scheme = runtime.NewScheme()
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctrllog.SetLogger(logr.Discard())
	cluster, err := devcluster.Join(context.Background(), devcluster.Options{Progress: os.Stderr})
	if err != nil {
		return 1, err
	}
	defer func() { _ = cluster.Stop() }()
	if config, err = cluster.RESTConfig(); err != nil {
		return 1, err
	}
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	scheme.AddKnownTypeWithName(group.WithKind("Disk"), &Disk{})
	scheme.AddKnownTypeWithName(group.WithKind("DiskList"), &DiskList{})
	metav1.AddToGroupVersion(scheme, group)

	return m.Run(), nil
}

func disks() *apiextensionsv1.CustomResourceDefinition {
	anything := func() *apiextensionsv1.CustomResourceValidation {
		return &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}
	}

	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "disks." + group.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: "Disk", ListKind: "DiskList", Plural: "disks", Singular: "disk",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Storage: true, Schema: anything()},
				{Name: "v2", Served: true, Schema: anything()},
			},
		},
	}
}

// A storage is a manager with a gate, and a controller behind it.
type storage struct {
	*testing.T

	api     client.Client
	manager manager.Manager
	gate    *crdgate.Gate

	mu      sync.Mutex
	seen    map[string]int // passes over disks by name
	ends    int            // of the controller
	errored atomic.Int64   // watches that failed
}

func open(t *testing.T) *storage {
	t.Helper()
	h := &storage{T: t, seen: map[string]int{}}
	var err error
	if h.api, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	h.manager, err = ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, GracefulShutdownTimeout: new(wait.Patience()),
		Cache: cache.Options{DefaultWatchErrorHandler: func(context.Context, *toolscache.Reflector,
			error) {
			h.errored.Add(1)
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if h.gate, err = crdgate.New(h.manager); err != nil {
		t.Fatal(err)
	}
	if err := h.manager.Add(h.gate); err != nil {
		t.Fatal(err)
	}
	h.gate.Add([]schema.GroupVersionKind{group.WithKind("Disk")}, h.control)
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- h.manager.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("manager: %v", err)
		}
		h.uninstall()
	})

	return h
}

// control runs a controller that takes finalizers away from deleted disks.
func (h *storage) control(ctx context.Context) error {
	err := crdgate.RunController(ctx, h.manager, "disk", controller.Options{
		Reconciler: reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			b := &Disk{}
			if err := h.manager.GetClient().Get(ctx, r.NamespacedName, b); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			h.mu.Lock()
			h.seen[b.Name]++
			h.mu.Unlock()
			if b.DeletionTimestamp.IsZero() || !controllerutil.RemoveFinalizer(b, "example.moorage.dev/hold") {
				return reconcile.Result{}, nil
			}

			return reconcile.Result{}, client.IgnoreNotFound(h.manager.GetClient().Update(ctx, b))
		}),
	}, func(c cache.Cache) []source.Source {
		return []source.Source{
			source.Kind(c, client.Object(&Disk{}), &handler.EnqueueRequestForObject{}),
			source.Kind(c, client.Object(&corev1.Namespace{}), &handler.EnqueueRequestForObject{}),
		}
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends++

	return err
}

func (h *storage) eventually(what string, holds func() bool) {
	h.Helper()
	wait.Until(h, what, holds)
}

func (h *storage) install() {
	h.Helper()
	if err := h.api.Create(context.Background(), disks()); err != nil {
		h.Fatal(err)
	}
}

func (h *storage) uninstall() {
	h.Helper()
	if err := h.api.Delete(context.Background(), disks()); client.IgnoreNotFound(err) != nil {
		h.Fatal(err)
	}
	h.eventually("definition gone", func() bool {
		return kerrors.IsNotFound(h.api.Get(context.Background(), client.ObjectKeyFromObject(disks()), disks()))
	})
}

// createDisk creates a disk, when the API server can.
func (h *storage) createDisk(name string, finalizers ...string) {
	h.Helper()
	h.eventually("create "+name, func() bool {
		return h.api.Create(h.Context(), &Disk{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
			Finalizers: finalizers}}) == nil
	})
}

func (h *storage) passes(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()

	return h.seen[name]
}

// ended reports whether the controller has ended since then. On a busy machine it may have
// ended before: it is started again when it cannot begin.
func (h *storage) ended(since int) func() bool {
	return func() bool { return h.endings() > since }
}

func (h *storage) endings() int {
	h.mu.Lock()
	defer h.mu.Unlock()

	return h.ends
}

func (h *storage) informer() cache.Informer {
	h.Helper()
	i, err := h.manager.GetCache().GetInformer(h.Context(), &Disk{})
	if err != nil {
		h.Fatal(err)
	}

	return i
}

// TestControllerFollowsItsDefinition: a kind comes, goes with an object that a finalizer holds, and comes back.
func TestControllerFollowsItsDefinition(t *testing.T) {
	h := open(t)
	h.install()
	h.createDisk("first", "example.moorage.dev/hold")
	h.eventually("first seen", func() bool { return h.passes("first") > 0 })
	informer, endings := h.informer(), h.endings()

	errored, begin := h.errored.Load(), time.Now()
	h.uninstall() // waits until the finalizer is gone, which our controller takes away
	h.eventually("controller ended", h.ended(endings))
	h.eventually("informer stopped", informer.IsStopped)
	h.eventually("absent", func() bool { return h.gate.Absent(group.WithKind("Disk")) })
	// A watch that failed waits before it is tried again, for most of a second at first.
	if n, most := h.errored.Load()-errored, 1+int64(time.Since(begin)/(800*time.Millisecond)); n > most {
		t.Errorf("the watch of a kind that is gone failed %d times, want at most %d", n, most)
	}

	h.install()
	h.createDisk("second")
	h.eventually("second seen", func() bool { return h.passes("second") > 0 })
	if h.informer() == informer {
		t.Error("the old informer is still in the cache")
	}
}

// TestControllerFollowsItsVersion: a version that is no longer served is as good as gone.
func TestControllerFollowsItsVersion(t *testing.T) {
	h := open(t)
	h.install()
	h.createDisk("first")
	h.eventually("first seen", func() bool { return h.passes("first") > 0 })
	serve := func(v1 bool) {
		t.Helper()
		h.eventually("definition updated", func() bool {
			d := disks()
			if h.api.Get(t.Context(), client.ObjectKeyFromObject(d), d) != nil {
				return false
			}
			d.Spec.Versions[0].Served, d.Spec.Versions[0].Storage, d.Spec.Versions[1].Storage = v1, v1, !v1

			return h.api.Update(t.Context(), d) == nil
		})
	}
	endings := h.endings()
	serve(false)
	h.eventually("controller ended", h.ended(endings))
	n := h.passes("first")
	serve(true)
	h.eventually("first seen again", func() bool { return h.passes("first") > n })
}

// TestControllerLeavesOtherInformers: handlers of a controller that is gone leave the informers
// that stay. What an informer had handed out before the handler left is still delivered, so the
// test asks for objects made afterwards.
func TestControllerLeavesOtherInformers(t *testing.T) {
	h := open(t)
	ctx, stop := context.WithCancel(t.Context())
	var seen sync.Map
	ended := make(chan error, 1)
	go func() {
		ended <- crdgate.RunController(ctx, h.manager, "namespaces", controller.Options{
			Reconciler: reconcile.Func(func(context.Context,
				reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, nil
			}),
		}, func(c cache.Cache) []source.Source {
			return []source.Source{source.Kind(c, client.Object(&corev1.Namespace{}),
				handler.EnqueueRequestsFromMapFunc(
					func(_ context.Context, o client.Object) []reconcile.Request {
						seen.Store(o.GetName(), true)

						return nil
					}))}
		})
	}()
	sees := func(name string) bool { _, ok := seen.Load(name); return ok }
	h.eventually("handler called", func() bool { return sees(metav1.NamespaceDefault) })
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	// One after the other: when the informer has the last, a remaining handler would have got the first.
	var first string
	for range 3 {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "crdgate-"}}
		if err := h.api.Create(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.api.Delete(context.Background(), ns) })
		h.eventually("the informer has it", func() bool {
			return h.manager.GetCache().Get(t.Context(), client.ObjectKeyFromObject(ns), &corev1.Namespace{}) == nil
		})
		if first == "" {
			first = ns.Name
		}
	}
	if sees(first) {
		t.Error("the handler of a controller that has ended was called")
	}
}

// TestGateFindsBuiltInKinds: kinds without a definition are found, and kinds that are not served are not.
func TestGateFindsBuiltInKinds(t *testing.T) {
	h := open(t)
	started := make(chan string, 10)
	for _, gvk := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Secret"),
		{Group: "nobody.example.moorage.dev", Version: "v1", Kind: "Thing"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
	} {
		h.gate.Add([]schema.GroupVersionKind{gvk}, func(ctx context.Context) error {
			started <- gvk.Kind
			<-ctx.Done()

			return nil
		})
	}
	got := map[string]bool{<-started: true, <-started: true}
	if !got["Secret"] || !got["Deployment"] {
		t.Errorf("started %v, want Secret and Deployment", got)
	}
	h.eventually("absent", func() bool {
		return h.gate.Absent(schema.GroupVersionKind{Group: "nobody.example.moorage.dev", Version: "v1", Kind: "Thing"})
	})
}

func TestRunControllerRefuses(t *testing.T) {
	h := open(t)
	err := crdgate.RunController(t.Context(), h.manager, "nothing", controller.Options{},
		func(cache.Cache) []source.Source { return nil })
	if err == nil {
		t.Error("a controller without a reconciler ran")
	}
	boom := source.Func(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return fmt.Errorf("boom")
	})
	err = crdgate.RunController(t.Context(), h.manager, "broken", controller.Options{
		Reconciler: reconcile.Func(func(context.Context,
			reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, nil
		}),
	}, func(cache.Cache) []source.Source { return []source.Source{boom} })
	if err == nil {
		t.Error("a controller with a source that fails ran")
	}
}

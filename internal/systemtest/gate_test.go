package systemtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/crdgate"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A gated provider has an API server of its own, because a definition is visible to all its clients.
type gated struct {
	*testing.T

	config  *rest.Config
	kube    client.Client
	manager manager.Manager
	gate    *crdgate.Gate
	cloud   *volume.Cloud
}

func newGated(t *testing.T) gated {
	t.Helper()
	cluster, err := devcluster.Start(t.Context(), devcluster.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Stop() })
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	kube, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Cache: managed.CacheOptions(), Metrics: server.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)}, GracefulShutdownTimeout: new(wait.Patience()),
	})
	if err != nil {
		t.Fatal(err)
	}
	gate, err := crdgate.New(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Add(gate); err != nil {
		t.Fatal(err)
	}

	return gated{t, config, kube, m, gate, &volume.Cloud{}}
}

func (g gated) setUp(of resource.ManagedKind, o ...managed.ReconcilerOption) {
	g.Helper()
	o = append([]managed.ReconcilerOption{managed.WithExternalConnecter(g.cloud),
		managed.WithPollInterval(100 * time.Millisecond)}, o...)
	if err := managed.SetupGated(g.manager, g.gate, of, controller.Options{}, o...); err != nil {
		g.Fatal(err)
	}
}

func (g gated) install(crds ...*apiextensionsv1.CustomResourceDefinition) {
	g.Helper()
	if _, err := envtest.InstallCRDs(g.config,
		envtest.CRDInstallOptions{CRDs: crds, Scheme: scheme, MaxTime: wait.Patience()}); err != nil {
		g.Fatal(err)
	}
}

// remove deletes a definition, and with it all objects of the kind.
func (g gated) remove(crd *apiextensionsv1.CustomResourceDefinition) {
	g.Helper()
	if err := g.kube.Delete(g.Context(), crd); err != nil {
		g.Fatal(err)
	}
	stories.Eventually(g.T, "the kind is gone", func() bool {
		return apierrors.IsNotFound(g.kube.Get(g.Context(), client.ObjectKeyFromObject(crd), crd.DeepCopy()))
	})
}

// make creates an object as soon as its kind is served.
func (g gated) make(o client.Object) {
	g.Helper()
	stories.Eventually(g.T, "the kind is served", func() bool { return g.kube.Create(g.Context(), o) == nil })
}

// says waits until a condition of an object has a reason.
func (g gated) says(o resource.Managed, what commonv1.ConditionType, reason commonv1.ConditionReason) {
	g.Helper()
	object, ok := o.(client.Object)
	if !ok {
		g.Fatalf("%T is no object", o)
	}
	stories.Eventually(g.T, string(what)+" is "+string(reason), func() bool {
		return g.kube.Get(g.Context(), client.ObjectKeyFromObject(object), object) == nil &&
			o.GetCondition(what).Reason == reason
	})
}

// TestGatedKind starts a provider without its kind. It manages objects once the kind is served, and again after the
// kind was deleted and created.
func TestGatedKind(t *testing.T) {
	g := newGated(t)
	g.setUp(volume.Kind)
	stories.Operate(t, g.manager)
	for range 2 {
		g.install(volume.CRD())
		g.make(stories.NewVolume("default", "disk"))
		g.says(stories.NewVolume("default", "disk"), commonv1.TypeReady, commonv1.ReasonAvailable)
		// The deletion of the definition waits for its objects, so the controller still runs.
		g.remove(volume.CRD())
		if disks := g.cloud.Disks(); len(disks) != 0 {
			t.Errorf("left behind: %v", disks)
		}
	}
}

// TestGatedKindReferences checks that objects that wait for one of another kind are requeued by it and by additional
// watches, also after that kind and its informer were gone for a while. Their poll interval is an hour, so nothing
// else requeues them in time. External resources of the deleted kind stay, because the definition is deleted and the
// deletion guard is on.
func TestGatedKindReferences(t *testing.T) {
	g := newGated(t)
	g.setUp(volume.Kind, managed.WithKindDeletionGuard())
	var (
		snapshots volume.Cloud // separate, because volumes are observed all the time
		watched   atomic.Value // the name of the object of the last watch event
	)
	g.setUp(volume.SnapshotKind, managed.WithExternalConnecter(&snapshots), managed.WithPollInterval(time.Hour),
		managed.WithTimeout(5*time.Second),
		managed.WithWatch(&corev1.ConfigMap{},
			handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
				watched.Store(o.GetName())

				return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
			})))
	stories.Operate(t, g.manager)
	g.install(volume.SnapshotCRD())
	for i, name := range []string{"first", "second"} {
		g.install(volume.CRD())
		s := &volume.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: volume.SnapshotSpec{
				SizeGiB: 1, ManagementPolicies: commonv1.ManagementPolicies{"*"},
				VolumeRef: &commonv1.NamespacedReference{Name: name},
			}}
		g.make(s)
		g.says(s, commonv1.TypeSynced, commonv1.ReasonReferenceNotReady)
		g.make(stories.NewVolume("default", name))
		g.says(s, commonv1.TypeReady, commonv1.ReasonAvailable)

		looks := snapshots.Count("Observe")
		g.make(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
		stories.Eventually(t, "woken by what is watched",
			func() bool { return watched.Load() == name && snapshots.Count("Observe") > looks })
		g.remove(volume.CRD())
		if disks := g.cloud.Disks(); len(disks) != i+1 {
			t.Errorf("the kind of %s went, and what is left is %v", name, disks)
		}
	}
}

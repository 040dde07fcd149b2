package systemtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/bridge"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
	"github.com/moorage-dev/moorage/pkg/translate"
)

const (
	many   = 100
	poll   = 300 * time.Millisecond
	target = "tenants"
)

// A copier copies specs to the host and statuses back.
type copier struct {
	translator.NamespacedTranslator
}

// Init copies the CRD from the host.
func (copier) Init(ctx *synccontext.RegisterContext) error {
	return translate.EnsureCRDFromPhysicalCluster(ctx.Context, ctx.PhysicalManager.GetConfig(),
		ctx.VirtualManager.GetConfig(),
		volume.GroupVersion.WithKind("Volume"))
}

func (f copier) SyncDown(ctx *synccontext.SyncContext, v *volume.Volume) (ctrl.Result, error) {
	p := f.TranslateMetadata(v).(*volume.Volume)
	p.Status = volume.Status{}
	return f.SyncDownCreate(ctx, v, p)
}

func (f copier) Sync(ctx *synccontext.SyncContext, p, v *volume.Volume) (ctrl.Result, error) {
	before := v.DeepCopyObject().(*volume.Volume)
	v.Status = p.Status
	if err := ctx.VirtualClient.Status().Patch(ctx.Context, v, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, err
	}
	updated := p.DeepCopyObject().(*volume.Volume)
	_, updated.Annotations, updated.Labels = f.TranslateMetadataUpdate(v, p)
	updated.Spec = v.Spec
	return f.SyncDownUpdate(ctx, v, updated)
}

// A world consists of two control planes and a provider whose external system is one of
// them.
type world struct {
	testworld.World[client.Client] // of this side, with every permission

	host   testworld.World[client.Client] // with every permission, not counted
	config map[string]*rest.Config
	ledger *test.Ledger // of the host
}

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // once: the tests are parallel
	os.Exit(m.Run())
}

func newWorld(t *testing.T) *world {
	t.Helper()
	here := testworld.New[client.Client](t, nil)
	w := &world{World: here, host: here, config: map[string]*rest.Config{}, ledger: &test.Ledger{}}
	scheme := syncertesting.NewScheme()
	w.Must(volume.AddToScheme(scheme))
	for name, c := range map[string]*client.Client{"here": &w.API, "host": &w.host.API} {
		cluster, err := devcluster.Start(t.Context(), devcluster.Options{Own: true})
		w.Must(err)
		t.Cleanup(func() { w.Must(cluster.Stop()) })
		w.config[name], err = cluster.RESTConfig()
		w.Must(err)
		*c, err = client.New(w.config[name], client.Options{Scheme: scheme})
		w.Must(err)
	}
	w.host.Create(volume.CRD(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: target}})
	return w
}

// provide runs the provider until the test ends.
func (w *world) provide() {
	w.Helper()
	host := rest.CopyConfig(w.config["host"])
	host.Wrap(w.ledger.Wrap)
	scheme := syncertesting.NewScheme()
	w.Must(volume.AddToScheme(scheme))
	reg, err := syncer.NewRegisterContext(w.Context(), syncer.RegisterOptions{
		Virtual: w.config["here"], Physical: host, Scheme: scheme, Name: "red", TargetNamespace: target,
	})
	w.Must(err)
	volumes := copier{translator.NewNamespacedTranslator(reg, "volumes", &volume.Volume{})}
	b, err := bridge.New(w.Context(), reg, syncer.FromTyped(&volume.Volume{}, volumes))
	w.Must(err)
	w.Must(b.Setup(reg.VirtualManager, volume.Kind, controller.Options{PollInterval: poll, MaxConcurrentReconciles: 8}))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- reg.VirtualManager.Start(ctx) }()
	w.Cleanup(func() {
		stop()
		w.Must(<-ended)
	})
}

// TestBridge runs volumes through their lifecycle with another control plane as the
// external system: created, ready with their host objects, changed, corrected, deleted.
// Foreign host objects do not change and are reported.
func TestBridge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	taken := newVolume(target, translate.Names{Suffix: "red"}.PhysicalName("taken", "default"), 9)
	wait.Until(w, "the host serves the kind", func() bool { return w.host.API.Create(t.Context(), taken) == nil })
	w.provide()
	begin := time.Now()
	for i := range many {
		w.Create(newVolume("default", fmt.Sprintf("data-%d", i), 3))
	}
	w.Create(newVolume("default", "taken", 3))
	wait.Until(w, "all are ready", func() bool { return w.count(w.API, "default", ready) == many })
	figure("objects", many)
	figure("seconds_until_ready", time.Since(begin).Seconds())
	figure("images", w.count(w.host.API, target, ours))

	v := newVolume("default", "data-7", 0)
	image := newVolume(target, "data-7-x-default-x-red", 0)
	w.Must(w.host.API.Status().Patch(t.Context(), image, merge(`{"status":{"id":"disk-7","usedBytes":5}}`)))
	w.Await(v, "has its status", func() bool { return v.Status.ID == "disk-7" && ready(v) })
	w.Change(v, func() { v.Spec.SizeGiB = 5 })
	w.host.Await(image, "has the spec", func() bool { return image.Spec.SizeGiB == 5 })
	if n := len(image.ManagedFields); n == 0 || image.Status.ID != "disk-7" {
		t.Errorf("the status of the host object is lost: %v", image.Status)
	}
	w.host.Change(image, func() { image.Spec.SizeGiB = 1 })
	w.host.Await(image, "is corrected", func() bool { return image.Spec.SizeGiB == 5 })

	refused := newVolume("default", "taken", 0)
	w.Await(refused, "tells the conflict", func() bool {
		return refused.GetCondition(commonv1.TypeSynced).Reason == "ExternalResourceNotOwned"
	})
	w.rest()

	w.Must(w.API.DeleteAllOf(t.Context(), &volume.Volume{}, client.InNamespace("default")))
	wait.Until(w, "all are gone", func() bool { return w.count(w.API, "default", anything) == 0 })
	left := w.count(w.host.API, target, ours)
	figure("images_left", left)
	before := taken.ResourceVersion
	if !w.host.Find(taken) || taken.ResourceVersion != before || left != 0 {
		t.Errorf("%d images are left; the foreign object is %v", left, taken)
	}
}

// rest counts the requests to the host while nothing changes: one read per object and
// poll interval, and no write.
func (w *world) rest() {
	w.Helper()
	w.ledger.Reset()
	wait.Until(w, "all were observed ten times", func() bool { return len(w.ledger.Objects()) > 10*many })
	writes := 0
	for _, r := range w.ledger.Objects() {
		if r.Verb != "GET" || r.Resource != "volumes" {
			writes++
		}
	}
	figure("requests_to_the_host_at_rest_other_than_one_read_per_poll", writes)
	if writes != 0 {
		w.Errorf("at rest: %s", test.SummarizeRequests(w.ledger.Objects()))
	}
}

func newVolume(namespace, name string, size int64) *volume.Volume {
	return &volume.Volume{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: volume.Spec{SizeGiB: size},
	}
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

func ready(v *volume.Volume) bool {
	return v.GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue
}

func ours(v *volume.Volume) bool { return v.Labels[translate.MarkerLabel] == "red" }

func anything(*volume.Volume) bool { return true }

func (w *world) count(c client.Client, namespace string, is func(*volume.Volume) bool) int {
	w.Helper()
	list := &volume.List{}
	w.Must(c.List(w.Context(), list, client.InNamespace(namespace)))
	n := 0
	for i := range list.Items {
		if is(&list.Items[i]) {
			n++
		}
	}
	return n
}

// figure prints a figure on a line of its own.
func figure(name string, value any) { fmt.Printf("%s: %v\n", name, value) }

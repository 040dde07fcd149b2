package bridge_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/bridge"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// The namespaces in the virtual cluster and on the host.
const (
	home   = "ns"
	target = "tenants"
)

// A copier is a syncer that copies specs down and statuses up.
type copier struct {
	translator.NamespacedTranslator

	// first makes it copy a changed status up by an update, and do nothing else in that pass,
	// as many syncers do.
	first bool
}

func (f copier) SyncDown(ctx *synccontext.SyncContext, v *volume.Volume) (ctrl.Result, error) {
	p := f.TranslateMetadata(v).(*volume.Volume)
	p.Status = volume.Status{}
	return f.SyncDownCreate(ctx, v, p)
}

func (f copier) Sync(ctx *synccontext.SyncContext, p, v *volume.Volume) (ctrl.Result, error) {
	if !equality.Semantic.DeepEqual(p.Status, v.Status) {
		changed := v.DeepCopyObject().(*volume.Volume)
		changed.Status = p.Status
		if f.first {
			return ctrl.Result{}, ctx.VirtualClient.Status().Update(ctx.Context, changed)
		}
		if err := ctx.VirtualClient.Status().Patch(ctx.Context, changed, client.MergeFrom(v)); err != nil {
			return ctrl.Result{}, err
		}
	}
	updated := p.DeepCopyObject().(*volume.Volume)
	_, updated.Annotations, updated.Labels = f.TranslateMetadataUpdate(v, p)
	updated.Spec = v.Spec
	return f.SyncDownUpdate(ctx, v, updated)
}

// A world consists of two in-memory clusters, a bridge between them, and a reconciler
// whose passes the test runs.
type world struct {
	testworld.World[client.Client] // this side

	here, host *apiserver.Server
	p          client.Client // of the host
	calls      []string      // writes to the host
	fails      error         // the error of the host for reads of volumes
	reg        *synccontext.RegisterContext
	bridge     *bridge.Bridge
	reconciler *managed.Reconciler
}

func scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, volume.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func newWorld(t *testing.T, first bool, o ...bridge.Option) *world {
	t.Helper()
	w := &world{here: apiserver.New(scheme(t), clock.RealClock{}), host: apiserver.New(scheme(t), clock.RealClock{})}
	w.host.Salt(7)
	w.World = testworld.New[client.Client](t, w.here.Client())
	w.p = w.host.Client()
	uids := map[client.Client]types.UID{}
	for _, c := range []client.Client{w.API, w.p} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}}
		w.Must(c.Create(t.Context(), ns))
		uids[c] = ns.UID
	}
	w.reg = &synccontext.RegisterContext{
		Context: t.Context(), TargetNamespace: target, CurrentNamespace: target, CurrentNamespaceClient: w.watched(),
		Names:           &translate.Names{Suffix: "red", Cluster: string(uids[w.API])},
		VirtualManager:  &fake.Manager{Client: w.API, Scheme: w.API.Scheme()},
		PhysicalManager: &fake.Manager{Client: w.watched(), Scheme: w.p.Scheme()},
	}
	var err error
	if w.bridge, err = bridge.New(t.Context(), w.reg, w.copier(first), o...); err != nil {
		t.Fatal(err)
	}
	w.reconciler = managed.NewReconciler(w.reg.VirtualManager, volume.Kind, w.bridge.Options()...)
	return w
}

func (w *world) copier(first bool) syncer.Syncer {
	return syncer.FromTyped(&volume.Volume{}, copier{
		translator.NewNamespacedTranslator(w.reg, "volumes", &volume.Volume{}), first,
	})
}

// watched returns a client of the host that records writes.
func (w *world) watched() client.Client { return &watched{w.p, w} }

type watched struct {
	client.Client

	w *world
}

func (c *watched) note(verb string, obj client.Object) {
	c.w.calls = append(c.w.calls, verb+" "+obj.GetName())
}

func (c *watched) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*volume.Volume); ok && c.w.fails != nil {
		return c.w.fails
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

func (c *watched) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	c.note("create", obj)
	return c.Client.Create(ctx, obj, opts...)
}

func (c *watched) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	c.note("update", obj)
	return c.Client.Update(ctx, obj, opts...)
}

func (c *watched) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	c.note("patch", obj)
	return c.Client.Patch(ctx, obj, patch, opts...)
}

func (c *watched) Apply(ctx context.Context, ac runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	o := client.ApplyOptions{}
	o.ApplyOptions(opts)
	// The server in memory treats an apply as a patch, and returns the typed object.
	body := ac.(interface {
		client.Object
		UnstructuredContent() map[string]any
	})
	c.note("apply", body)
	text, err := json.Marshal(body.UnstructuredContent())
	if err != nil {
		return err
	}
	v := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: body.GetNamespace(), Name: body.GetName()}}
	if err := c.Client.Patch(
		ctx, v, client.RawPatch(
			types.ApplyPatchType, text), client.FieldOwner(o.FieldManager), client.ForceOwnership); err != nil {
		return err
	}
	answer, err := runtime.DefaultUnstructuredConverter.ToUnstructured(v)
	maps.Copy(body.UnstructuredContent(), answer)
	return err
}

func (c *watched) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	c.note("delete", obj)
	return c.Client.Delete(ctx, obj, opts...)
}

func newVolume(name string, size int64) *volume.Volume {
	return &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name}, Spec: volume.Spec{SizeGiB: size}}
}

// hostName returns the name of the image of a volume.
func hostName(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: target, Name: translate.Names{Suffix: "red"}.PhysicalName(name, home)}
}

// pass runs a pass of the reconciler for the volume "data".
func (w *world) pass() {
	w.Helper()
	if _, err := w.reconciler.Reconcile(w.Context(), reconcile.Request{
		NamespacedName: types.NamespacedName{Namespace: home, Name: "data"},
	}); err != nil {
		w.Fatal(err)
	}
}

// at returns a volume, or nil.
func (w *world) at(c client.Client, key types.NamespacedName) *volume.Volume {
	w.Helper()
	v := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if !testworld.New(w, c).Find(v) {
		return nil
	}
	return v
}

func (w *world) virtual() *volume.Volume {
	w.Helper()
	return w.at(w.API, types.NamespacedName{Namespace: home, Name: "data"})
}

func (w *world) image(name string) *volume.Volume {
	w.Helper()
	return w.at(w.p, hostName(name))
}

// patch changes an object of the host as another client.
func (w *world) patch(obj client.Object, patch string) {
	w.Helper()
	w.Must(w.p.Patch(w.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func (w *world) patchStatus(obj client.Object, patch string) {
	w.Helper()
	w.Must(w.p.Status().Patch(w.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// wrote returns and resets the recorded writes to the host.
func (w *world) wrote() string {
	out := strings.Join(w.calls, "; ")
	w.calls = nil
	return out
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// renew makes the host another cluster.
func (w *world) renew() {
	w.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}}
	w.Must(w.p.Delete(w.Context(), ns))
	w.Must(w.p.Create(w.Context(), &corev1.Namespace{ObjectMeta: ns.ObjectMeta}))
}

package kstatustest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

var key = client.ObjectKey{Namespace: "default", Name: "data"}

// A dialect is the part of the status conventions that a kind follows, for tools that do not know the kind.
type dialect int

const (
	conditions dialect = iota // only conditions, as in the first days of managed resources
	generation                // status.observedGeneration as well
	pair                      // and the conditions that kstatus made up
)

var dialects = [...]string{"conditions", "generation", "pair"}

func (d dialect) String() string { return dialects[d] }

// A world is one object, the API server it lives on, the cloud behind it, and the
// real reconciler between them. Every version of the object that is stored is
// kept.
type world struct {
	testworld.World[client.WithWatch]

	dialect dialect
	cloud   *volume.Cloud
	clock   *testclock.FakePassiveClock
	r       *managed.Reconciler

	slow     bool          // disks take their time until they can be used
	silent   bool          // the client does not set the condition Ready
	owner    managed.Owner // of existing disks
	versions []version
}

// A version of the object, as tools judge it.
type version struct {
	is    status.Status
	ready bool // to kubectl wait --for=condition=Ready
}

func newWorld(t *testing.T, d dialect) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	w := &world{
		World: testworld.New[client.WithWatch](t, nil), dialect: d, cloud: &volume.Cloud{},
		clock: testclock.NewFakePassiveClock(time.Now()),
	}
	w.Must(volume.AddToScheme(scheme))
	w.API = interceptor.NewClient(
		ctrlfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&volume.Volume{},
			&volume.Snapshot{}).Build(),
		interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
				opts ...client.PatchOption) error {
				return w.stored(c.Patch(ctx, o, patch, opts...))
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object,
				patch client.Patch, opts ...client.SubResourcePatchOption) error {
				return w.stored(c.SubResource(sub).Patch(ctx, o, patch, opts...))
			},
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				return w.stored(c.Update(ctx, o, opts...))
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				return w.stored(c.Delete(ctx, o, opts...))
			},
		})
	o := []managed.ReconcilerOption{
		managed.WithExternalConnecter(managed.ExternalConnectorFn(w.connect)),
		managed.WithClock(w.clock),
		managed.WithRandom(func() float64 { return 0.5 }),
	}
	if d == pair {
		o = append(o, managed.WithKstatusConditions())
	}
	w.r = managed.NewReconciler(&fake.Manager{Client: w.API, Scheme: scheme}, w.kind(), o...)

	return w
}

func (w *world) kind() resource.ManagedKind {
	if w.dialect == conditions {
		return volume.Kind
	}

	return volume.SnapshotKind
}

// connect returns a client of the cloud whose observations follow the fields of the world.
func (w *world) connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	c, err := w.cloud.Connect(ctx, mg)

	return scripted{c, w}, err
}

type scripted struct {
	managed.ExternalClient

	world *world
}

func (c scripted) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	before := mg.GetCondition(commonv1.TypeReady)
	o, err := c.ExternalClient.Observe(ctx, mg)
	switch {
	case c.world.slow && o.ResourceExists:
		mg.SetConditions(commonv1.Creating())
	case c.world.silent && before.Reason == "":
		forget(mg, commonv1.TypeReady)
	}
	o.Owner = c.world.owner

	return o, err
}

// forget removes a condition from an object, as if it had never been set.
func forget(mg resource.Managed, t commonv1.ConditionType) {
	var s *commonv1.ConditionedStatus
	switch o := mg.(type) {
	case *volume.Volume:
		s = &o.Status.ConditionedStatus
	case *volume.Snapshot:
		s = &o.Status.ConditionedStatus
	}
	var kept []commonv1.Condition
	for _, c := range s.Conditions {
		if c.Type != t {
			kept = append(kept, c)
		}
	}
	s.Conditions = kept
}

// create creates the object, of 1 GiB.
func (w *world) create() {
	w.Helper()
	m := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "uid-1", Generation: 1}
	var o client.Object = &volume.Volume{ObjectMeta: m, Spec: volume.Spec{SizeGiB: 1}}
	if w.dialect != conditions {
		o = &volume.Snapshot{ObjectMeta: m, Spec: volume.SnapshotSpec{SizeGiB: 1}}
	}
	w.Must(w.stored(w.API.Create(w.Context(), o)))
}

// change changes the object as a user does.
func (w *world) change(change func(o resource.Managed)) {
	w.Helper()
	o := w.object()
	w.Change(o, func() { change(o) })
}

// resize resizes the object, and counts the generation, which the fake API server does not
// do.
func (w *world) resize(size int64) {
	w.Helper()
	w.change(func(o resource.Managed) {
		o.SetGeneration(o.GetGeneration() + 1)
		switch o := o.(type) {
		case *volume.Volume:
			o.Spec.SizeGiB = size
		case *volume.Snapshot:
			o.Spec.SizeGiB = size
		}
	})
}

func (w *world) annotate(key, value string) {
	w.Helper()
	w.change(func(o resource.Managed) {
		a := o.GetAnnotations()
		if a == nil {
			a = map[string]string{}
		}
		a[key] = value
		o.SetAnnotations(a)
	})
}

func (w *world) delete() {
	w.Helper()
	w.Delete(w.object())
}

// drift changes the size of the disk outside of the reconciler.
func (w *world) drift(size int64) {
	w.Helper()
	disks := w.cloud.Disks()
	if len(disks) != 1 {
		w.Fatalf("disks %v, want one", disks)
	}
	disks[0].SizeGiB = size
	w.cloud.Put(disks[0])
}

// fail makes calls of a name end in an error.
func (w *world) fail(call string, err error) {
	w.cloud.Before = func(_ context.Context, name string, _ resource.Managed) error {
		if name == call {
			return err
		}

		return nil
	}
}

// ready creates the object and its disk.
func (w *world) ready() {
	w.Helper()
	w.create()
	w.Must(w.pass())
	if got := w.object().GetCondition(commonv1.TypeReady); got.Status != metav1.ConditionTrue {
		w.Fatalf("after the first pass: %+v", got)
	}
}

// pass makes a pass, and returns its error.
func (w *world) pass() error {
	_, err := w.r.Reconcile(w.Context(), reconcile.Request{NamespacedName: key})

	return err
}

func (w *world) object() resource.Managed {
	w.Helper()
	// both kinds are managed
	o := resource.MustCreateObject(schema.GroupVersionKind(w.kind()), w.API.Scheme()).(resource.Managed)
	w.Must(w.API.Get(w.Context(), key, o))

	return o
}

// stored keeps the version that a write has made, if there is still an object.
func (w *world) stored(err error) error {
	if err != nil {
		return err
	}
	if v, gone := w.now(); !gone {
		w.versions = append(w.versions, v)
	}

	return nil
}

// now returns how tools judge the object that is stored.
func (w *world) now() (v version, gone bool) {
	w.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind(w.kind()))
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	if !w.Find(u) {
		return version{}, true
	}
	result, err := status.Compute(u)
	if err != nil {
		w.Fatalf("kstatus cannot read the object: %v", err)
	}

	return version{is: result.Status, ready: isReady(u)}, false
}

// isReady judges as kubectl wait does: a condition of an older generation than that of the
// object does not count.
func isReady(u *unstructured.Unstructured) bool {
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, one := range all {
		// conditions are objects
		c := one.(map[string]any)
		if !strings.EqualFold(fmt.Sprint(c["type"]), "Ready") {
			continue
		}
		observed, known, _ := unstructured.NestedInt64(c, "observedGeneration")
		if !known {
			observed, known, _ = unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		}
		if known && observed < u.GetGeneration() {
			return false
		}

		return strings.EqualFold(fmt.Sprint(c["status"]), "True")
	}

	return false
}

// statuses returns the statuses of versions, without repetitions.
func statuses(versions []version) (all []status.Status) {
	for _, v := range versions {
		if len(all) == 0 || all[len(all)-1] != v.is {
			all = append(all, v.is)
		}
	}

	return all
}

// mustPass makes a pass that ends without an error.
func (w *world) mustPass() {
	w.Helper()
	if err := w.pass(); err != nil {
		w.Fatalf("pass: %v", err)
	}
}

// mustFail makes a pass that ends in an error.
func (w *world) mustFail() {
	w.Helper()
	if err := w.pass(); err == nil {
		w.Fatal("the pass ended without an error")
	}
}

// later lets a poll interval pass.
func (w *world) later() { w.clock.SetTime(w.clock.Now().Add(time.Minute)) }

func (w *world) condition(t commonv1.ConditionType) commonv1.Condition {
	w.Helper()

	return w.object().GetCondition(t)
}

// describe returns the conditions as a text for the output of a failed test.
func (w *world) describe() string {
	var lines []string
	for _, t := range []commonv1.ConditionType{commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeUpToDate,
		commonv1.TypeReconciling, commonv1.TypeStalled} {
		if c := w.condition(t); c.Reason != "" {
			lines = append(lines, fmt.Sprintf("%s=%s/%s (%s)", c.Type, c.Status, c.Reason, c.Message))
		}
	}

	return strings.Join(lines, ", ")
}

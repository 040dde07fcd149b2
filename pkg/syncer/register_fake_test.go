package syncer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

type schemaKind = schema.GroupVersionKind

// fakeConfigMaps is a fake syncer that records its calls.
type fakeConfigMaps struct {
	calls *[]string
	skip  bool
	err   error // of the start
	fails error // of the pass
}

func (fakeConfigMaps) Name() string            { return "faker" }
func (fakeConfigMaps) Resource() client.Object { return &corev1.ConfigMap{} }

func (f fakeConfigMaps) FakeSyncUp(_ *synccontext.SyncContext, req types.NamespacedName) (ctrl.Result, error) {
	*f.calls = append(*f.calls, "FakeSyncUp "+req.String())
	return ctrl.Result{}, nil
}

func (f fakeConfigMaps) FakeSync(_ *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error) {
	*f.calls = append(*f.calls, "FakeSync "+vObj.GetName())
	return ctrl.Result{}, f.fails
}

func (f fakeConfigMaps) ReconcileStart(*synccontext.SyncContext, ctrl.Request) (bool, error) {
	*f.calls = append(*f.calls, "start")
	return f.skip, f.err
}

func (f fakeConfigMaps) ReconcileEnd() { *f.calls = append(*f.calls, "end") }

func TestFakeSyncer(t *testing.T) {
	w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}})
	var calls []string
	reconcile := syncer.FakeReconciler(w.reg, fakeConfigMaps{calls: &calls})
	for _, name := range []string{"a", "b"} {
		if _, err := reconcile(t.Context(), ctrl.Request{
			NamespacedName: types.NamespacedName{Namespace: "ns", Name: name},
		}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"start", "FakeSync a", "end", "start", "FakeSyncUp ns/b", "end"}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestFakeSyncerStarterEnd verifies that ReconcileEnd is called after a pass that was
// skipped or failed.
func TestFakeSyncerStarterEnd(t *testing.T) {
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		reason string
		faker  fakeConfigMaps
		calls  []string
		want   error
	}{
		"Skip":   {"The pass is skipped.", fakeConfigMaps{skip: true}, []string{"start", "end"}, nil},
		"Error":  {"The start fails.", fakeConfigMaps{err: boom}, []string{"start", "end"}, boom},
		"Failed": {"The pass fails.", fakeConfigMaps{fails: boom}, []string{"start", "FakeSync a", "end"}, boom},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}})
			var calls []string
			tc.faker.calls = &calls
			_, err := syncer.FakeReconciler(w.reg, tc.faker)(t.Context(), ctrl.Request{
				NamespacedName: types.NamespacedName{Namespace: "ns", Name: "a"},
			})
			if !errors.Is(err, tc.want) {
				t.Errorf("%s\ngot error %v, want %v", tc.reason, err, tc.want)
			}
			if diff := cmp.Diff(tc.calls, calls); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSyncTestForPlugins is a test as authors of plugins write it.
func TestSyncTestForPlugins(t *testing.T) {
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	vObj := virtualMap("a")
	pObj := imageOf("a")
	pObj.UID = ""
	changed := pObj.DeepCopy()
	changed.Data = map[string]string{"key": "old"}
	create := func(ctx *synccontext.RegisterContext) (syncer.Base, error) { return newMapSyncer(ctx), nil }
	unrelated := &corev1.ConfigMap{ObjectMeta: metaOf(types.NamespacedName{Namespace: target, Name: "a"})}
	syncertesting.RunTests(t, []*syncertesting.SyncTest{
		{
			Name:                 "should sync down",
			InitialVirtualState:  []runtime.Object{vObj},
			InitialPhysicalState: []runtime.Object{unrelated},
			Sync: func(ctx *synccontext.RegisterContext) {
				sync, s := syncertesting.FakeStartSyncer(t, ctx, create)
				if _, err := s.(syncer.Syncer).SyncDown(sync, vObj.DeepCopy()); err != nil {
					t.Error(err)
				}
			},
			ExpectedVirtualState:  map[schemaKind][]runtime.Object{kind: {vObj}},
			ExpectedPhysicalState: map[schemaKind][]runtime.Object{kind: {pObj, unrelated}},
		}, {
			Name:                 "should sync changes down",
			InitialVirtualState:  []runtime.Object{vObj},
			InitialPhysicalState: []runtime.Object{changed},
			Sync: func(ctx *synccontext.RegisterContext) {
				sync, s := syncertesting.FakeStartSyncer(t, ctx, create)
				there := &corev1.ConfigMap{}
				if err := sync.PhysicalClient.Get(sync.Context, client.ObjectKeyFromObject(changed), there); err != nil {
					t.Error(err)
				}
				if _, err := s.(syncer.Syncer).Sync(sync, there, vObj.DeepCopy()); err != nil {
					t.Error(err)
				}
			},
			ExpectedPhysicalState: map[schemaKind][]runtime.Object{kind: {pObj}},
		}, {
			Name:                 "should delete",
			InitialPhysicalState: []runtime.Object{pObj},
			Sync: func(ctx *synccontext.RegisterContext) {
				sync, _ := syncertesting.FakeStartSyncer(t, ctx, create)
				if _, err := syncer.DeleteObject(sync, pObj.DeepCopy()); err != nil {
					t.Error(err)
				}
			},
			ExpectedPhysicalState: map[schemaKind][]runtime.Object{kind: nil},
		},
	})
}

// TestWriteOperationAndFieldOwner verifies that host objects are applied by default and
// updated with LegacyOptions, under the field owner.
func TestWriteOperationAndFieldOwner(t *testing.T) {
	name := translate.PhysicalName("a", "ns")
	for what, tc := range map[string]struct {
		o    syncer.Options
		want string
	}{"Apply": {syncer.Options{}, "Apply"}, "Replace": {syncer.LegacyOptions(), "Update"}} {
		w := newWorld(t, worldOptions{o: tc.o, v: []runtime.Object{virtualMap("a")}})
		w.mustPass()
		m := w.host(name)
		if len(m.ManagedFields) != 1 || string(m.ManagedFields[0].Operation) != tc.want ||
			m.ManagedFields[0].Manager != translator.DefaultFieldOwner("configmaps") {
			t.Errorf("%s: got %v", what, m.ManagedFields)
		}
	}
}

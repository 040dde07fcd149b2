package syncer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/syncer"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// TestLegacyOptions compares the legacy behavior with the default one. The legacy
// handling of an IsManaged error is in TestIsManagedErrorIsRetried.
func TestLegacyOptions(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{}, "a", nil)
	cases := map[string]struct {
		reason   string
		v, p     []runtime.Object
		fails    error
		now, old string
	}{
		"Foreign": {
			reason: "Foreign host objects were synced.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", unowned)},
			now: "error, event", old: "Sync, update",
		},
		"Ambiguous": {
			reason: "Two virtual objects with the same host name shared a host object.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{
				imageOf("a", annotated(translator.NameAnnotation, "b")),
			},
			now: "error, event", old: "Sync, update",
		},
		"Former": {
			reason: "The image of a former object was kept.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{
				imageOf("a", annotated(translator.UIDAnnotation, "former")),
			},
			now: "delete image-of-a at 999", old: "Sync, update",
		},
		"Delete": {
			reason: "Any object with the name was deleted.",
			p:      []runtime.Object{imageOf("a")},
			now:    "delete image-of-a at 999", old: "delete anything",
		},
		"Terminating": {
			reason: "An object that was being deleted got a host object again.",
			v:      []runtime.Object{virtualMap("a", terminating)},
			now:    "", old: "SyncDown, create",
		},
		"Create": {
			reason: "Host objects were created, not applied.",
			v:      []runtime.Object{virtualMap("a")},
			now:    "SyncDown, apply", old: "SyncDown, create",
		},
		"Update": {
			reason: "Host objects were updated as a whole.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{
				imageOf("a", func(m *corev1.ConfigMap) { m.Data = nil }),
			},
			now: "Sync, patch", old: "Sync, update",
		},
		"Conflict": {
			reason: "Conflicts were errors with an event.",
			v:      []runtime.Object{virtualMap("a")}, fails: conflict,
			now: "SyncDown, requeue", old: "SyncDown, error, event",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for o, want := range map[*syncer.Options]string{{}: tc.now, ptrTo(syncer.LegacyOptions()): tc.old} {
				w := newWorld(t, worldOptions{v: tc.v, p: tc.p})
				w.syncer.syncErr = tc.fails
				if got := w.describePass(*o); got != want {
					t.Errorf("%s\ngot %q, want %q", tc.reason, got, want)
				}
			}
		})
	}
}

func ptrTo(o syncer.Options) *syncer.Options { return &o }

// describePass runs a pass and returns its calls, writes and outcome.
func (w *world) describePass(o syncer.Options) string {
	w.Helper()
	seen := &writeRecorder{Client: w.p}
	w.reg.PhysicalManager = clientManager{w.reg.PhysicalManager, seen}
	core, err := syncer.NewCore(w.reg, w.syncer, withRecorder(o, w.events), w.clock)
	w.Must(err)
	w.core = core
	result, err := w.pass("a")
	did := append(w.syncer.calls, seen.verbs...)
	if err != nil {
		did = append(did, "error")
	}
	if result == requeue {
		did = append(did, "requeue")
	}
	if len(w.events.all()) > 0 {
		did = append(did, "event")
	}
	return strings.Join(did, ", ")
}

type clientManager struct {
	ctrl.Manager

	client client.Client
}

func (m clientManager) GetClient() client.Client { return m.client }

// A writeRecorder records the verbs of writes.
type writeRecorder struct {
	client.Client

	verbs []string
}

func (w *writeRecorder) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	w.verbs = append(w.verbs, "create")
	return w.Client.Create(ctx, obj, opts...)
}

func (w *writeRecorder) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	w.verbs = append(w.verbs, "update")
	return w.Client.Update(ctx, obj, opts...)
}

func (w *writeRecorder) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	w.verbs = append(w.verbs, "patch")
	return w.Client.Patch(ctx, obj, patch, opts...)
}

func (w *writeRecorder) Apply(ctx context.Context, ac runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	w.verbs = append(w.verbs, "apply")
	return w.Client.Apply(ctx, ac, opts...)
}

func (w *writeRecorder) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	o := client.DeleteOptions{}
	o.ApplyOptions(opts)
	what := "anything"
	if p := o.Preconditions; p != nil && p.UID != nil && p.ResourceVersion != nil {
		what = fmt.Sprintf("%s at %s", *p.UID, *p.ResourceVersion)
	}
	w.verbs = append(w.verbs, "delete "+what)
	return w.Client.Delete(ctx, obj, opts...)
}

// A labelNameSyncer is a syncer whose host names depend on a label of the object and
// whose images cannot be mapped to a virtual name.
type labelNameSyncer struct{ *mapSyncer }

func (s labelNameSyncer) VirtualToPhysical(_ types.NamespacedName, vObj client.Object) types.NamespacedName {
	if vObj == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: target, Name: vObj.GetLabels()["host"]}
}

func (s labelNameSyncer) PhysicalToVirtual(client.Object) types.NamespacedName {
	return types.NamespacedName{}
}

func (s labelNameSyncer) TranslateMetadata(vObj client.Object) client.Object {
	pObj := s.mapSyncer.TranslateMetadata(vObj)
	pObj.SetName(vObj.GetLabels()["host"])
	return pObj
}

// TestHostNameDependsOnObject verifies that the image is deleted although its host name
// cannot be computed without the virtual object, because the tracker has it.
func TestHostNameDependsOnObject(t *testing.T) {
	w := newWorld(t, worldOptions{})
	v := virtualMap("a", func(m *corev1.ConfigMap) { m.Labels = map[string]string{"host": "somewhere"} })
	w.Create(v)
	image := imageOf("a", func(m *corev1.ConfigMap) { m.Name = "somewhere" })
	w.Must(w.p.Create(t.Context(), image))
	core, err := syncer.NewCore(w.reg, labelNameSyncer{w.syncer}, withRecorder(syncer.Options{}, w.events), w.clock)
	w.Must(err)
	w.core = core
	w.mustPass()
	w.Delete(v)
	w.mustPass()
	if w.host("somewhere") != nil {
		t.Error("the host object was not deleted")
	}
	w.mustPass()
	if n := w.core.TrackedEntries(); n != 0 {
		t.Errorf("%d entries remain for a deleted object", n)
	}
}

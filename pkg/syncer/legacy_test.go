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

// TestLegacyOptions: every old behaviour, beside the one that is the default now. That
// a failing IsManaged used to lose the event, TestManagedErrorIsRetried tells.
func TestLegacyOptions(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{}, "a", nil)
	cases := map[string]struct {
		reason   string
		v, p     []runtime.Object
		fails    error
		now, old string
	}{
		"Foreign": {
			reason: "Host objects of others used to be synced.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", stranger)},
			now: "error, told", old: "Sync, update",
		},
		"Ambiguous": {
			reason: "Two virtual objects whose host names are the same used to share an object.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", annotated(translator.NameAnnotation, "b"))},
			now: "error, told", old: "Sync, update",
		},
		"Former": {
			reason: "The image of a former object used to be taken over.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", annotated(translator.UIDAnnotation, "former"))},
			now: "delete image-of-a at 999", old: "Sync, update",
		},
		"Delete": {
			reason: "Whatever had the name used to be deleted.",
			p:      []runtime.Object{imageOf("a")},
			now:    "delete image-of-a at 999", old: "delete anything",
		},
		"Terminating": {
			reason: "What is being deleted used to get a host object again.",
			v:      []runtime.Object{virtualMap("a", terminating)},
			now:    "", old: "SyncDown, create",
		},
		"Create": {
			reason: "Host objects used to be created as they are.",
			v:      []runtime.Object{virtualMap("a")},
			now:    "SyncDown, apply", old: "SyncDown, create",
		},
		"Update": {
			reason: "Host objects used to be replaced as a whole.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", func(m *corev1.ConfigMap) { m.Data = nil })},
			now: "Sync, patch", old: "Sync, update",
		},
		"Conflict": {
			reason: "Conflicts used to be errors, and to be told.",
			v:      []runtime.Object{virtualMap("a")}, fails: conflict,
			now: "SyncDown, again", old: "SyncDown, error, told",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for o, want := range map[*syncer.Options]string{{}: tc.now, ptrTo(syncer.LegacyOptions()): tc.old} {
				w := newWorld(t, setting{v: tc.v, p: tc.p})
				w.syncer.syncErr = tc.fails
				if got := w.tellPass(*o); got != want {
					t.Errorf("%s\ngot %q, want %q", tc.reason, got, want)
				}
			}
		})
	}
}

func ptrTo(o syncer.Options) *syncer.Options { return &o }

// tellPass makes a pass and tells what it did.
func (w *world) tellPass(o syncer.Options) string {
	w.Helper()
	seen := &writes{Client: w.p}
	w.reg.PhysicalManager = clientOf{w.reg.PhysicalManager, seen}
	core, err := syncer.NewCore(w.reg, w.syncer, withRecorder(o, w.events), w.clock)
	w.Must(err)
	w.core = core
	result, err := w.pass("a")
	told := append(w.syncer.calls, seen.verbs...)
	if err != nil {
		told = append(told, "error")
	}
	if result == again {
		told = append(told, "again")
	}
	if len(w.events.all()) > 0 {
		told = append(told, "told")
	}
	return strings.Join(told, ", ")
}

type clientOf struct {
	ctrl.Manager

	client client.Client
}

func (m clientOf) GetClient() client.Client { return m.client }

// writes notes what is written.
type writes struct {
	client.Client

	verbs []string
}

func (w *writes) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	w.verbs = append(w.verbs, "create")
	return w.Client.Create(ctx, obj, opts...)
}

func (w *writes) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	w.verbs = append(w.verbs, "update")
	return w.Client.Update(ctx, obj, opts...)
}

func (w *writes) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	w.verbs = append(w.verbs, "patch")
	return w.Client.Patch(ctx, obj, patch, opts...)
}

func (w *writes) Apply(ctx context.Context, ac runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	w.verbs = append(w.verbs, "apply")
	return w.Client.Apply(ctx, ac, opts...)
}

func (w *writes) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	o := client.DeleteOptions{}
	o.ApplyOptions(opts)
	what := "anything"
	if p := o.Preconditions; p != nil && p.UID != nil && p.ResourceVersion != nil {
		what = fmt.Sprintf("%s at %s", *p.UID, *p.ResourceVersion)
	}
	w.verbs = append(w.verbs, "delete "+what)
	return w.Client.Delete(ctx, obj, opts...)
}

// byLabel is a syncer whose host names depend on the object, and whose images do not
// say whose they are.
type byLabel struct{ *mapSyncer }

func (s byLabel) VirtualToPhysical(_ types.NamespacedName, vObj client.Object) types.NamespacedName {
	if vObj == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: target, Name: vObj.GetLabels()["host"]}
}

func (s byLabel) PhysicalToVirtual(client.Object) types.NamespacedName { return types.NamespacedName{} }

func (s byLabel) TranslateMetadata(vObj client.Object) client.Object {
	pObj := s.mapSyncer.TranslateMetadata(vObj)
	pObj.SetName(vObj.GetLabels()["host"])
	return pObj
}

// TestNamesThatDependOnTheObject: without the virtual object its host name cannot be
// told any more, and no event of the host leads back; what was made is known.
func TestNamesThatDependOnTheObject(t *testing.T) {
	w := newWorld(t, setting{})
	v := virtualMap("a", func(m *corev1.ConfigMap) { m.Labels = map[string]string{"host": "somewhere"} })
	w.Create(v)
	image := imageOf("a", func(m *corev1.ConfigMap) { m.Name = "somewhere" })
	w.Must(w.p.Create(t.Context(), image))
	core, err := syncer.NewCore(w.reg, byLabel{w.syncer}, withRecorder(syncer.Options{}, w.events), w.clock)
	w.Must(err)
	w.core = core
	w.mustPass()
	w.Delete(v)
	w.mustPass()
	if w.host("somewhere") != nil {
		t.Error("the host object is forgotten")
	}
	w.mustPass()
	if n := w.core.Remembers(); n != 0 {
		t.Errorf("it remembers %d things of an object that is gone", n)
	}
}

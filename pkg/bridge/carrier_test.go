package bridge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/bridge"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// connect returns the client of a new pass.
func (w *world) connect() managed.ExternalClient {
	w.Helper()
	c, err := w.bridge.Connect(w.Context(), nil)
	w.Must(err)
	return c
}

// carried returns a volume whose host object is there.
func (w *world) carried() *volume.Volume {
	w.Helper()
	v := newVolume("data", 3)
	w.Create(v)
	w.Must(w.connect().Create(w.Context(), v))
	w.wrote()
	return v
}

func annotation(key, value string) string {
	if value == "" {
		return `{"metadata":{"annotations":{"` + key + `":null}}}`
	}
	return `{"metadata":{"annotations":{"` + key + `":"` + value + `"}}}`
}

// TestObserve: what is there, whose it is and how it differs; and looking changes
// nothing.
func TestObserve(t *testing.T) {
	ours := managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, Owner: managed.OwnerOurs}
	other := managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerOther}
	otherImage := managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerOther, OwnerNamespace: "ns"}
	where := "change " + hostName("data").String() + ": "
	boom := errors.New("boom")
	cases := map[string]struct {
		reason string
		before func(w *world, p *volume.Volume)
		want   managed.ExternalObservation
		err    error
	}{
		"UpToDate": {"It is as the syncer would make it.", func(*world, *volume.Volume) {}, ours, nil},
		"Absent": {
			"The host says that there is none.",
			func(w *world, p *volume.Volume) { w.Must(w.p.Delete(w.Context(), p)) },
			managed.ExternalObservation{}, nil,
		},
		"Drifted": {
			"The fields that differ are named, without their values.",
			func(w *world, p *volume.Volume) { w.patch(p, `{"spec":{"sizeGiB":8,"tier":"slow"}}`) },
			managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerOurs, Diff: where + "spec.sizeGiB, spec.tier"}, nil,
		},
		"Unmarked": {
			"What has no marks is nobody's.",
			func(w *world, p *volume.Volume) { w.patch(p, `{"metadata":{"labels":null,"annotations":null}}`) },
			managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerNobody}, nil,
		},
		"OtherVirtualCluster": {
			"What another virtual cluster has marked is its.",
			func(w *world, p *volume.Volume) {
				w.patch(p, `{"metadata":{"labels":{"`+translate.MarkerLabel+`":"blue"}}}`)
			},
			other, nil,
		},
		"OtherObject": {
			"The image of another object is its.",
			func(w *world, p *volume.Volume) { w.patch(p, annotation(translator.NameAnnotation, "data-2")) },
			otherImage, nil,
		},
		"Namesake": {
			"An object that is created anew under an old name does not inherit.",
			func(w *world, p *volume.Volume) { w.patch(p, annotation(translator.UIDAnnotation, "former")) },
			otherImage, nil,
		},
		"OldImage": {
			"Without a UID the name decides; it is to get one.",
			func(w *world, p *volume.Volume) { w.patch(p, annotation(translator.UIDAnnotation, "")) },
			managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerOurs, Diff: where + "metadata.annotations." + translator.UIDAnnotation}, nil,
		},
		"OldImageElsewhere": {
			"Without a UID, the cluster decides as well.",
			func(w *world, p *volume.Volume) {
				w.patch(p, annotation(translator.UIDAnnotation, ""))
				w.patch(p, annotation(translator.ClusterAnnotation, "elsewhere"))
			},
			otherImage, nil,
		},
		"Going": {
			"There is no use in changing what is being deleted.",
			func(w *world, p *volume.Volume) {
				w.patch(p, `{"metadata":{"finalizers":["example.org/wait"]},"spec":{"sizeGiB":8}}`)
				w.Must(w.p.Delete(w.Context(), p))
			},
			ours, nil,
		},
		"Down": {"What cannot be told is an error.", func(w *world, _ *volume.Volume) { w.fails = boom }, managed.ExternalObservation{}, boom},
		"NotServed": {
			"That the kind is not served says nothing about an object.",
			func(w *world, _ *volume.Volume) { w.fails = errNotServed },
			managed.ExternalObservation{}, errNotServed,
		},
		"Replaced": {
			"What another cluster does not have is not gone.",
			func(w *world, p *volume.Volume) {
				w.Must(w.p.Delete(w.Context(), p))
				w.renew()
			},
			managed.ExternalObservation{}, bridge.ErrHostReplaced,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			v := w.carried()
			tc.before(w, w.image("data"))
			got, err := w.connect().Observe(t.Context(), v)
			if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) {
				t.Errorf("%s\ngot error %v, -want, +got:\n%s", tc.reason, err, diff)
			}
			if wrote := w.wrote(); wrote != "" {
				t.Errorf("%s\nlooking has changed something: %s", tc.reason, wrote)
			}
		})
	}
}

var errNotServed = apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "a", "404 page not found", 0, true)

// TestTaken: a create that finds the name taken says so, and takes nothing.
func TestTaken(t *testing.T) {
	w := newWorld(t, false)
	v := w.carried()
	if err := w.connect().Create(t.Context(), v); !external.IsAlreadyExists(err) {
		t.Errorf("got %v", err)
	}
	w.fails = errors.New("boom")
	if err := w.connect().Create(t.Context(), v); err == nil || external.IsAlreadyExists(err) {
		t.Errorf("what is not known is said: %v", err)
	}
}

// TestDelete: only that very object is deleted, in the version that was looked at.
func TestDelete(t *testing.T) {
	w := newWorld(t, false)
	v := w.carried()

	c := w.connect()
	if _, err := c.Observe(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	w.patch(w.image("data"), `{"spec":{"sizeGiB":8}}`)
	if err := c.Delete(t.Context(), v); !apierrors.IsConflict(err) || w.image("data") == nil {
		t.Errorf("deleted something else than was looked at: %v", err)
	}

	w.patch(w.image("data"), annotation(translator.UIDAnnotation, "former"))
	if err := w.connect().Delete(t.Context(), v); err != nil || w.image("data") == nil {
		t.Errorf("deleted what is another's, without having looked: %v", err)
	}
	w.patch(w.image("data"), annotation(translator.UIDAnnotation, string(v.UID)))
	for _, what := range []string{"ours", "gone"} {
		if err := w.connect().Delete(t.Context(), v); err != nil || w.image("data") != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestUpdateWithoutHostObject: there is nothing to update.
func TestUpdateWithoutHostObject(t *testing.T) {
	w := newWorld(t, false)
	v := newVolume("data", 3)
	w.Create(v)
	if err := w.connect().Update(t.Context(), v); !external.IsNotFound(err) || w.wrote() != "" {
		t.Errorf("got %v", err)
	}
}

// TestExternalName: the syncer sees the object under its external name.
func TestExternalName(t *testing.T) {
	w := newWorld(t, false)
	v := newVolume("data", 3)
	meta.SetExternalName(v, "chosen")
	w.Create(v)
	w.pass()
	if w.image("chosen") == nil || w.image("data") != nil {
		t.Errorf("written: %s", w.wrote())
	}
}

// forward carries volumes in a way of its own.
type forward struct {
	ferry

	sync func(ctx *synccontext.SyncContext, p, v *volume.Volume) error
}

func (f forward) Sync(ctx *synccontext.SyncContext, p, v *volume.Volume) (ctrl.Result, error) {
	return ctrl.Result{}, f.sync(ctx, p, v)
}

// TestRehearsal: whatever a syncer would write to the host is noted and not sent, and
// what it may not write on this side is refused.
func TestRehearsal(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "s"}}
	key := func(v *volume.Volume) client.Object {
		return &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: v.Name}}
	}
	nothing := client.RawPatch("application/merge-patch+json", []byte(`{}`))
	other := client.RawPatch("application/json-patch+json", []byte(`[]`))
	cases := map[string]struct {
		reason string
		sync   func(ctx *synccontext.SyncContext, p, v *volume.Volume) error
		diff   string // "" is up to date
		err    string
	}{
		"Nothing": {"Nothing is up to date.", func(*synccontext.SyncContext, *volume.Volume, *volume.Volume) error { return nil }, "", ""},
		"Create": {"Secondary objects count.", func(ctx *synccontext.SyncContext, _, _ *volume.Volume) error {
			return ctx.PhysicalClient.Create(ctx.Context, secret)
		}, "create tenants/s", ""},
		"UpdateOfNothing": {"What is not there would be made.", func(ctx *synccontext.SyncContext, _, _ *volume.Volume) error {
			return ctx.PhysicalClient.Update(ctx.Context, secret)
		}, "create tenants/s", ""},
		"Delete": {"Deletions count.", func(ctx *synccontext.SyncContext, _, _ *volume.Volume) error {
			return first(ctx.PhysicalClient.Delete(ctx.Context, secret), ctx.PhysicalClient.DeleteAllOf(ctx.Context, &corev1.Secret{}))
		}, "delete tenants/s; delete all of /", ""},
		"Current": {"What the client of the current namespace would write, counts.", func(ctx *synccontext.SyncContext, _, _ *volume.Volume) error {
			return ctx.CurrentNamespaceClient.Create(ctx.Context, secret)
		}, "create tenants/s", ""},
		"SameUpdate": {"An update that changes nothing is none.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
			return first(ctx.PhysicalClient.Update(ctx.Context, p), ctx.PhysicalClient.Patch(ctx.Context, p, nothing))
		}, "", ""},
		"OtherPatch": {"What cannot be told is taken for a change.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
			return ctx.PhysicalClient.Patch(ctx.Context, p, other)
		}, "patch " + hostName("data").String(), ""},
		"Subresources": {"So are subresources.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
			p.Status.ID = "x"
			return first(ctx.PhysicalClient.Status().Update(ctx.Context, p), ctx.PhysicalClient.SubResource("scale").Create(ctx.Context, p, nil))
		}, "change " + hostName("data").String() + ": status.id; create a subresource of " + hostName("data").String(), ""},
		"Apply": {"What is applied counts where it differs, and its answer is nearly that of the host.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
			u := applied(p, 9)
			err := ctx.PhysicalClient.Apply(ctx.Context, client.ApplyConfigurationFromUnstructured(u))
			if u.GetUID() != p.UID || u.GetLabels()[translate.MarkerLabel] != "red" {
				return errors.Errorf("got the answer %v", u)
			}
			return err
		}, "change " + hostName("data").String() + ": spec.sizeGiB", ""},
		"SameApply": {"What is applied already is no change.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
			return ctx.PhysicalClient.Apply(ctx.Context, client.ApplyConfigurationFromUnstructured(applied(p, 3)))
		}, "", ""},
		"StatusPatch": {"A status patch counts where it differs.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
			return ctx.PhysicalClient.Status().Patch(ctx.Context, p, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"id":"y"}}`)))
		}, "change " + hostName("data").String() + ": status.id", ""},
		"Elsewhere": {"Reads go to the host, and other objects of this side are written.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
			list := &volume.List{}
			if err := ctx.PhysicalClient.List(ctx.Context, list); err != nil || len(list.Items) != 1 {
				return errors.Errorf("found %d: %v", len(list.Items), err)
			}
			o := newVolume("other", 1)
			return first(ctx.VirtualClient.Create(ctx.Context, o), ctx.VirtualClient.Update(ctx.Context, o), ctx.VirtualClient.Patch(ctx.Context, o, nothing),
				ctx.VirtualClient.Status().Update(ctx.Context, o), ctx.VirtualClient.Status().Patch(ctx.Context, o, nothing), ctx.VirtualClient.Delete(ctx.Context, o))
		}, "", ""},
		"VirtualApply": {"A status is not applied.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
			return ctx.VirtualClient.Status().Apply(ctx.Context, client.ApplyConfigurationFromUnstructured(applied(p, 3)))
		}, "", "status of its virtual object only"},
		"VirtualSpec": {"Of its virtual object it writes the status alone.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
			return ctx.VirtualClient.Update(ctx.Context, v)
		}, "", "status of its virtual object only"},
		"VirtualPatch": {"Neither by patches.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
			return ctx.VirtualClient.Patch(ctx.Context, v, nothing)
		}, "", "status of its virtual object only"},
		"VirtualDelete": {"Nor by deletion.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
			return ctx.VirtualClient.Delete(ctx.Context, key(v))
		}, "", "status of its virtual object only"},
		"VirtualApplied": {"Nor by applying it.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
			return ctx.VirtualClient.Apply(ctx.Context, client.ApplyConfigurationFromUnstructured(applied(v, 9)))
		}, "", "status of its virtual object only"},
		"VirtualCreate": {"Nor by making it again.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
			return ctx.VirtualClient.Create(ctx.Context, key(v))
		}, "", "status of its virtual object only"},
		"VirtualDeleteAll": {"Nor with all of its kind.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
			return ctx.VirtualClient.DeleteAllOf(ctx.Context, &volume.Volume{}, client.InNamespace(v.Namespace))
		}, "", "status of its virtual object only"},
		"VirtualScale": {"Other subresources are not the status.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
			return ctx.VirtualClient.SubResource("scale").Update(ctx.Context, v)
		}, "", "status of its virtual object only"},
		"VirtualStatus": {"However a syncer comes to the status, it is put down.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
			v.Status.ID = "x"
			c := ctx.VirtualClient.SubResource("status")
			return first(c.Update(ctx.Context, v), c.Patch(ctx.Context, v, nothing))
		}, "", ""},
		"VirtualOther": {"A status patch of another sort is refused.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
			return ctx.VirtualClient.Status().Patch(ctx.Context, v, other)
		}, "", "status of its virtual object only"},
		"SameStatus": {"A status that is brought up again and again is one.", func(ctx *synccontext.SyncContext, p, v *volume.Volume) error {
			v.Status.ID = "x"
			return first(ctx.VirtualClient.Status().Update(ctx.Context, v), ctx.VirtualClient.Status().Patch(ctx.Context, v, nothing))
		}, "", ""},
		"Restless": {"Who never comes to rest is told.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
			v.Status.UsedBytes++
			return ctx.VirtualClient.Status().Update(ctx.Context, v)
		}, "", "5 times in a row"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			v := w.carried()
			f := forward{ferry{NamespacedTranslator: translator.NewNamespacedTranslator(w.reg, "volumes", &volume.Volume{})}, tc.sync}
			var err error
			if w.bridge, err = bridge.New(t.Context(), w.reg, syncer.FromTyped(&volume.Volume{}, f)); err != nil {
				t.Fatal(err)
			}
			before := key(v)
			w.Read(before)
			got, err := w.connect().Observe(t.Context(), v)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s\ngot error %v", tc.reason, err)
			}
			if err == nil && (got.Diff != tc.diff || got.ResourceUpToDate != (tc.diff == "")) {
				t.Errorf("%s\ngot %+v", tc.reason, got)
			}
			now := key(v)
			if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(v), now); err != nil || now.GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("%s\nlooking has changed the virtual object: %v", tc.reason, err)
			}
			if wrote := w.wrote(); wrote != "" {
				t.Errorf("%s\nlooking has changed something: %s", tc.reason, wrote)
			}
		})
	}
}

// applied is what a field manager would apply to a host object.
func applied(p *volume.Volume, size int64) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"sizeGiB": size}}}
	u.SetGroupVersionKind(schema.GroupVersionKind(volume.Kind))
	u.SetNamespace(p.Namespace)
	u.SetName(p.Name)
	return u
}

// starting is a syncer with a Starter.
type starting struct{ forward }

func (starting) ReconcileStart(*synccontext.SyncContext, ctrl.Request) (bool, error) {
	return false, nil
}
func (starting) ReconcileEnd() {}

// TestNew: what cannot be bridged is refused at once.
func TestNew(t *testing.T) {
	w := newWorld(t, false)
	f := ferry{NamespacedTranslator: translator.NewNamespacedTranslator(w.reg, "volumes", &volume.Volume{})}
	if _, err := bridge.New(t.Context(), w.reg, syncer.FromTyped(&volume.Volume{}, starting{forward{ferry: f}})); err == nil {
		t.Error("a Starter is bridged")
	}
	w.Must(w.p.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}}))
	if _, err := bridge.New(t.Context(), w.reg, w.ferry(false)); err == nil {
		t.Error("a host that does not say who it is is bridged")
	}
}

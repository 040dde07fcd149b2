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

// carried returns a volume with an existing host object.
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

// TestObserve verifies the existence, owner and differences, and that Observe changes
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
		"UpToDate": {"The host object is as desired.", func(*world, *volume.Volume) {}, ours, nil},
		"Absent": {
			"The host object does not exist.",
			func(w *world, p *volume.Volume) { w.Must(w.p.Delete(w.Context(), p)) },
			managed.ExternalObservation{}, nil,
		},
		"Drifted": {
			"The diff contains the paths that differ, without values.",
			func(w *world, p *volume.Volume) { w.patch(p, `{"spec":{"sizeGiB":8,"tier":"slow"}}`) },
			managed.ExternalObservation{
				ResourceExists: true, Owner: managed.OwnerOurs, Diff: where + "spec.sizeGiB, spec.tier",
			}, nil,
		},
		"Unmarked": {
			"An object without marks is unowned.",
			func(w *world, p *volume.Volume) { w.patch(p, `{"metadata":{"labels":null,"annotations":null}}`) },
			managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerNone}, nil,
		},
		"OtherVirtualCluster": {
			"An object with the marks of another virtual cluster belongs to it.",
			func(w *world, p *volume.Volume) {
				w.patch(p, `{"metadata":{"labels":{"`+translate.MarkerLabel+`":"blue"}}}`)
			},
			other, nil,
		},
		"OtherObject": {
			"The image of another object belongs to it.",
			func(w *world, p *volume.Volume) { w.patch(p, annotation(translator.NameAnnotation, "data-2")) },
			otherImage, nil,
		},
		"Namesake": {
			"A recreated object does not own the image of the former one.",
			func(w *world, p *volume.Volume) { w.patch(p, annotation(translator.UIDAnnotation, "former")) },
			otherImage, nil,
		},
		"OldImage": {
			"Without a UID the name decides, and the UID is added.",
			func(w *world, p *volume.Volume) { w.patch(p, annotation(translator.UIDAnnotation, "")) },
			managed.ExternalObservation{
				ResourceExists: true, Owner: managed.OwnerOurs, Diff: where + "metadata.annotations." + translator.UIDAnnotation,
			}, nil,
		},
		"OldImageElsewhere": {
			"Without a UID, the cluster UID decides as well.",
			func(w *world, p *volume.Volume) {
				w.patch(p, annotation(translator.UIDAnnotation, ""))
				w.patch(p, annotation(translator.ClusterAnnotation, "elsewhere"))
			},
			otherImage, nil,
		},
		"Going": {
			"An object that is being deleted is not updated.",
			func(w *world, p *volume.Volume) {
				w.patch(p, `{"metadata":{"finalizers":["example.org/wait"]},"spec":{"sizeGiB":8}}`)
				w.Must(w.p.Delete(w.Context(), p))
			},
			ours, nil,
		},
		"Down": {
			"An error of IsManaged is returned.", func(w *world, _ *volume.Volume) { w.fails = boom },
			managed.ExternalObservation{}, boom,
		},
		"NotServed": {
			"A kind that is not served does not mean that the object is gone.",
			func(w *world, _ *volume.Volume) { w.fails = errNotServed },
			managed.ExternalObservation{}, errNotServed,
		},
		"Replaced": {
			"An object that another cluster does not have is not gone.",
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

var errNotServed = apierrors.NewGenericServerResponse(
	http.StatusNotFound, "get", schema.GroupResource{}, "a", "404 page not found", 0, true)

// TestTaken verifies that Create returns AlreadyExists for a name that is taken, and
// changes nothing.
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

// TestDelete verifies that only the observed object is deleted, in the observed version.
func TestDelete(t *testing.T) {
	w := newWorld(t, false)
	v := w.carried()

	c := w.connect()
	if _, err := c.Observe(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	w.patch(w.image("data"), `{"spec":{"sizeGiB":8}}`)
	if err := c.Delete(t.Context(), v); !apierrors.IsConflict(err) || w.image("data") == nil {
		t.Errorf("deleted another object than the observed one: %v", err)
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

// TestUpdateWithoutHostObject verifies that Update returns NotFound without a host
// object.
func TestUpdateWithoutHostObject(t *testing.T) {
	w := newWorld(t, false)
	v := newVolume("data", 3)
	w.Create(v)
	if err := w.connect().Update(t.Context(), v); !external.IsNotFound(err) || w.wrote() != "" {
		t.Errorf("got %v", err)
	}
}

// TestExternalName verifies that the syncer sees the object under its external name.
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

// A forward is a syncer whose Sync is a function.
type forward struct {
	copier

	sync func(ctx *synccontext.SyncContext, p, v *volume.Volume) error
}

func (f forward) Sync(ctx *synccontext.SyncContext, p, v *volume.Volume) (ctrl.Result, error) {
	return ctrl.Result{}, f.sync(ctx, p, v)
}

// TestDryRun verifies that writes to the host are recorded and not sent, and that
// forbidden writes to the virtual object are errors.
func TestDryRun(t *testing.T) {
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
		"Nothing": {
			"A Sync without writes means up to date.", func(
				*synccontext.SyncContext, *volume.Volume, *volume.Volume,
			) error {
				return nil
			}, "",
			"",
		},
		"Create": {"A create of another object is recorded.", func(ctx *synccontext.SyncContext, _, _ *volume.Volume) error {
			return ctx.PhysicalClient.Create(ctx.Context, secret)
		}, "create tenants/s", ""},
		"UpdateOfNothing": {
			"A missing object would be created.", func(ctx *synccontext.SyncContext, _, _ *volume.Volume) error {
				return ctx.PhysicalClient.Update(ctx.Context, secret)
			},
			"create tenants/s", "",
		},
		"Delete": {"A delete is recorded.", func(ctx *synccontext.SyncContext, _, _ *volume.Volume) error {
			return first(
				ctx.PhysicalClient.Delete(ctx.Context, secret), ctx.PhysicalClient.DeleteAllOf(ctx.Context, &corev1.Secret{}))
		}, "delete tenants/s; delete all of /", ""},
		"Current": {
			"Writes with the client of the current namespace count.",
			func(ctx *synccontext.SyncContext, _, _ *volume.Volume) error {
				return ctx.CurrentNamespaceClient.Create(ctx.Context, secret)
			},
			"create tenants/s", "",
		},
		"SameUpdate": {
			"An update without a change is not recorded.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
				return first(ctx.PhysicalClient.Update(ctx.Context, p), ctx.PhysicalClient.Patch(ctx.Context, p, nothing))
			},
			"", "",
		},
		"OtherPatch": {
			"An unknown patch counts as a change.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
				return ctx.PhysicalClient.Patch(ctx.Context, p, other)
			},
			"patch " + hostName("data").String(), "",
		},
		"Subresources": {
			"Writes of subresources are recorded.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
				p.Status.ID = "x"
				return first(
					ctx.PhysicalClient.Status().Update(ctx.Context, p),
					ctx.PhysicalClient.SubResource("scale").Create(ctx.Context, p, nil))
			},
			"change " + hostName("data").String() + ": status.id; create a subresource of " + hostName("data").String(), "",
		},
		"Apply": {
			"An apply with a difference is recorded, and its response approximates that of the host.",
			func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
				u := applied(p, 9)
				err := ctx.PhysicalClient.Apply(ctx.Context, client.ApplyConfigurationFromUnstructured(u))
				if u.GetUID() != p.UID || u.GetLabels()[translate.MarkerLabel] != "red" {
					return errors.Errorf("got the answer %v", u)
				}
				return err
			},
			"change " + hostName("data").String() + ": spec.sizeGiB", "",
		},
		"SameApply": {
			"An apply without a difference is not recorded.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
				return ctx.PhysicalClient.Apply(ctx.Context, client.ApplyConfigurationFromUnstructured(applied(p, 3)))
			},
			"", "",
		},
		"StatusPatch": {
			"A status patch with a difference is recorded.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
				return ctx.PhysicalClient.Status().Patch(
					ctx.Context, p, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"id":"y"}}`)))
			},
			"change " + hostName("data").String() + ": status.id", "",
		},
		"Elsewhere": {
			"Reads go to the host, and other virtual objects are written.",
			func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
				list := &volume.List{}
				if err := ctx.PhysicalClient.List(ctx.Context, list); err != nil || len(list.Items) != 1 {
					return errors.Errorf("found %d: %v", len(list.Items), err)
				}
				o := newVolume("other", 1)
				return first(ctx.VirtualClient.Create(
					ctx.Context, o), ctx.VirtualClient.Update(ctx.Context, o), ctx.VirtualClient.Patch(
					ctx.Context, o, nothing),
					ctx.VirtualClient.Status().Update(ctx.Context, o), ctx.VirtualClient.Status().Patch(
						ctx.Context, o, nothing), ctx.VirtualClient.Delete(ctx.Context, o))
			},
			"", "",
		},
		"VirtualApply": {"A status cannot be applied.", func(ctx *synccontext.SyncContext, p, _ *volume.Volume) error {
			return ctx.VirtualClient.Status().Apply(ctx.Context, client.ApplyConfigurationFromUnstructured(applied(p, 3)))
		}, "", "status of its virtual object only"},
		"VirtualSpec": {
			"Only the status of the virtual object can be written.",
			func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
				return ctx.VirtualClient.Update(ctx.Context, v)
			},
			"", "status of its virtual object only",
		},
		"VirtualPatch": {
			"The virtual object cannot be patched.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
				return ctx.VirtualClient.Patch(ctx.Context, v, nothing)
			},
			"", "status of its virtual object only",
		},
		"VirtualDelete": {
			"The virtual object cannot be deleted.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
				return ctx.VirtualClient.Delete(ctx.Context, key(v))
			},
			"", "status of its virtual object only",
		},
		"VirtualApplied": {
			"The virtual object cannot be applied.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
				return ctx.VirtualClient.Apply(ctx.Context, client.ApplyConfigurationFromUnstructured(applied(v, 9)))
			},
			"", "status of its virtual object only",
		},
		"VirtualCreate": {
			"The virtual object cannot be created.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
				return ctx.VirtualClient.Create(ctx.Context, key(v))
			},
			"", "status of its virtual object only",
		},
		"VirtualDeleteAll": {
			"The kind of the virtual object cannot be deleted as a whole.",
			func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
				return ctx.VirtualClient.DeleteAllOf(ctx.Context, &volume.Volume{}, client.InNamespace(v.Namespace))
			},
			"", "status of its virtual object only",
		},
		"VirtualScale": {
			"Other subresources are not the status.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
				return ctx.VirtualClient.SubResource("scale").Update(ctx.Context, v)
			},
			"", "status of its virtual object only",
		},
		"VirtualStatus": {
			"The status is stored, however it is written.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
				v.Status.ID = "x"
				c := ctx.VirtualClient.SubResource("status")
				return first(c.Update(ctx.Context, v), c.Patch(ctx.Context, v, nothing))
			},
			"", "",
		},
		"VirtualOther": {
			"A status patch of another type is an error.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
				return ctx.VirtualClient.Status().Patch(ctx.Context, v, other)
			},
			"", "status of its virtual object only",
		},
		"SameStatus": {
			"The same status written repeatedly counts once.",
			func(ctx *synccontext.SyncContext, p, v *volume.Volume) error {
				v.Status.ID = "x"
				return first(
					ctx.VirtualClient.Status().Update(ctx.Context, v), ctx.VirtualClient.Status().Patch(ctx.Context, v, nothing))
			},
			"", "",
		},
		"Unsettled": {
			"A status that never settles is an error.", func(ctx *synccontext.SyncContext, _, v *volume.Volume) error {
				v.Status.UsedBytes++
				return ctx.VirtualClient.Status().Update(ctx.Context, v)
			},
			"", "5 times in a row",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			v := w.carried()
			f := forward{
				copier{NamespacedTranslator: translator.NewNamespacedTranslator(w.reg, "volumes", &volume.Volume{})}, tc.sync,
			}
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
			if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(v), now); err != nil ||
				now.GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("%s\nObserve changed the virtual object: %v", tc.reason, err)
			}
			if wrote := w.wrote(); wrote != "" {
				t.Errorf("%s\nlooking has changed something: %s", tc.reason, wrote)
			}
		})
	}
}

// applied returns the object that a field manager applies to a host object.
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

// TestNew verifies that New rejects a Starter and a host that does not respond.
func TestNew(t *testing.T) {
	w := newWorld(t, false)
	f := copier{NamespacedTranslator: translator.NewNamespacedTranslator(w.reg, "volumes", &volume.Volume{})}
	if _, err := bridge.New(
		t.Context(), w.reg, syncer.FromTyped(&volume.Volume{}, starting{forward{copier: f}})); err == nil {
		t.Error("a Starter is bridged")
	}
	w.Must(w.p.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}}))
	if _, err := bridge.New(t.Context(), w.reg, w.copier(false)); err == nil {
		t.Error("a host that does not say who it is is bridged")
	}
}

package kube_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/connsecret"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
)

// TestDryRun checks that a dry run is answered as the write would be, and writes nothing.
func TestDryRun(t *testing.T) {
	w := newWorld(t)
	w.Create(newVolume("a"))
	before := newVolume("a")
	w.Read(before)
	events, err := w.API.Watch(t.Context(), &volume.List{})
	w.Must(err)
	defer events.Stop()
	nextEvent(t, events) // the existing object

	made := newVolume("b")
	made.Status.ID = "vol-1"
	w.Must(w.API.Create(t.Context(), made, client.DryRunAll))
	if made.Status.ID != "" || made.ResourceVersion != "" || made.Spec.SizeGiB != 1 {
		t.Errorf("a creation is answered with %+v", made)
	}
	changed := copied(before)
	changed.Spec.SizeGiB, changed.Status.ID = 7, "vol-1"
	w.Must(w.API.Update(t.Context(), changed, client.DryRunAll))
	if changed.Spec.SizeGiB != 7 || changed.Status.ID != "" || changed.Generation != before.Generation+1 {
		t.Errorf("an update is answered with %+v", changed)
	}
	status := copied(before)
	status.Status.ID = "vol-1"
	w.Must(w.API.Status().Update(t.Context(), status, client.DryRunAll))
	if status.Status.ID != "vol-1" {
		t.Errorf("an update of the status is answered with %+v", status)
	}
	patched := newVolume("a")
	w.Must(w.API.Patch(t.Context(), patched,
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)), client.DryRunAll))
	if patched.Labels["a"] != "b" || patched.UID != before.UID {
		t.Errorf("a patch is answered with %+v", patched)
	}
	w.Must(w.API.Delete(t.Context(), newVolume("a"), client.DryRunAll))
	w.Must(w.API.DeleteAllOf(t.Context(), &volume.Volume{}, client.InNamespace("default"), client.DryRunAll))

	after := newVolume("a")
	w.Read(after)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("something was written: -before +after:\n%s", diff)
	}
	w.Create(newVolume("c"))
	if got, want := nextEvent(t, events), string(watch.Added)+" c map[]"; got != want {
		t.Errorf("the first event is %q, want %q", got, want)
	}
}

// TestDryRunIsRefused checks that a dry run is refused for the reasons for which the write would be refused.
func TestDryRunIsRefused(t *testing.T) {
	w := newWorld(t)
	w.Create(newVolume("a"))
	stale := newVolume("a")
	stale.ResourceVersion = "1000"
	other := newVolume("a")
	other.UID = "another"
	cases := map[string]struct {
		err  error
		want func(error) bool
	}{
		"Exists":  {w.API.Create(t.Context(), newVolume("a"), client.DryRunAll), kerrors.IsAlreadyExists},
		"BadName": {w.API.Create(t.Context(), newVolume("A b"), client.DryRunAll), kerrors.IsInvalid},
		"Stale":   {w.API.Update(t.Context(), stale, client.DryRunAll), kerrors.IsConflict},
		"Missing": {w.API.Delete(t.Context(), newVolume("b"), client.DryRunAll), kerrors.IsNotFound},
		"Precondition": {w.API.Delete(t.Context(), newVolume("a"), client.DryRunAll,
			client.Preconditions{UID: &other.UID}), kerrors.IsConflict},
		"OtherUID": {
			w.API.Patch(t.Context(), newVolume("a"),
				client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"uid":"another"}}`)), client.DryRunAll),
			func(err error) bool { return kerrors.IsInvalid(err) || kerrors.IsConflict(err) },
		},
		"Apply": {w.API.Patch(t.Context(), newVolume("a"), client.RawPatch(types.ApplyPatchType, []byte(`{}`)),
			client.DryRunAll), kerrors.IsUnsupportedMediaType},
	}
	for name, tc := range cases {
		if !tc.want(tc.err) {
			t.Errorf("%s: got %v", name, tc.err)
		}
	}
}

// TestConnectionSecretInAStore checks that where Secrets are in a store as well, the check before a creation,
// managed.WithCreationConnectionDetails, is a dry run there.
func TestConnectionSecretInAStore(t *testing.T) {
	w := newWorld(t)
	secrets := memory.New[*kube.Envelope[*corev1.Secret]]("secrets")
	c, err := kube.NewClient(w.scheme, append(w.kinds(), kube.Serve(secrets)))
	w.Must(err)
	desired := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "access"},
		Data:       map[string][]byte{"password": []byte("x")},
	}
	owned := func(*corev1.Secret) error { return nil }
	w.Must(connsecret.Prepare(t.Context(), c, c, desired, owned))
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(desired), &corev1.Secret{}); !kerrors.IsNotFound(err) {
		t.Fatalf("the check has written something: %v", err)
	}
	_, err = connsecret.Create(t.Context(), c, desired)
	w.Must(err)
	w.Must(connsecret.Prepare(t.Context(), c, c, desired, owned))
	foreign := errors.New("it is somebody else's")
	if err := connsecret.Prepare(t.Context(), c, c, desired,
		func(*corev1.Secret) error { return foreign }); !errors.Is(err, foreign) {
		t.Errorf("got %v", err)
	}
	got := &corev1.Secret{}
	w.Must(c.Get(t.Context(), client.ObjectKeyFromObject(desired), got))
	if diff := cmp.Diff(desired.Data, got.Data); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func copied(v *volume.Volume) *volume.Volume { return v.DeepCopyObject().(*volume.Volume) }

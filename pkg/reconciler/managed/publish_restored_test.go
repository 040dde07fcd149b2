package managed_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// snapshotBefore is the stamp of the object that the snapshots of these tests are restored from.
func snapshotBefore() managed.Stamp {
	return managed.Stamp(strings.Replace(string(markBefore()), "/Volume/", "/Snapshot/", 1))
}

// snapshotNow is the stamp of the restored object.
func snapshotNow() managed.Stamp {
	return (stamped{}).own(&volume.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name,
		UID: "uid-1"}})
}

// onSecret is a stamp as the connection Secret of its object bears it.
func onSecret(of managed.Stamp) string {
	_, rest, _ := strings.Cut(string(of), "/")

	return "/" + rest
}

// newRestoredGallery returns a gallery in which a disk bears a stamp, and first the connection Secret and then its
// object were restored from a backup: as Velero does it, without owners, unless change does it otherwise.
func newRestoredGallery(t *testing.T, mark *managed.Stamp, from string, change func(*corev1.Secret),
	recorded string) gallery {
	t.Helper()
	g := newGallery(t)
	g.wrap(func(c managed.ExternalClient) managed.ExternalClient { return stamped{c, mark} })
	g.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 1, Source: "vol-0", Password: "rotated"})
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: "login", UID: "uid-of-the-secret",
		Annotations: map[string]string{managed.StampKey: onSecret(snapshotBefore()), "note": "kept"},
	}, Data: map[string][]byte{"password": []byte("first"), "recovery": []byte("told by Create alone")}}
	if change != nil {
		change(s)
	}
	g.Create(s)
	g.create(func(v *volume.Snapshot) {
		secretNamed("login")(v)
		backedUp(v, from)
		if recorded != "" {
			meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyRestoredOwner: recorded})
		}
	})

	return g
}

var otherOwner = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "uid-other"}

// controlled lets an object control a Secret without a stamp, which has another owner besides.
func controlled(apiVersion, kind, name, uid string) func(*corev1.Secret) {
	return func(s *corev1.Secret) {
		delete(s.Annotations, managed.StampKey)
		s.OwnerReferences = []metav1.OwnerReference{otherOwner, {
			APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(uid),
			Controller: new(true),
		}}
	}
}

// stampedWith replaces a part of the stamp of a Secret.
func stampedWith(old, by string) func(*corev1.Secret) {
	return func(s *corev1.Secret) {
		s.Annotations[managed.StampKey] = strings.Replace(s.Annotations[managed.StampKey], old, by, 1)
	}
}

// TestConnectionSecretsThatAreRestoredFirst verifies that a restored Secret is taken over only by the object that
// took over the external resource of the same owner.
func TestConnectionSecretsThatAreRestoredFirst(t *testing.T) {
	version := volume.GroupVersion.String()
	for name, tc := range map[string]struct {
		mark     managed.Stamp // of the external resource
		from     string
		secret   func(*corev1.Secret)
		recorded string
		taken    bool
		helped   bool // the message says how the Secret is given to the object
	}{
		"without owners":                     {snapshotBefore(), "cluster-1", nil, "", true, false},
		"without owners, by the whole stamp": {snapshotBefore(), string(snapshotBefore()), nil, "", true, false},
		"with its owner": {snapshotBefore(), "cluster-1",
			controlled(version, "Snapshot", "data", "uid-0"), "", true, false},
		"with its owner, by another version": {snapshotBefore(), "cluster-1",
			controlled(volume.GroupVersion.Group+"/v0", "Snapshot", "data", "uid-0"), "", true, false},
		"with its owner, and the object as another": {snapshotBefore(), "cluster-1", func(s *corev1.Secret) {
			controlled(version, "Snapshot", "data", "uid-0")(s)
			s.OwnerReferences = append(s.OwnerReferences, metav1.OwnerReference{
				APIVersion: version, Kind: "Snapshot", Name: "data", UID: "uid-1",
			})
		}, "", true, false},
		"published after the restore": {snapshotNow(), "", nil, "uid-1/uid-0", true, false},
		"controlled by another UID": {snapshotBefore(), "cluster-1",
			controlled(version, "Snapshot", "data", "uid-7"), "", false, false},
		"controlled by another name": {snapshotBefore(), "cluster-1",
			controlled(version, "Snapshot", "other", "uid-0"), "", false, false},
		"controlled by another kind": {snapshotBefore(), "cluster-1",
			controlled(version, "Volume", "data", "uid-0"), "", false, false},
		"controlled by another group": {snapshotBefore(), "cluster-1",
			controlled("example.org/v1", "Snapshot", "data", "uid-0"), "", false, false},
		"of another UID": {snapshotBefore(), "cluster-1", stampedWith("/uid-0", "/uid-7"), "", false,
			true},
		"of another name": {snapshotBefore(), "cluster-1", stampedWith("/data/", "/other/"), "", false,
			true},
		"of another namespace": {snapshotBefore(), "cluster-1", stampedWith("/default/", "/other/"), "",
			false, true},
		"of another kind": {snapshotBefore(), "cluster-1", stampedWith("/Snapshot/", "/Volume/"), "",
			false, true},
		"of nobody": {snapshotBefore(), "cluster-1",
			func(s *corev1.Secret) { s.Annotations = nil }, "", false, true},
		"its user has said nothing":     {snapshotNow(), "", nil, "", false, true},
		"what is said has no effect":    {snapshotNow(), "cluster-1", nil, "", false, true},
		"recorded of the object before": {snapshotNow(), "", nil, "uid-0/uid-0", false, true},
		"recorded of another owner":     {snapshotNow(), "", nil, "uid-1/uid-7", false, true},
		"recorded, and another controls it": {snapshotNow(), "", func(s *corev1.Secret) {
			controlled(version, "Volume", "data", "uid-5")(s)
			s.Annotations[managed.StampKey] = onSecret(snapshotBefore())
		}, "uid-1/uid-0", false, false},
		"recorded of nobody, of nobody": {snapshotNow(), "", func(s *corev1.Secret) { s.Annotations = nil },
			"uid-1/", false, true},
		"recorded of nobody, stamp of nobody": {snapshotNow(), "", stampedWith("/uid-0", "/"), "uid-1", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			mark := tc.mark
			g := newRestoredGallery(t, &mark, tc.from, tc.secret, tc.recorded)
			before := g.secret("login")
			g.pass()
			after := g.secret("login")
			if !tc.taken {
				c := g.condition(commonv1.TypeSynced, "False/ConnectionSecretNotOwned")
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("the Secret of somebody else was written: %s", diff)
				}
				if got := strings.Contains(c.Message,
					"kubectl patch secret login --namespace default"); got != tc.helped {
					t.Errorf("says how the Secret is given to the object: %t: %s", got, c.Message)
				}

				return
			}
			g.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
			g.condition(commonv1.TypeReady, "True/Available")
			if got := string(after.Data["password"]) + ", " +
				string(after.Data["recovery"]); got != "rotated, told by Create alone" {
				t.Errorf("the Secret holds %s", got)
			}
			var owners []metav1.OwnerReference
			if len(before.OwnerReferences) > 0 {
				owners = append(owners, otherOwner)
			}
			owners = append(owners, metav1.OwnerReference{
				APIVersion: version, Kind: "Snapshot", Name: "data", UID: "uid-1",
				Controller: new(true),
			})
			if diff := cmp.Diff(owners, after.OwnerReferences); diff != "" {
				t.Errorf("owners: %s", diff)
			}
			if want := (map[string]string{managed.StampKey: onSecret(snapshotNow()),
				"note": "kept"}); !cmp.Equal(after.Annotations, want) {
				t.Errorf("annotations: %v", after.Annotations)
			}
		})
	}
}

// TestASecretIsTakenOverLater verifies that a Secret that could not be taken over with the external resource is
// taken over later, by another process, once.
func TestASecretIsTakenOverLater(t *testing.T) {
	mark := snapshotBefore()
	g := newRestoredGallery(t, &mark, "cluster-1", nil, "")
	g.answer = func(_ context.Context, note string) error {
		if strings.HasPrefix(note, "patch secret") {
			return kerrors.NewInternalError(errLost)
		}

		return nil
	}
	for range 2 { // the second ends the restore of the external resource
		if _, err := g.try(); err == nil {
			t.Error("the Secret was taken over")
		}
	}
	if got := g.get().Annotations; got[meta.AnnotationKeyRestored] != "uid-1" || mark != snapshotNow() {
		t.Fatalf("the external resource is not taken over: %v, %s", got, mark)
	}
	g.answer = nil
	g.restart()
	g.pass()
	g.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
	if s := g.secret("login"); !metav1.IsControlledBy(s, g.get()) || string(s.Data["password"]) != "rotated" {
		t.Errorf("the Secret is not taken over: %+v", s)
	}
	g.taken()
	g.pass()
	g.expect("", look, "")
}

// TestASecretThatAUserGivesToItsObject verifies that the command in the message gives the Secret to the object,
// with all its content.
func TestASecretThatAUserGivesToItsObject(t *testing.T) {
	mark := snapshotNow()
	g := newRestoredGallery(t, &mark, "", nil, "")
	g.pass()
	_, command, _ := strings.Cut(g.get().GetCondition(commonv1.TypeSynced).Message,
		"kubectl patch secret login --namespace default --patch '")
	patch, _, _ := strings.Cut(command, "'")
	g.Must(g.API.Patch(g.Context(), g.secret("login"), client.RawPatch(types.StrategicMergePatchType, []byte(patch))))
	g.pass()
	g.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
	if s := g.secret("login"); !metav1.IsControlledBy(s, g.get()) || string(s.Data["password"]) != "rotated" ||
		len(s.Data) != 3 {
		t.Errorf("the Secret is %+v", s)
	}
}

// TestASecretWithoutAStampGetsOne verifies that a Secret without a stamp gets one with the next requested
// publication.
func TestASecretWithoutAStampGetsOne(t *testing.T) {
	g := newGallery(t)
	g.create(secretNamed("login"))
	g.pass()
	want := "/" + volume.GroupVersion.Group + "/Snapshot/default/data/uid-1"
	if got := g.secret("login").Annotations[managed.StampKey]; got != want {
		t.Errorf("created with the stamp %q, want %q", got, want)
	}
	s := g.secret("login")
	g.Change(s, func() { s.Annotations = nil })
	g.restart()
	g.taken()
	g.pass()
	g.expect("", look, "")
	g.annotate(meta.AnnotationKeyReconcileRequestedAt, "now")
	g.pass()
	if got := g.secret("login").Annotations[managed.StampKey]; got != want {
		t.Errorf("the stamp is %q, want %q", got, want)
	}
}

package managed_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A stamped client keeps the mark of the owner on the external resource, and writes its own
// with each Update.
type stamped struct {
	managed.ExternalClient

	mark *managed.Stamp
}

func (s stamped) own(mg resource.Managed) managed.Stamp {
	of := volume.Kind
	if _, ok := mg.(*volume.Snapshot); ok {
		of = volume.SnapshotKind
	}

	return managed.NewStamp("cluster-2", schema.GroupKind{Group: of.Group, Kind: of.Kind}, mg)
}

func (s stamped) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := s.ExternalClient.Observe(ctx, mg)
	if o.Owner = s.own(mg).Owner(string(*s.mark)); o.Owner == managed.OwnerOther {
		o.OwnerStamp, o.ResourceUpToDate = *s.mark, false
	}

	return o, err
}

func (s stamped) Update(ctx context.Context, mg resource.Managed) error {
	*s.mark = s.own(mg)

	return s.ExternalClient.Update(ctx, mg)
}

// newRestored returns a world in which a disk bears a mark, and an object that was restored
// from a backup has its name: the annotations and the finalizer are those of the object before.
func newRestored(t *testing.T, mark *managed.Stamp, from string, o ...managed.ReconcilerOption) *world {
	t.Helper()
	w := newWorld(t, o...)
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return stamped{c, mark} })
	w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 7})
	w.create(func(v *volume.Volume) { backedUp(v, from) })

	return w
}

// backedUp gives an object what a backup has of the one before, which stands for vol-9, and what its user says.
func backedUp(mg resource.Managed, from string) {
	mg.SetFinalizers([]string{managed.FinalizerName})
	meta.AddAnnotations(mg, map[string]string{
		meta.AnnotationKeyExternalName: "vol-9", meta.AnnotationKeyCreateAttempt: "0123456789abcdef-01234567/succeeded",
		meta.AnnotationKeyExternalCreatePending:   "2026-01-01T00:00:00Z",
		meta.AnnotationKeyExternalCreateSucceeded: "2026-01-01T00:00:01Z",
	})
	if from != "" {
		meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyRestoredFrom: from})
	}
}

// markBefore returns the mark of the object that the volumes of these tests are restored from.
func markBefore() managed.Stamp {
	return managed.Stamp("cluster-1/" + volume.Kind.Group + "/" + volume.Kind.Kind + "/default/data/uid-0")
}

// TestARestoredObjectTakesOverOnce verifies that a restored object reports how to take over the resource, changes
// nothing until then, and that the resource gets its mark once.
func TestARestoredObjectTakesOverOnce(t *testing.T) {
	mark := markBefore()
	w := newRestored(t, &mark, "")
	w.pass()
	c := w.condition("Synced", "False/ExternalResourceNotOwned")
	if !strings.Contains(c.Message, meta.AnnotationKeyRestoredFrom) ||
		!strings.Contains(c.Message, string(markBefore())) {
		t.Errorf("%q does not say how it is taken over", c.Message)
	}
	w.expect(status, "Connect Observe", "Warning/ExternalResourceNotOwned")

	w.change(func(v *volume.Volume) {
		meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyRestoredFrom: string(markBefore())})
	})
	w.pass()
	w.condition("Synced", "True/ReconcileSuccess")
	w.expect("patch, "+status, "Connect Observe Update Observe", "Normal/UpdatedExternalResource")
	if owner := (stamped{}).own(w.get()); mark != owner || w.cloud.Disks()[0].SizeGiB != 1 {
		t.Errorf("the mark is %s, want %s; %v", mark, owner, w.cloud.Disks())
	}
	w.pass()
	w.expect("patch", "Connect Observe", "Normal/ExternalResourceRestored")
	if got := w.get().Annotations; got[meta.AnnotationKeyRestoredFrom] != "" ||
		got[meta.AnnotationKeyRestored] != "uid-1" {
		t.Errorf("annotations: %v", got)
	}
	w.pass()
	w.expect("", "Connect Observe", "")

	// Git writes the annotation again, and the external resource has another owner by then.
	mark = markBefore()
	w.change(func(v *volume.Volume) {
		meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyRestoredFrom: string(markBefore())})
	})
	w.pass()
	w.condition("Synced", "False/ExternalResourceNotOwned")
	if _, calls, _ := w.taken(); strings.Contains(calls, "Update") || mark != markBefore() {
		t.Errorf("calls %s, mark %s", calls, mark)
	}
}

// TestWhatARestoredObjectMayNotTakeOver verifies that the annotation has to name the stamp of the resource, and the
// object's own place, unless the operator allows another.
func TestWhatARestoredObjectMayNotTakeOver(t *testing.T) {
	elsewhere := managed.Stamp(strings.Replace(string(markBefore()), "/default/", "/former/", 1))
	foreign := managed.Stamp(strings.Replace(string(markBefore()), "/data/", "/other/", 1))
	cases := map[string]struct {
		mark    managed.Stamp
		from    string
		options []managed.ReconcilerOption
		want    string
	}{
		"its own place":      {markBefore(), string(markBefore()), nil, "True/ReconcileSuccess"},
		"all of its cluster": {markBefore(), "cluster-1", nil, "True/ReconcileSuccess"},
		"another cluster":    {markBefore(), "cluster-7", nil, "False/ExternalResourceNotOwned"},
		"another namespace of its cluster": {elsewhere, "cluster-1",
			[]managed.ReconcilerOption{managed.WithRestoreElsewhere()}, "False/ExternalResourceNotOwned"},
		"another UID is said": {markBefore(),
			strings.Replace(string(markBefore()), "uid-0", "uid-7", 1), nil, "False/ExternalResourceNotOwned"},
		"another namespace": {elsewhere, string(elsewhere), nil, "False/ExternalResourceNotOwned"},
		"another namespace, allowed": {elsewhere, string(elsewhere),
			[]managed.ReconcilerOption{managed.WithRestoreElsewhere()}, "True/ReconcileSuccess"},
		"another name": {foreign, string(foreign), nil, "False/ExternalResourceNotOwned"},
		"no stamp":     {"somebody", "somebody", nil, "False/ExternalResourceNotOwned"},
		"no stamp, anywhere": {"somebody", "somebody",
			[]managed.ReconcilerOption{managed.WithRestoreElsewhere()}, "False/ExternalResourceNotOwned"},
		"nothing is said": {markBefore(), "", nil, "False/ExternalResourceNotOwned"},
		"nothing is said of no cluster": {managed.Stamp(strings.TrimPrefix(string(markBefore()), "cluster-1")),
			"", nil, "False/ExternalResourceNotOwned"},
		"allowed, and another is said": {elsewhere, string(foreign),
			[]managed.ReconcilerOption{managed.WithRestoreElsewhere()}, "False/ExternalResourceNotOwned"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mark := tc.mark
			w := newRestored(t, &mark, tc.from, tc.options...)
			w.pass()
			w.condition("Synced", tc.want)
			if taken := strings.HasPrefix(tc.want, "True"); taken == (mark == tc.mark) {
				t.Errorf("the mark is %s", mark)
			}
		})
	}
}

// TestARestoreGoesOnAfterACrash verifies that a crash between the claim and the new mark loses nothing.
func TestARestoreGoesOnAfterACrash(t *testing.T) {
	mark := markBefore()
	w := newRestored(t, &mark, string(markBefore()))
	w.cloud.Before = failing("Update", errLost)
	if _, err := w.try(); err == nil {
		t.Fatal("the update did not fail")
	}
	w.restart()
	w.cloud.Before = nil
	w.pass()
	w.condition("Synced", "True/ReconcileSuccess")
	if mark != (stamped{}).own(w.get()) {
		t.Errorf("the mark is %s", mark)
	}
}

package managed_test

import (
	"strings"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// backupOf creates the object as it is restored from a backup that was made when its resource
// was there, for an object of another UID.
func (w *world) backupOf(name string) {
	w.Helper()
	w.create(func(v *volume.Volume) {
		v.UID = "uid-2"
		v.Finalizers = []string{managed.FinalizerName}
		v.Annotations = map[string]string{
			meta.AnnotationKeyExternalCreatePending:   "2026-01-01T00:00:00Z",
			meta.AnnotationKeyExternalCreateSucceeded: "2026-01-01T00:00:01Z",
			meta.AnnotationKeyCreateAttempt:           attemptOf("uid-1") + "/succeeded",
		}
		if name != "" {
			v.Annotations[meta.AnnotationKeyExternalName] = name
		}
	})
}

// TestABackupOfWhatIsMissing verifies that the resource of a restored object is observed twice, and its absence
// reported. A resource that is found is marked as the object's own.
func TestABackupOfWhatIsMissing(t *testing.T) {
	request := []managed.ReconcilerOption{managed.WithRecreationOnRequest()}
	for name, tc := range map[string]struct {
		reason   string
		options  []managed.ReconcilerOption
		arrange  func(w *world)
		external string // the name in the backup
		first    string // the calls of the first pass
		want     string // the names of the external resources in the end
		reported string // the condition Synced
		warnings string
	}{
		"Missing": {"it is looked for again, and another is created", nil, nil, "vol-9", "Connect Observe",
			"vol-1", "True/ReconcileSuccess", "ExternalResourceRecreated"},
		"Requested": {"unless only a user may ask for that", request, nil, "vol-9", "Connect Observe", "",
			"False/RecreationNotRequested", "ExternalResourceMissing"},
		"Found": {"it is there", request, func(w *world) { w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 1}) },
			"vol-9", "Connect Observe", "vol-9", "True/ReconcileSuccess", ""},
		"Copy": {"the original lives, so that this is a copy", request, func(w *world) { w.original("uid-1") },
			"vol-9", "Connect Observe Create Observe", "vol-1", "True/ReconcileSuccess", ""},
		"Nameless": {"nothing can be looked for that has no name", request, nil, "",
			"Connect Observe Create Observe", "vol-1", "True/ReconcileSuccess", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.options...)
			if tc.arrange != nil {
				tc.arrange(w)
			}
			w.backupOf(tc.external)
			w.taken()
			w.pass()
			_, calls, events := w.taken()
			if calls != tc.first {
				t.Errorf("%s: calls: got %q, want %q", tc.reason, calls, tc.first)
			}
			w.settle()
			var got []string
			for _, d := range w.cloud.Disks() {
				got = append(got, d.ID)
			}
			if all := strings.Join(got, " "); all != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, all, tc.want)
			}
			w.condition(commonv1.TypeSynced, tc.reported)
			_, _, later := w.taken()
			var warnings []string
			for _, e := range strings.Split(events+", "+later, ", ") {
				if reason, is := strings.CutPrefix(e, "Warning/"); is {
					warnings = append(warnings, reason)
				}
			}
			if all := strings.Join(warnings, " "); all != tc.warnings {
				t.Errorf("%s: warnings: got %q, want %q", tc.reason, all, tc.warnings)
			}
		})
	}
}

// TestABackupOfWhatIsThere verifies that a restored object whose resource was found has marks of its own, and that
// its user answers with the id in the backup.
func TestABackupOfWhatIsThere(t *testing.T) {
	w := newWorld(t, managed.WithRecreationOnRequest())
	w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 1})
	w.backupOf("vol-9")
	w.taken()
	w.pass()
	w.expect("patch, patch status", "Connect Observe", "")
	own := attemptOf("uid-2")
	if got := w.get().Annotations[meta.AnnotationKeyCreateAttempt]; !strings.HasSuffix(got,
		own[strings.Index(own, "-"):]+"/succeeded") {
		t.Errorf("the attempt is %q, which is not that of this object", got)
	}
	w.pass()
	w.expect("", "Connect Observe", "")

	w = newWorld(t, managed.WithRecreationOnRequest())
	w.backupOf("vol-9")
	w.settle()
	if message := w.condition(commonv1.TypeSynced, "False/RecreationNotRequested").Message; !strings.Contains(message,
		attemptOf("uid-1")) {
		t.Errorf("%q does not say which", message)
	}
	w.allow(attemptOf("uid-1"))
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.settle()
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks, after a user has asked for one", n)
	}
}

// TestDetailsOfAnObservationThatLeadsToNothing verifies that observed connection details are redacted later, also
// if their pass fails.
func TestDetailsOfAnObservationThatLeadsToNothing(t *testing.T) {
	const password = "correct horse battery staple"
	w := newWorld(t)
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient {
		return retelling{c, managed.ConnectionDetails{"password": []byte(password)}}
	})
	w.original("uid-1")
	w.backupOf("vol-9")
	w.failLive = 1 // whether the original lives
	if _, err := w.try(); !errors.Is(err, errLost) || w.cloud.Count("Observe") != 1 {
		t.Fatalf("error %v after %d observations", err, w.cloud.Count("Observe"))
	}
	w.cloud.Before = failing("Observe", errors.New("cannot log in with "+password))
	_, _ = w.try()
	if c := w.condition(commonv1.TypeSynced, "False/ReconcileError"); strings.Contains(c.Message, password) {
		t.Errorf("it says %q", c.Message)
	}
}

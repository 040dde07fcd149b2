package managed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/reference"
)

func (g gallery) volume(change func(*volume.Volume)) {
	g.Helper()
	v := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: diskKey.Name}}
	if change != nil {
		change(v)
	}
	g.Create(v)
}

func referring(to string) func(*volume.Snapshot) {
	return func(s *volume.Snapshot) {
		s.Spec.Volume = ""
		s.Spec.VolumeRef = &commonv1.NamespacedReference{Name: to}
	}
}

// TestReferencesAreWaitedFor verifies that an object waits for its references without an error, reports which, and
// stores the resolved ones with the intent to create.
func TestReferencesAreWaitedFor(t *testing.T) {
	g := newGallery(t, managed.WithKstatusConditions())
	g.create(referring("disk"))
	result := g.pass()
	g.expect("patch status", "", "Warning/CannotResolveResourceReferences")
	c := g.condition(commonv1.TypeSynced, "False/ReferenceNotReady")
	if !strings.Contains(c.Message, "disk") {
		t.Errorf("message %q", c.Message)
	}
	g.condition(commonv1.TypeReconciling, "True/ReferenceNotReady")
	if result.RequeueAfter <= 0 {
		t.Errorf("result %+v: nobody watches the referent", result)
	}
	g.pass()
	g.expect("", "", "")

	g.volume(nil)
	g.pass()
	g.condition(commonv1.TypeSynced, "False/ReferenceNotReady")
	g.taken()

	disk := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: diskKey.Namespace, Name: diskKey.Name}}
	g.Change(disk, func() { meta.SetExternalName(disk, "vol-42") })
	g.pass()
	g.expect("patch, patch, patch status", "Connect Observe Create Observe", "Normal/CreatedExternalResource")
	if got := g.cloud.Disks()[0].Source; got != "vol-42" || g.get().Spec.Volume != "vol-42" {
		t.Errorf("source %q, spec %q", got, g.get().Spec.Volume)
	}
	g.pass()
	g.expect("", "Connect Observe", "")
}

// TestReferencesThatWaitForReady verifies that a reference with WaitForReady is not resolved before its referent is
// ready. The wait is a Normal event and no failure, and is not retried at intervals, because a change of the referent
// causes the next pass. After the first resolution the referent's readiness has no effect.
func TestReferencesThatWaitForReady(t *testing.T) {
	registry := prometheus.NewRegistry()
	g := newGallery(t, managed.WithKstatusConditions(), managed.WithMetricsRegisterer(registry))
	g.r.References(nil) // the referents are watched
	g.create(func(s *volume.Snapshot) {
		referring("disk")(s)
		s.Spec.WaitForVolume = true
	})
	expectWait := func(what string) {
		t.Helper()
		c := g.condition(commonv1.TypeSynced, "False/ReferenceNotReady")
		if !strings.HasPrefix(c.Message, "spec.volume: waiting for Volume ") || !strings.Contains(c.Message, what) {
			t.Errorf("message %q", c.Message)
		}
		g.condition(commonv1.TypeReconciling, "True/ReferenceNotReady")
	}
	if got, want := g.pass().RequeueAfter, 10*time.Minute; got != want {
		t.Errorf("requeued after %v, want %v", got, want)
	}
	g.expect("patch status", "", "Normal/WaitingForReference")
	expectWait("it does not exist")

	g.volume(func(v *volume.Volume) { meta.SetExternalName(v, "vol-42") })
	g.pass()
	g.expect("patch status", "", "Normal/WaitingForReference")
	expectWait("its condition Ready is not True yet")
	g.pass()
	g.expect("", "", "")
	for name, want := range map[string]float64{
		"failures_total": 0, "terminal_errors_total": 0, "external_step_errors_total": 0,
		"passes_total outcome=resolve-failed": 0, "passes_total outcome=awaiting-reference": 3,
	} {
		if got := metric(t, registry, "moorage_managed_"+name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}

	disk := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: diskKey.Namespace, Name: diskKey.Name}}
	g.Read(disk)
	disk.SetConditions(commonv1.Available())
	if err := g.API.Status().Update(t.Context(), disk); err != nil {
		t.Fatal(err)
	}
	g.pass()
	g.expect("patch, patch, patch status", "Connect Observe Create Observe", "Normal/CreatedExternalResource")

	disk.SetConditions(commonv1.Unavailable())
	if err := g.API.Status().Update(t.Context(), disk); err != nil {
		t.Fatal(err)
	}
	g.pass()
	g.expect("", "Connect Observe", "")
	g.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
}

// TestReferencesThatWaitForReadyUnwatched verifies that a wait is retried with a backoff if no source of referents is
// running.
func TestReferencesThatWaitForReadyUnwatched(t *testing.T) {
	g := newGallery(t)
	g.create(func(s *volume.Snapshot) {
		referring("disk")(s)
		s.Spec.WaitForVolume = true
	})
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if got := g.pass().RequeueAfter; got != want {
			t.Errorf("requeued after %v, want %v", got, want)
		}
	}
}

// TestReferencesThatAreRefused verifies that a refused reference is reported as a permanent failure.
func TestReferencesThatAreRefused(t *testing.T) {
	g := newGallery(t, managed.WithKstatusConditions())
	g.create(func(s *volume.Snapshot) {
		s.Spec.Volume = ""
		s.Spec.VolumeRef = &commonv1.NamespacedReference{Name: "disk", Namespace: "other"}
	})
	g.pass()
	g.condition(commonv1.TypeSynced, "False/ReferenceRefused")
	g.condition(commonv1.TypeStalled, "True/ReferenceRefused")
	g.expect("patch status", "", "Warning/CannotResolveResourceReferences")
}

// TestReferencesThatFollow verifies that with the policy Always the value follows its referent, without a write
// while it stays.
func TestReferencesThatFollow(t *testing.T) {
	always := commonv1.ResolvePolicyAlways
	g := newGallery(t)
	g.volume(func(v *volume.Volume) { meta.SetExternalName(v, "vol-a") })
	g.create(func(s *volume.Snapshot) {
		referring("disk")(s)
		s.Spec.VolumeRef.Policy = &commonv1.ReferencePolicy{Resolve: &always}
	})
	g.pass()
	g.taken()
	g.pass()
	g.expect("", "Connect Observe", "")
	disk := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: diskKey.Namespace, Name: diskKey.Name}}
	g.Change(disk, func() { meta.SetExternalName(disk, "vol-b") })
	g.pass()
	g.expect("patch", "Connect Observe Update Observe", "Normal/UpdatedExternalResource")
	if got := g.get().Spec.Volume; got != "vol-b" {
		t.Errorf("spec %q", got)
	}
}

// TestReferencesThatMakeACycle verifies that reconcilers that share a graph detect a cycle through several kinds.
func TestReferencesThatMakeACycle(t *testing.T) {
	graph := reference.NewGraph()
	g := newGallery(t, managed.WithReferenceGraph(graph))
	g.volume(nil)
	g.create(referring("disk"))

	// Another controller's volume waits for the snapshot.
	disk := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: diskKey.Namespace, Name: diskKey.Name}}
	g.Read(disk)
	volumes := reference.NewTracker(g.API.Scheme(), reference.WithGraph(graph)).Reader(diskKey, g.API)
	_, err := reference.NewAPIResolver(volumes, disk).Resolve(t.Context(), reference.ResolutionRequest{
		Reference: &commonv1.NamespacedReference{Name: key.Name},
		To:        reference.To{Managed: &volume.Snapshot{}, List: &volume.SnapshotList{}},
		Extract:   reference.ExternalName(),
	})
	volumes.Done(err)
	if !reference.IsWaiting(err) {
		t.Fatalf("got error %v, want one that tells of waiting", err)
	}

	g.pass()
	c := g.condition(commonv1.TypeSynced, "False/ReferenceRefused")
	if !strings.Contains(c.Message, "Volume") || !strings.Contains(c.Message, "Snapshot") {
		t.Errorf("message %q does not tell who waits for whom", c.Message)
	}
}

// TestReferencesThatCloseACycle verifies that the object that closes a cycle detects it, and resolved references
// are removed from the graph.
func TestReferencesThatCloseACycle(t *testing.T) {
	graph := reference.NewGraph()
	g := newGallery(t, managed.WithReferenceGraph(graph))
	disk := &volume.Volume{ObjectMeta: metav1.ObjectMeta{
		Namespace: diskKey.Namespace, Name: diskKey.Name, UID: "uid-disk",
	}}
	g.Create(disk)
	g.create(referring(disk.Name))
	resolve := func() error {
		volumes := reference.NewTracker(g.API.Scheme(), reference.WithGraph(graph)).Reader(diskKey, g.API)
		_, err := reference.NewAPIResolver(volumes, disk).Resolve(t.Context(), reference.ResolutionRequest{
			Reference: &commonv1.NamespacedReference{Name: key.Name},
			To:        reference.To{Managed: &volume.Snapshot{}, List: &volume.SnapshotList{}},
			Extract:   reference.ExternalName(),
		})

		return err
	}
	if err := resolve(); !reference.IsWaiting(err) {
		t.Errorf("nobody waits for the volume: %v", err)
	}
	g.pass()
	if err := resolve(); !reference.IsRefused(err) {
		t.Errorf("the snapshot waits for the volume: %v", err)
	}
	g.Change(disk, func() { meta.SetExternalName(disk, "vol-42") })
	g.cloud.Before = failing("Create", errLost)
	_, _ = g.try()
	if err := resolve(); !reference.IsWaiting(err) {
		t.Errorf("the snapshot has what it waited for: %v", err)
	}
}

package managed_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestARequestThatHangsCostsNoName verifies that one hanging request leaves time to store the result of a Create.
func TestARequestThatHangsCostsNoName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(nil)
		hung := 0
		w.answer = func(ctx context.Context, note string) error {
			if !strings.Contains(note, "/succeeded") || hung > 0 {
				return nil
			}
			hung++
			<-ctx.Done()

			return ctx.Err()
		}
		begin := time.Now()
		w.pass()
		if name := meta.GetExternalName(w.get()); name != "vol-1" || hung != 1 {
			t.Errorf("external name %q after %d requests that hung", name, hung)
		}
		if took := time.Since(begin); took < time.Second || took > 10*time.Second {
			t.Errorf("the pass took %s, want the bound of one request", took)
		}
	})
}

// TestAnEditDuringACreateIsNotObserved verifies that an edit during a Create is not reported as observed, although
// the write of the result meets it.
func TestAnEditDuringACreateIsNotObserved(t *testing.T) {
	g := newGallery(t)
	g.create(nil)
	g.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })
			d := g.cloud.Disks()[0]
			d.Tier = "gold" // which Observe fills in
			g.cloud.Put(d)
		}

		return nil
	}
	g.pass()
	s := g.get()
	if s.Generation != 2 || s.Spec.Tier != "gold" {
		t.Fatalf("generation %d, tier %q, want an edit, and a write after it", s.Generation, s.Spec.Tier)
	}
	if c := s.GetCondition(commonv1.TypeSynced); s.Status.ObservedGeneration != 1 || c.ObservedGeneration != 1 {
		t.Errorf("observed generation %d, that of the condition %d, want that of the object which the pass has read",
			s.Status.ObservedGeneration, c.ObservedGeneration)
	}
}

// TestWhatAPassFillsInIsObserved verifies that the generation that late initialization makes is reported as
// observed.
func TestWhatAPassFillsInIsObserved(t *testing.T) {
	g := newGallery(t)
	g.create(nil)
	g.pass()
	d := g.cloud.Disks()[0]
	d.Tier = "gold"
	g.cloud.Put(d)
	g.admit = func(o client.Object) {
		if s, ok := o.(*volume.Snapshot); ok && s.Spec.Tier != "" {
			s.Generation = 2 // the fake API server does not count
		}
	}
	g.pass()
	s := g.get()
	if c := s.GetCondition(commonv1.TypeSynced); s.Generation != 2 || s.Status.ObservedGeneration != 2 ||
		c.ObservedGeneration != 2 {
		t.Errorf("observed generation %d of %d, that of the condition %d", s.Status.ObservedGeneration, s.Generation,
			c.ObservedGeneration)
	}
}

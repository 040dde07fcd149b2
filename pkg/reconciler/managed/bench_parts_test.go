package managed

import (
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// halfwayPass returns a pass over a healthy object, after its observation.
func halfwayPass() *pass {
	v := marked(early, early, "", "0123456789abcdef/"+attempt.Succeeded)
	v.Namespace, v.Name, v.UID, v.ResourceVersion, v.Generation = "default", "data", "uid-1", "1", 1
	meta.AddFinalizer(v, FinalizerName)
	meta.SetExternalName(v, "vol-1")
	v.SetConditions(commonv1.Available(), commonv1.ReconcileSuccess(), commonv1.Condition{
		Type: commonv1.TypeCreated, Status: metav1.ConditionTrue, Reason: commonv1.ReasonObserved,
		Message: attempt.Creation(v, v).String(),
	})
	r := optioned(WithClock(clock.RealClock{}), WithCreationGracePeriod(time.Second))
	r.createdAt = time.Now().Add(-time.Hour)
	read := clone(v)

	seen := objectstate.State{Resource: objectstate.Resource{Seen: attempt.Creation(v, v)}}
	p := passOver(r, read, v, (&objectState{State: seen}).acquire(new(sync.Pool)))
	p.observed, p.observation = true, ExternalObservation{ResourceExists: true, ResourceUpToDate: true}

	return p
}

// TestHalfwayPass verifies that the benchmarks measure the typical pass.
func TestHalfwayPass(t *testing.T) {
	p := halfwayPass()
	f, _ := p.facts()
	if got := lifecycle.Decide(f); got != lifecycle.Keep {
		t.Errorf("decided to %s", got)
	}
	if !sameStatus(p.read, p.mg) {
		t.Error("something is to be written")
	}
}

func BenchmarkFacts(b *testing.B) {
	p := halfwayPass()
	b.ReportAllocs()
	for b.Loop() {
		p.facts()
	}
}

func BenchmarkDecide(b *testing.B) {
	f, _ := halfwayPass().facts()
	b.ReportAllocs()
	for b.Loop() {
		lifecycle.Decide(f)
	}
}

// BenchmarkStatusComparison measures the comparison of two statuses.
func BenchmarkStatusComparison(b *testing.B) {
	p := halfwayPass()
	b.ReportAllocs()
	for b.Loop() {
		if !sameStatus(p.read, p.mg) {
			b.Fatal("a pass that changed nothing")
		}
	}
}

// BenchmarkStatusPatch measures the patch of one changed condition.
func BenchmarkStatusPatch(b *testing.B) {
	p := halfwayPass()
	p.setCondition(commonv1.Unavailable().WithMessage("it is away"))
	b.ReportAllocs()
	for b.Loop() {
		newest, desired, err := p.statuses()
		if err != nil || len(newest.PatchTo(desired)) != 1 {
			b.Fatal("no patch of the conditions", err)
		}
	}
}

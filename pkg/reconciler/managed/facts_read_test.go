package managed

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestFactsOnlyRead gathers the facts of ten thousand passes, drawn at random, twice: they are the same, and neither
// the pass, nor its object, nor what is remembered of it has changed.
func TestFactsOnlyRead(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(10_000) {
		p := drawnPass(rand.New(rand.NewPCG(seed, 1)))
		pass, mg, state, cold := fmt.Sprintf("%+v", p), clone(p.mg), p.state.State, *p.state.coldState
		first, admitted := p.facts()
		if second, again := p.facts(); first != second || again != admitted {
			t.Fatalf("seed %d: the facts are %+v and %+v, and then others", seed, first, admitted)
		}
		if !reflect.DeepEqual(p.mg, mg) || !reflect.DeepEqual(p.state.State, state) ||
			!reflect.DeepEqual(*p.state.coldState, cold) || fmt.Sprintf("%+v", p) != pass {
			t.Fatalf("seed %d: something has changed with the facts %+v", seed, first)
		}
		seen[fmt.Sprint(first.Presence, first.Attempt, first.Doubt, first.Ownership, first.Object)] = true
	}
	if len(seen) < 60 {
		t.Errorf("only %d kinds of facts were drawn: the passes are too much alike", len(seen))
	}
}

// drawnPass returns a pass after an observation, over an object with any marks and any memory.
func drawnPass(r *rand.Rand) *pass {
	any := func() bool { return r.IntN(2) == 0 }
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	times := []string{"", noon.Add(-time.Second).Format(time.RFC3339), noon.Add(-time.Hour).Format(time.RFC3339)}
	p := passOf(bearing(nil), &objectState{}, WithCreationGracePeriod(time.Minute), WithPredecessor("crossplane.io"))
	annotations := map[string]string{}
	for key, values := range map[string][]string{
		meta.AnnotationKeyCreateAttempt:           {"", ownID, ownDone, "0123456789abcdef/failed"},
		meta.AnnotationKeyExternalCreatePending:   times,
		meta.AnnotationKeyExternalCreateSucceeded: times,
		meta.AnnotationKeyExternalName:            {"", "vol-1", "vol-2"},
		meta.AnnotationKeyWasUnresolved:           times,
		meta.AnnotationKeyAbandonAttempt:          {"", ownID},
		"crossplane.io/external-name":             {"", "vol-1", "vol-3"},
		"crossplane.io/external-create-succeeded": times,
	} {
		if value := pick(values...); value != "" {
			annotations[key] = value
		}
	}
	p.mg.SetAnnotations(annotations)
	if any() {
		p.mg.SetFinalizers([]string{pick(FinalizerName, "example.org/backup")})
	}
	if any() {
		p.mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
	}
	if any() {
		p.mg.SetConditions(commonv1.Available())
	}
	if any() {
		p.mg.SetConditions(commonv1.Condition{
			Type: commonv1.TypeCreated, Status: metav1.ConditionTrue, Reason: commonv1.ReasonObserved,
			Message: attempt.Creation(p.mg, p.mg).String(),
		})
	}
	p.r.named, p.r.tokens = r.IntN(4) == 0, r.IntN(4) == 0
	if any() {
		p.recoverer = searcher{}
	}
	p.read, p.newest = clone(p.mg), clone(p.mg)
	p.state.Creation = pick("", createdHere, ownDone)
	p.state.Since = p.r.at(noon.Add(-time.Duration(r.IntN(90)) * time.Second))
	if any() {
		p.state.Seen = attempt.Creation(p.mg, p.mg)
	}
	if any() {
		p.state.NotFoundSince, p.state.NotFoundName = noon.Add(-time.Second), pick("", "vol-1")
	}
	if any() {
		p.state.DeleteSent = noon.Add(-time.Duration(r.IntN(120)) * time.Second)
	}
	p.state.Unfound, p.state.Called = r.IntN(3), objectstate.Intent{Attempt: pick("", ownID)}
	p.observed, p.mutated, p.claimed, p.listed = r.IntN(8) > 0, any(), any(), r.IntN(8) == 0
	p.observation = ExternalObservation{
		ResourceExists: any(), ResourceUpToDate: any(), Owner: Owner(r.IntN(4)),
	}
	p.recoveryGrace, p.recoveryNegative, p.recoveredUnobserved = time.Duration(r.IntN(2)), any(), any()

	return p
}

// TestThePoliciesOfAnObjectAreReadOnce verifies that both decisions use one reading of the policies, also for an object
// that is being deleted.
func TestThePoliciesOfAnObjectAreReadOnce(t *testing.T) {
	for name, deleted := range map[string]bool{"to stay": false, "to be deleted": true} {
		p, read := passOf(bearing(nil), &objectState{}), 0
		p.observed, p.observation.ResourceExists = true, true
		p.r.deletionPolicy = func(resource.Managed) string { read++; return "" }
		if deleted {
			p.mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		}
		if f, a := p.facts(); read != 1 || !f.MayCreate || !f.MayUpdate || a.MayDelete != deleted {
			t.Errorf("%s: the policies were read %d times, facts %+v, %+v", name, read, f, a)
		}
	}
}

package managed

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestWhatIsNear verifies that a resource of an object in the same namespace may be adopted; OwnerNamespace counts
// before the namespace in the stamp.
func TestWhatIsNear(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace, owners string
		stamp             Stamp
		want              bool
	}{
		"here":            {"apps", "apps", "", true},
		"elsewhere":       {"apps", "jobs", "", false},
		"by its stamp":    {"apps", "", "c/g/K/apps/info/u", true},
		"elsewhere by it": {"apps", "", "c/g/K/jobs/data/u", false},
		"as is said":      {"apps", "apps", "c/g/K/jobs/data/u", true},
		"not as is said":  {"apps", "jobs", "c/g/K/apps/data/u", false},
		"nobody knows":    {"apps", "", "", false},
		"cluster-scoped":  {"", "", "c/g/K//data/u", true},
		"another name":    {"", "", "c/g/K//info/u", false},
		"no stamp":        {"", "", "", false},
	} {
		mg := bearing(nil)
		mg.SetNamespace(tc.namespace)
		p := passOf(mg, &objectState{})
		p.r.of.Group, p.r.of.Kind = "g", "K"
		p.observation = ExternalObservation{Owner: OwnerOther, OwnerNamespace: tc.owners, OwnerStamp: tc.stamp}
		if got := p.sameNamespace(); got != tc.want {
			t.Errorf("%s: near is %t", name, got)
		}
	}
}

// TestWhatIsAskedFor verifies that a restored object takes over the resource that its annotation names, with any
// policy; and that a policy of the object precedes that of the provider.
func TestWhatIsAskedFor(t *testing.T) {
	const stamp = "c/g/K/apps/data/u"
	for name, tc := range map[string]struct {
		marks          map[string]string
		found          Stamp
		asked, allowed lifecycle.Adoption
	}{
		"nothing": {nil, "", lifecycle.AdoptMatching, lifecycle.AdoptMatching},
		"its own": {map[string]string{meta.AnnotationKeyAdoptionPolicy: meta.AdoptionPolicyNever}, "",
			lifecycle.AdoptNever, lifecycle.AdoptNever},
		"restored": {map[string]string{
			meta.AnnotationKeyAdoptionPolicy: meta.AdoptionPolicyNever,
			meta.AnnotationKeyRestoredFrom:   stamp,
		}, stamp, lifecycle.AdoptForce, lifecycle.AdoptForce},
		"from another": {map[string]string{meta.AnnotationKeyRestoredFrom: stamp}, "c/g/K/apps/data/v",
			lifecycle.AdoptMatching, lifecycle.AdoptMatching},
	} {
		mg := bearing(tc.marks)
		mg.SetNamespace("apps")
		p := passOf(mg, &objectState{}, WithAdoptionPolicy(meta.AdoptionPolicyIfMatching))
		p.r.of.Group, p.r.of.Kind = "g", "K"
		p.observation = ExternalObservation{ResourceExists: true, Owner: OwnerOther, OwnerStamp: tc.found}
		if asked, allowed := p.adoption(); asked != tc.asked || allowed != tc.allowed {
			t.Errorf("%s: asked for %v, allowed is %v", name, asked, allowed)
		}
	}
}

// TestAnUnownedResourceUnderADeterministicName verifies that with deterministic names a finalizer proves ownership
// of an unmarked resource whose owner is unknown; with assigned names only a mark does.
func TestAnUnownedResourceUnderADeterministicName(t *testing.T) {
	claimed := map[string]string{
		meta.AnnotationKeyExternalCreateSucceeded: early, meta.AnnotationKeyCreateAttempt: ownDone,
		meta.AnnotationKeyExternalName: "vol-1",
	}
	for name, tc := range map[string]struct {
		named, held bool
		owner       Owner
		marks       map[string]string
		want        bool
	}{
		"held":             {true, true, OwnerUnknown, nil, false},
		"not held":         {true, false, OwnerUnknown, nil, true},
		"marked":           {true, false, OwnerUnknown, claimed, false},
		"marked and held":  {true, true, OwnerUnknown, claimed, false},
		"nobody's":         {true, true, OwnerNone, nil, true},
		"assigned":         {false, true, OwnerUnknown, nil, true},
		"assigned, marked": {false, false, OwnerUnknown, claimed, false},
		"ours":             {false, false, OwnerOurs, nil, false},
	} {
		mg := bearing(tc.marks)
		if tc.held {
			mg.SetFinalizers([]string{FinalizerName})
		}
		p := passOf(mg, remembering(),
			WithAdoptionPolicy(meta.AdoptionPolicyNever), WithDeterministicExternalName(tc.named))
		p.observation = ExternalObservation{ResourceExists: true, Owner: tc.owner}
		if got := p.notOwned(); got != tc.want {
			t.Errorf("%s: a stranger's is %t", name, got)
		}
	}
}

// TestAnObservedAdoptionStaysOwned verifies that an adopted resource stays owned if the user reverts the policy
// before the status has reported the adoption; under another name it has to be claimed again.
func TestAnObservedAdoptionStaysOwned(t *testing.T) {
	seen := func(name string) *objectState {
		return remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: ownDone, Name: name}})
	}
	condition := commonv1.Condition{
		Type: commonv1.TypeCreated, Status: metav1.ConditionTrue,
		Message: objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}.String(),
	}
	for name, tc := range map[string]struct {
		state *objectState
		owner Owner
		want  bool
	}{
		"found":                   {seen("vol-9"), OwnerNone, false},
		"found, and taken since":  {seen("vol-9"), OwnerOther, true},
		"found under its old one": {seen("vol-1"), OwnerNone, true},
		"not found":               {remembering(), OwnerNone, true},
	} {
		mg := bearing(map[string]string{
			meta.AnnotationKeyExternalCreateSucceeded: early, meta.AnnotationKeyCreateAttempt: ownDone,
			meta.AnnotationKeyExternalName: "vol-9",
		})
		mg.SetConditions(condition)
		p := passOf(mg, tc.state)
		p.observation = ExternalObservation{ResourceExists: true, Owner: tc.owner}
		if got := p.notOwned(); got != tc.want {
			t.Errorf("%s: a stranger's is %t", name, got)
		}
	}
}

// TestWhatAUserNamed verifies that a name without a recorded creation counts as set by a user.
func TestWhatAUserNamed(t *testing.T) {
	const foreign = "ffffffff00000000-0badcafe"
	by := func(marks ...string) map[string]string {
		out := map[string]string{meta.AnnotationKeyExternalName: "vol-1"}
		for i := 0; i < len(marks); i += 2 {
			out[marks[i]] = marks[i+1]
		}

		return out
	}
	const attempt, pending, abandon = meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyExternalCreatePending,
		meta.AnnotationKeyAbandonAttempt
	for name, tc := range map[string]struct {
		marks map[string]string
		named bool
		want  bool
	}{
		"nothing is recorded":          {by(), false, true},
		"there is no name":             {map[string]string{attempt: ownID}, false, false},
		"the system has names of ours": {by(), true, false},
		"the user removed the time":    {by(attempt, ownID), false, true},
		"the user gave the attempt up": {by(attempt, ownID, pending, early, abandon, ownID), false, true},
		"the result is not known":      {by(attempt, ownID, pending, early), false, false},
		"the attempt failed": {by(attempt, ownID+"/failed", pending, early,
			meta.AnnotationKeyExternalCreateFailed, early), false, true},
		"another runtime has begun": {by(pending, early), false, false},
		"another runtime has failed": {by(pending, early, meta.AnnotationKeyExternalCreateFailed, later),
			false, false},
		"the attempt was another object's": {by(attempt, foreign), false, false},
	} {
		p := passOf(bearing(tc.marks), &objectState{}, WithDeterministicExternalName(tc.named))
		if got := p.namedByUser(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWhyAPolicyIsNotAllowed verifies that the message about a disallowed policy says what to do.
func TestWhyAPolicyIsNotAllowed(t *testing.T) {
	const ways = `: choose another name by the annotation krateo.io/external-name, or ask the operator of the ` +
		`provider to allow the policy (managed.WithAllowedAdoptionPolicies)`
	for name, tc := range map[string]struct {
		options   []ReconcilerOption
		namespace string
		policy    string
		owner     Owner
		want      string
	}{
		"far": {nil, "apps", meta.AdoptionPolicyForce, OwnerOther,
			`"force" takes over only what is known to belong to an object of the same namespace`},
		"cluster": {nil, "", meta.AdoptionPolicyForce, OwnerOther,
			`"force" takes over for a cluster-scoped object only what is known to belong to an object of the same kind ` +
				`and name`},
		"not listed": {[]ReconcilerOption{WithAllowedAdoptionPolicies(meta.AdoptionPolicyIfUnowned)}, "apps",
			meta.AdoptionPolicyForce, OwnerOther, `"force" is not allowed by this provider`},
		"of no use": {[]ReconcilerOption{WithAllowedAdoptionPolicies()}, "apps", meta.AdoptionPolicyIfUnowned,
			OwnerOther, ""},
		"nothing asked": {nil, "apps", "", OwnerOther, ""},
		"does not match": {[]ReconcilerOption{WithAllowedAdoptionPolicies()}, "apps", meta.AdoptionPolicyIfMatching,
			OwnerNone, ""},
	} {
		mg := bearing(map[string]string{meta.AnnotationKeyAdoptionPolicy: tc.policy})
		mg.SetNamespace(tc.namespace)
		p := passOf(resource.Managed(mg), &objectState{}, tc.options...)
		p.observation = ExternalObservation{ResourceExists: true, Owner: tc.owner}
		want := tc.want
		if want != "" {
			want = "the external resource is left as it is: the adoption policy " + want + ways
		}
		if got := p.notAllowed(); got != want {
			t.Errorf("%s: it says\n%s\nwant\n%s", name, got, want)
		}
		if strings.Contains(p.notAllowed(), "%!") {
			t.Errorf("%s: %s", name, p.notAllowed())
		}
	}
}

// TestARecordIsWrittenWithItsName verifies that a record of a creation is written together with the external name,
// because after a restore of the API server the same resource version may lack the name; and that no other write
// repeats the name.
func TestARecordIsWrittenWithItsName(t *testing.T) {
	const attempt, name = meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyExternalName
	for reason, tc := range map[string]struct {
		marks, changes map[string]string
		want           bool
	}{
		"its name is chosen": {map[string]string{attempt: ownID, name: "vol-1"},
			map[string]string{attempt: ownDone}, false},
		"it is taken over": {map[string]string{attempt: ownID, name: "vol-1"},
			map[string]string{attempt: ownDone}, true},
		"there is no name":    {map[string]string{attempt: ownID}, map[string]string{attempt: ownDone}, false},
		"an attempt is begun": {map[string]string{name: "vol-1"}, map[string]string{attempt: ownID}, false},
		"something else": {map[string]string{attempt: ownDone, name: "vol-1"},
			map[string]string{"color": "red"}, false},
		"the record is removed": {map[string]string{attempt: ownDone, name: "vol-1"}, map[string]string{attempt: ""},
			false},
	} {
		w := newStored(bearing(tc.marks), &objectState{})
		w.writes.finalizers, w.r.named = true, reason == "its name is chosen"
		meta.AddAnnotations(w.mg, tc.changes)
		if err := w.store(t.Context(), telemetry.Intent); err != nil || len(w.writes.sent) != 1 ||
			strings.Contains(w.writes.sent[0], `"`+name+`":"vol-1"`) != tc.want {
			t.Errorf("%s: %v, sent %q", reason, err, w.writes.sent)
		}
	}
}

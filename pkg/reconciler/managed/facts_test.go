package managed

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestHeldAndAwaited verifies that own, foreign and author's finalizers are distinguished.
func TestHeldAndAwaited(t *testing.T) {
	const other, ignored = "example.org/other", "example.org/ignored"
	cases := map[string]struct {
		reason     string
		author     bool // the finalizer is the author's
		deleted    bool
		finalizers []string
		finalized  bool
		removed    bool
		held       bool
		awaited    []string
	}{
		"None":   {"nothing keeps it yet", false, false, nil, false, false, false, nil},
		"Ours":   {"ours does", false, false, []string{other, FinalizerName}, false, false, true, nil},
		"Others": {"another does not", false, false, []string{other}, false, false, false, nil},
		"Deleted": {"ours still does, and the other is waited for", false, true,
			[]string{other, FinalizerName, ignored}, false, false, true, []string{other}},
		"DeletedOthers": {"others alone do not", false, true, []string{other}, false, false, false, []string{other}},
		"DeletedNone":   {"that is only so in tests", false, true, nil, false, false, true, nil},
		"Author": {"nobody knows the author's by its name", true, false, []string{other}, false, false,
			false, nil},
		"AuthorAdded":   {"it was added in this pass", true, false, nil, true, false, true, nil},
		"AuthorDeleted": {"it may be this one", true, true, []string{other}, false, false, true, nil},
		"AuthorTwo": {"or either of these, and the other is waited for", true, true, []string{other, "b"},
			false, false, true, []string{other, "b"}},
		"AuthorRemoved": {"it was removed, and this one is another", true, true, []string{other}, false, true,
			false, nil},
		"AuthorIgnored": {"it is none of these", true, true, []string{ignored}, false, false, false, nil},
		"AuthorAndOurs": {"ours is from before there was an author's", true, true, []string{other, FinalizerName},
			false, false, true, []string{other}},
		"AuthorOursOnly": {"and alone", true, true, []string{FinalizerName}, false, false, true, nil},
		"AuthorGone":     {"nothing is left", true, true, nil, false, true, true, nil},
	}
	for id, tc := range cases {
		mg := bearing(nil)
		mg.SetFinalizers(tc.finalizers)
		if tc.deleted {
			mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		}
		p := passOf(mg, remembering(objectstate.Deletion{FinalizerRemoved: tc.removed}),
			WithIgnoredFinalizers(ignored))
		if p.finalizerAdded = tc.finalized; tc.author {
			p.r.finalizer = resource.NewNopFinalizer()
		}
		if got := p.hasFinalizer(); got != tc.held {
			t.Errorf("%s: %s: held is %t", id, tc.reason, got)
		}
		if diff := cmp.Diff(tc.awaited, p.foreignFinalizers()); diff != "" {
			t.Errorf("%s: %s: awaited, -want +got:\n%s", id, tc.reason, diff)
		}
	}
}

// TestDeleteSent verifies that a Delete is not repeated within a poll interval.
func TestDeleteSent(t *testing.T) {
	for ago, want := range map[time.Duration]bool{0: true, time.Minute - 1: true, time.Minute: false} {
		p := passOf(bearing(nil), remembering(objectstate.Deletion{DeleteSent: noon.Add(-ago)}))
		if got := p.deleteSent(); got != want {
			t.Errorf("sent %s ago: got %t", ago, got)
		}
	}
	if passOf(bearing(nil), &objectState{}).deleteSent() {
		t.Error("none was sent")
	}
}

// TestAttemptAndDoubt verifies that an attempt with an unknown result is unresolved until a lookup has proved that
// it created nothing.
func TestAttemptAndDoubt(t *testing.T) {
	done := map[string]string{meta.AnnotationKeyCreateAttempt: ownDone}
	seen := remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: ownDone}, Creation: ownDone})
	cases := map[string]struct {
		reason string
		state  *objectState
		lost   bool
		absent bool
		want   lifecycle.Attempt
	}{
		"Seen":     {"what it made was found", seen, false, false, lifecycle.Settled},
		"Unseen":   {"it was not found yet", &objectState{}, false, false, lifecycle.CreatedUnobserved},
		"Unknown":  {"its result is lost", &objectState{}, true, false, lifecycle.Unknown},
		"Absent":   {"a lookup has proved that it made nothing", &objectState{}, true, true, lifecycle.Settled},
		"NotThere": {"the same of one that succeeded", &objectState{}, false, true, lifecycle.Settled},
	}
	for id, tc := range cases {
		p := passOf(bearing(done), tc.state)
		p.recoveryNegative = tc.absent
		if got := p.attempt(tc.lost); got != tc.want {
			t.Errorf("%s: %s: got %v", id, tc.reason, got)
		}
	}
	p := passOf(bearing(done), &objectState{}, WithCreationGracePeriod(time.Minute))
	if got := p.doubt(); got != lifecycle.Grace {
		t.Errorf("what was created a moment ago: %v", got)
	}
	if p.r.grace = 0; p.doubt() != lifecycle.NoDoubt {
		t.Errorf("of a client that reads its own writes: %v", p.doubt())
	}
	if p.recoveryGrace = time.Second; p.doubt() != lifecycle.Unconfirmed {
		t.Errorf("while it is looked for: %v", p.doubt())
	}
}

// TestWhatMakesARepetitionSafe verifies that the class of creation is the strongest of name, token and lookup, and
// that the token of another object does not count.
func TestWhatMakesARepetitionSafe(t *testing.T) {
	for name, tc := range map[string]struct {
		named, inherits, tokens, finds bool
		want                           lifecycle.CreateClass
	}{
		"a name":            {true, true, true, true, lifecycle.Named},
		"another's attempt": {false, true, true, true, lifecycle.Opaque},
		"a token":           {false, false, true, true, lifecycle.Token},
		"a lookup":          {false, false, false, true, lifecycle.Findable},
		"nothing":           {false, false, false, false, lifecycle.Opaque},
	} {
		p := passOf(bearing(map[string]string{
			meta.AnnotationKeyCreateAttempt: ownID, meta.AnnotationKeyExternalCreatePending: early,
		}), &objectState{})
		if p.r.named, p.r.tokens = tc.named, tc.tokens; tc.finds {
			p.recoverer = searcher{}
		}
		if tc.inherits {
			p.inherited = ownID
		}
		if got := p.createClass(); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestGraceWindow verifies that the grace period of a creation is counted from when this process first knew of it.
func TestGraceWindow(t *testing.T) {
	p := passOf(bearing(map[string]string{meta.AnnotationKeyCreateAttempt: ownDone}), &objectState{},
		WithCreationGracePeriod(time.Minute))
	if got := p.creationGrace(); got != time.Minute || p.state.Creation != "" {
		t.Errorf("before it is tracked it is %s of %q", got, p.state.Creation)
	}
	p.trackCreation()
	if got := p.creationGrace(); got != time.Minute || p.state.Creation != ownDone {
		t.Errorf("at first it is %s of %q", got, p.state.Creation)
	}
	p.state.Since = p.r.at(noon.Add(-50 * time.Second))
	if got := p.creationGrace(); got != 10*time.Second {
		t.Errorf("after 50 s it is %s", got)
	}
	p.state.Since = p.r.at(noon.Add(-2 * time.Minute))
	if got := p.creationGrace(); got != 0 {
		t.Errorf("when it is over it is %s", got)
	}
	p.mg.SetAnnotations(nil)
	p.trackCreation()
	if got := p.creationGrace(); got != 0 || p.state.Creation != "" {
		t.Errorf("of nothing it is %s of %q", got, p.state.Creation)
	}
	p = passOf(bearing(nil), &objectState{State: objectstate.State{
		Resource: objectstate.Resource{Creation: createdHere, Since: objectstate.Instant(time.Hour)},
	}},
		WithCreationGracePeriod(time.Minute), WithDeterministicExternalName(true))
	if got := p.creationGrace(); got != time.Minute {
		t.Errorf("under a name of our choice it is %s", got)
	}
	for recoverer, want := range map[CreationRecoverer]time.Duration{nil: 21 * time.Minute, searcher{}: time.Minute} {
		p = passOf(bearing(map[string]string{meta.AnnotationKeyCreateAttempt: ownDone}),
			remembering(objectstate.Attempts{Unfound: 2}), WithCreationGracePeriod(time.Minute))
		p.recoverer, p.r.tokens = recoverer, recoverer == nil
		if got := p.creationGrace(); got != want {
			t.Errorf("after two that were never found it is %s, want %s, looked up by %v", got, want, recoverer)
		}
	}
}

// A configured object refers to a configuration.
type configured struct {
	fake.Managed

	ref *commonv1.ProviderConfigReference
}

func (c *configured) GetProviderConfigReference() *commonv1.ProviderConfigReference { return c.ref }

// TestConnectionName verifies that a connection name has the kind, the namespace if there is one, and the name of
// its configuration.
func TestConnectionName(t *testing.T) {
	cases := map[string]struct {
		namespace string
		ref       *commonv1.ProviderConfigReference
		want      string
	}{
		"None":     {"apps", nil, "default"},
		"Kindless": {"apps", &commonv1.ProviderConfigReference{Name: "prod"}, "ProviderConfig/apps/prod"},
		"Kind": {"apps", &commonv1.ProviderConfigReference{Kind: "StorageAccount", Name: "prod"},
			"StorageAccount/apps/prod"},
		"Cluster": {"apps", &commonv1.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "prod"},
			"ClusterProviderConfig/prod"},
		"ClusterScoped": {"", &commonv1.ProviderConfigReference{Name: "prod"}, "ProviderConfig/prod"},
	}
	for id, tc := range cases {
		mg := &configured{ref: tc.ref}
		mg.SetNamespace(tc.namespace)
		if got := connectionName(mg); got != tc.want {
			t.Errorf("%s: got %q, want %q", id, got, tc.want)
		}
	}
	if got := connectionName(bearing(nil)); got != "default" {
		t.Errorf("a kind without configurations: got %q", got)
	}
}

// TestStampNames verifies that a stamp identifies the original of a restored object, and its cluster.
func TestStampNames(t *testing.T) {
	const stamp = Stamp("c1/g/K/apps/data/u1")
	for other, want := range map[Stamp]bool{
		stamp: true, "c2/g/K/apps/data/u2": true, "c1/h/K/apps/data/u1": false, "c1/g/L/apps/data/u1": false,
		"c1/g/K/jobs/data/u1": false,
		"c1/g/K/apps/info/u1": false, "c1/g/K/apps/data": false, "c1/g/K/apps/data/u1/x": false, "": false,
	} {
		if stamp.names(other) != want || other.names(stamp) != want {
			t.Errorf("%q names the same object: want %t", other, want)
		}
	}
	if stamp.cluster() != "c1" || stamp.Namespace() != "apps" || Stamp("c1/g").cluster() != "" ||
		Stamp("c1/g/K/apps").Namespace() != "" {
		t.Error("the cluster or the namespace of a stamp is another, or what is no stamp has one")
	}
}

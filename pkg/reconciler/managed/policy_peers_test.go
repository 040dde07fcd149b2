package managed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// PeerFunctions are the other functions that other runtimes test their loop with,
// and what tests the same here. Cases with a feature switched off make no sense:
// there is no switch.
var peerFunctions = map[string][]string{
	"TestManagementPoliciesResolverIsPaused":             {"TestEveryPolicy", "TestEmptyPoliciesPause"},
	"TestManagementPoliciesResolverValidate":             {"TestEveryPolicy", "TestPoliciesThatAreNotUnderstood"},
	"TestManagementPoliciesResolverShouldCreate":         {"TestEveryPolicy"},
	"TestManagementPoliciesResolverShouldUpdate":         {"TestEveryPolicy"},
	"TestManagementPoliciesResolverShouldLateInitialize": {"TestEveryPolicy", "TestLateInitialisationMayBeForbidden"},
	"TestManagementPoliciesResolverOnlyObserve":          {"TestEveryPolicy"},
	"TestShouldDelete":                                   {"TestEveryPolicy"},
	"TestLegacyShouldDelete":                             {"TestEveryPolicy"},
	"TestEffectivePollInterval":                          {"TestPollIntervals"},
	"TestReconcilePollIntervalAnnotation":                {"TestPollIntervals", "TestIntervals"},
	"TestReconcileRequestAnnotation":                     {"TestReconcileRequests"},
	"TestReconcilerChangeLogs": {"TestReconcilerChangeLogs", "TestChangesAreLogged",
		"TestAChangeLogSinkIsCalledAfterAllWrites"},
	"TestChangeLogger":       {"TestASinkThatBlocks"},
	"TestResolveReferences":  {"TestReferencesAreWaitedFor", "TestReferencesThatFollow"},
	"TestNameAsExternalName": {"TestNamesOfObjectsAsExternalNames"},
	"TestAPILocalSecretPublisher": {"TestConnectionDetailsArePublished",
		"TestConnectionSecretThatWasRemoved"},
	"TestOGConditionSetMark": {"TestConditionsOfAKindAreStampedToo", "TestKstatusConditions"},
	"TestAPISecretPublisher": {"TestConnectionDetailsArePublished",
		"TestConnectionDetailsThatChange", "TestSecretsOfOthersAreLeftAlone"},
	"TestRetryingCriticalAnnotationUpdater": {"TestCriticalAnnotationUpdaterKeepsWhatUsersSet",
		"TestAnAPIServerThatFailsForAWhileLosesNothing"},
	"TestSilentlyRequeueOnConflict": {"TestExits", "TestConflictsAreSilentForAWhile"},
	"TestDesiredStateChanged":       {"TestPredicate"},
}

// TestEveryPeerFunctionIsCovered looks for the tests.
func TestEveryPeerFunctionIsCovered(t *testing.T) {
	known := testNames(t, ".")
	for function, tests := range peerFunctions {
		for _, name := range tests {
			if !known[name] {
				t.Errorf("%s is to be covered by %s, which does not exist", function, name)
			}
		}
	}
}

// TestEveryPolicy tries every set of actions in the spec with every value of the
// annotations on every state of a resource.
func TestEveryPolicy(t *testing.T) {
	actions := []commonv1.ManagementAction{observe, create, update, remove, initialize}
	sets := []commonv1.ManagementPolicies{nil, {everything}, {observe, everything}}
	for bits := range 1 << len(actions) {
		set := commonv1.ManagementPolicies{}
		for i, a := range actions {
			if bits&(1<<i) != 0 {
				set = append(set, a)
			}
		}
		sets = append(sets, set)
	}
	for _, set := range sets {
		for _, management := range []string{"", "default", "observe-create-update", "observe-delete", "observe"} {
			for _, orphan := range []string{"", "delete", "orphan"} {
				for _, state := range []string{"missing", "differs", "unset", "deleted"} {
					tryPolicy(t, set, management, orphan, state)
				}
			}
		}
	}
}

// tryPolicy makes a pass over a resource in a state, and compares what was done
// with what is allowed.
func tryPolicy(t *testing.T, set commonv1.ManagementPolicies, management, orphan, state string) {
	t.Helper()
	spec := func(a commonv1.ManagementAction) bool {
		return set == nil || slices.Contains(set, a) || slices.Contains(set, everything)
	}
	annotation := map[string]string{
		"": "CreateUpdateDelete", "default": "CreateUpdateDelete", "observe-create-update": "CreateUpdate",
		"observe-delete": "Delete", "observe": "",
	}[management]
	allowed := func(a commonv1.ManagementAction) bool {
		return spec(a) && strings.Contains(annotation, string(a)) && (a != remove || orphan != "orphan")
	}
	var want string
	switch {
	case set != nil && len(set) == 0:
		want = "paused"
	case !spec(observe):
		want = "refused"
	case state == "deleted" && !allowed(remove):
		want = "let go"
	case state == "deleted":
		want = "Observe Delete"
	case state == "missing" && allowed(create):
		want = "Observe Create"
	case state == "differs" && allowed(update):
		want = "Observe Update"
	case state == "unset" && spec(initialize):
		want = "Observe store"
	default:
		want = "Observe"
	}
	if got := onePass(t, set, management, orphan, state); got != want {
		t.Errorf("spec %q, management policy %q, deletion policy %q, %s: %s, want %s", set, management, orphan,
			state, got, want)
	}
}

// onePass makes a pass over an object and returns its calls. A client answers once, and returns an error
// afterwards, so that one pass is one step.
func onePass(t *testing.T, set commonv1.ManagementPolicies, management, orphan, state string) string {
	t.Helper()
	var done []string
	call := func(name string) func(context.Context, resource.Managed) error {
		return func(context.Context, resource.Managed) error {
			done = append(done, name)

			return errBoom
		}
	}
	c := managed.ExternalClientFns{CreateFn: call("Create"), UpdateFn: call("Update"), DeleteFn: call("Delete")}
	c.ObserveFn = func(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
		done = append(done, "Observe")
		o := map[string]managed.ExternalObservation{
			"missing": nowhere, "differs": differs, "unset": initialized(found), "deleted": found,
		}[state]
		if v, ok := mg.(*fullResource); ok && o.ResourceLateInitialized {
			v.Spec.Size = 7
		}

		return o, nil
	}
	got := peerCase{
		external: c, options: []managed.ReconcilerOption{authors(nil, errBoom), updater(nil)},
		object: func(v *fullResource) {
			v.Spec.Policies = set
			meta.AddAnnotations(v, pairs(meta.AnnotationKeyManagementPolicy, management,
				meta.AnnotationKeyDeletionPolicy, orphan))
			if state == "deleted" {
				v.SetDeletionTimestamp(&deletion)
			}
		},
		stored: func(client.Object) error {
			if state == "unset" {
				done = append(done, "store")
			}

			return nil
		},
	}.run(t)
	for _, c := range got.Conditions {
		if c.Type == commonv1.TypeSynced && c.Reason == commonv1.ReasonReconcilePaused {
			done = append(done, "paused")
		}
		if c.Type == commonv1.TypeSynced && c.Reason == commonv1.ReasonInvalidManagementPolicy {
			done = append(done, "refused")
		}
	}
	if len(done) == 0 && got.Err == "boom" {
		return "let go"
	}

	return strings.Join(done, " ")
}

// TestPollIntervals are the delays that an object's own poll interval leads to.
func TestPollIntervals(t *testing.T) {
	cases := map[string]struct {
		reason     string
		annotation string
		want       time.Duration
	}{
		"NoAnnotation": {"without one of its own it is that of the reconciler", "", 5 * time.Minute},
		"AboveMinimum": {"an object may ask for one of its own", "30s", 30 * time.Second},
		"AtMinimum":    {"down to the least", "10s", 10 * time.Second},
		"BelowMinimum": {"and not for less", "1s", 10 * time.Second},
		"Longer":       {"but for more", "1h", time.Hour},
		"Unparsable":   {"what is no interval does not count", "often", 5 * time.Minute},
		"Zero":         {"nor does none at all", "0s", 5 * time.Minute},
		"Negative":     {"nor does one into the past", "-10s", 5 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var hooked time.Duration
			got := peerCase{
				external: observes(found),
				object: func(v *fullResource) {
					meta.AddAnnotations(v,
						pairs(meta.AnnotationKeyPollInterval, tc.annotation))
				},
				options: []managed.ReconcilerOption{
					authors(nil, nil), managed.WithPollInterval(5 * time.Minute),
					managed.WithMinPollInterval(10 * time.Second),
					managed.WithPollIntervalHook(func(_ resource.Managed, interval time.Duration) time.Duration {
						hooked = interval

						return interval + time.Second
					}),
				},
			}.run(t)
			if hooked != tc.want || got.RequeueAfter != tc.want+time.Second {
				t.Errorf("%s: the hook is given %s, and the next pass is after %s, want %s", tc.reason, hooked,
					got.RequeueAfter, tc.want)
			}
		})
	}
}

// TestNamesOfObjectsAsExternalNames is the initializer that other runtimes have
// by default.
func TestNamesOfObjectsAsExternalNames(t *testing.T) {
	for existing, want := range map[string]string{"": "data", "old": "old"} {
		var stored string
		peerCase{
			external: scripted("Create", nowhere, found),
			options:  []managed.ReconcilerOption{managed.WithInitializers(managed.NameAsExternalName{}), updater(nil)},
			object: func(v *fullResource) {
				v.SetName("data")
				meta.AddAnnotations(v, pairs(meta.AnnotationKeyExternalName, existing))
			},
			stored: func(o client.Object) error {
				stored = meta.GetExternalName(o)

				return nil
			},
		}.run(t)
		if stored != want {
			t.Errorf("external name %q was stored, want %q", stored, want)
		}
	}
}

// TestReconcilerChangeLogs are the six ends of a change.
func TestReconcilerChangeLogs(t *testing.T) {
	cases := map[string]struct {
		arrange   func(g gallery)
		operation changelog.Operation
		cause     changelog.Cause
		name      string // external, when the pass is over
	}{
		"Create": {func(g gallery) { g.create(nil) }, changelog.OperationCreate, changelog.CauseCreated, "vol-1"},
		"Update": {func(g gallery) {
			g.create(nil)
			g.pass()
			g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })
		}, changelog.OperationUpdate, changelog.CauseSpec, "vol-1"},
		"Delete": {func(g gallery) {
			g.create(nil)
			g.pass()
			g.delete()
		}, changelog.OperationDelete, changelog.CauseDeleted, "vol-1"},
	}
	for call, tc := range cases {
		for _, refused := range []error{nil, errBoom} {
			t.Run(fmt.Sprintf("%s/%v", call, refused), func(t *testing.T) {
				var entries []changelog.Entry
				g := newGallery(t, managed.WithProvider("provider-storage", "v1"))
				tc.arrange(g)
				g.o = append(g.o, managed.WithChangeLog(changelog.SinkFunc(func(_ context.Context,
					e changelog.Entry) error {
					entries = append(entries, e)

					return nil
				})))
				g.restart()
				g.cloud.Before = onCall(call, func() error { return refused })
				if _, err := g.try(); !errors.Is(err, refused) {
					t.Errorf("error %v", err)
				}
				want := changelog.Entry{
					Time: g.clock.Now(), Provider: "provider-storage", ProviderVersion: "v1",
					GroupVersionKind: schema.GroupVersionKind(volume.SnapshotKind),
					Namespace:        key.Namespace, Name: key.Name, UID: "uid-1", ExternalName: tc.name,
					Operation: tc.operation, Cause: tc.cause, Generation: 1,
				}
				if call == "Update" {
					want.Generation = 2
				}
				if refused != nil {
					want.Error = "boom"
				}
				if refused != nil && call == "Create" {
					want.ExternalName = ""
				}
				if call == "Create" {
					want.Attempt = fmt.Sprintf("%08x800000000-50c45a43",
						g.clock.Now().Unix()) // with what the source of randomness makes
				}
				ignore := cmpopts.IgnoreFields(changelog.Entry{}, "Before", "After")
				if d := cmp.Diff([]changelog.Entry{want}, entries, ignore); d != "" {
					t.Fatalf("-want, +got:\n%s", d)
				}
				for what, image := range map[string][]byte{"before": entries[0].Before, "after": entries[0].After} {
					var s volume.Snapshot
					if err := json.Unmarshal(image, &s); err != nil || s.Name != key.Name || s.Spec.SizeGiB == 0 {
						t.Errorf("%s: %s, %v", what, image, err)
					}
				}
			})
		}
	}
}

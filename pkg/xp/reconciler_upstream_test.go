package xp_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test"
)

var updateUpstream = flag.Bool("golden", false, "write the list of what differs from upstream's own tests anew")

const upstreamGolden = "testdata/upstream-differences.md"

// A reason is one for which cases tell something else.
type reason struct {
	of    string // the suites: a part of the list, or several
	in    string // aspects
	cases string // all of those that there are, if there is but
	but   string
	why   string
}

const (
	bothRuntimes = ofSeed + "|" + ofXP
	allRuntimes  = bothRuntimes + "|" + ofAround
)

// upstreamReasons are all that differs. A case that differs in something else fails, and so does one that does not
// differ in what is said here.
var upstreamReasons = []reason{
	{
		of: bothRuntimes, in: inPriority,
		but: "GetManagedError ManagedNotFound DeleteSuccessfulDeletionPolicyDelete DeleteSuccessfulDeletionPolicyOrphan " +
			"UnpublishConnectionDetailsDeletionPolicyDeleteError UnpublishConnectionDetailsDeletionPolicyOrphan",
		why: "`Result.Priority` is set, so that a priority queue handles polls last. A test compares the other fields.",
	},
	{
		of: bothRuntimes, in: inResult,
		cases: "AddFinalizerError CreateExternalError ExternalConnectError ExternalDeleteError ExternalObserveError " +
			"InitializeError " +
			"PublishCreationConnectionDetailsError PublishUpdateConnectionDetailsError " +
			"RemoveFinalizerErrorDeletionPolicyDelete RemoveFinalizerErrorDeletionPolicyOrphan ResolveReferencesError " +
			"UpdateCreatePendingError UpdateCriticalAnnotationsError UpdateExternalError",
		why: "The error is returned, so that controller-runtime logs and counts it. The back-off is the same as with " +
			"`Requeue`.",
	},
	{
		of: bothRuntimes, in: inStatus, cases: "InitializeError ResolveReferencesError",
		why: "The message names the step that failed.",
	},
	{
		of: bothRuntimes, in: inStatus, cases: "CreateExternalError UpdateCreatePendingError UpdateCriticalAnnotationsError",
		why: "The object records the attempt to create with an id, so that the record does not depend on clocks.",
	},
	{
		of: bothRuntimes, in: inResult + "|" + inStatus,
		cases: "CreateSuccessful ManagementPolicyAllCreateSuccessful ManagementPolicyCreateCreateSuccessful " +
			"CreationGracePeriod " +
			"CreateSuccessfulAfterExternalCreatePendingAndDeterministicName",
		why: "A condition reports a created resource that is not visible yet. Observe is called again after a tenth " +
			"of the time since the creation, at least a second, and when the grace period ends. If the provider " +
			"chooses the external name, no creation annotations are written.",
	},
	{
		of: bothRuntimes, in: inCalls,
		cases: "CreateSuccessful ManagementPolicyAllCreateSuccessful ManagementPolicyCreateCreateSuccessful " +
			"CreateSuccessfulAfterExternalCreatePendingAndDeterministicName ExternalDeleteSuccessful " +
			"PublishUpdateConnectionDetailsError " +
			"UpdateSuccessful ManagementPolicyAllUpdateSuccessful ManagementPolicyUpdateUpdateSuccessful " +
			"TypedReconcilerUpdateSuccessful",
		why: "The pass calls Observe again after the change, so the status shows the observed state, not only that a " +
			"change was requested.",
	},
	{
		of: bothRuntimes, in: inResult, cases: "ExternalDeleteSuccessful",
		why: "While the resource still exists, Observe is called again after a tenth of the time since Delete, at " +
			"least a second and at most the poll interval.",
	},
	{
		of: bothRuntimes, in: inResult + "|" + inStatus,
		cases: "UpdateSuccessful ManagementPolicyAllUpdateSuccessful ManagementPolicyUpdateUpdateSuccessful " +
			"TypedReconcilerUpdateSuccessful",
		why: "While the update is not visible, `UpToDate` says so. Observe is called again after a time that doubles " +
			"up to the poll interval.",
	},
	{
		of: bothRuntimes, in: inStatus, cases: "UpdateExternalError ManagementPolicyImmutable ObserveOnlySuccessfulObserve",
		why: "`UpToDate` says that the resource is not as desired, and why.",
	},
	{
		of: allRuntimes, in: inResult,
		cases: "ExternalDisconnectError ExternalResourceUpToDate ReconciliationResumes ManagementPolicyImmutable " +
			"ManagementPolicySkipLateInitialize " +
			"ObserveAndLateInitializePolicy ObserveUpdateAndLateInitializePolicy ObserveOnlySuccessfulObserve " +
			"AnnotationOverridesPollInterval InvalidAnnotationFallsBack AnnotationBelowMinimumClampsToMin " +
			"NoAnnotationUsesDefault " +
			"NewReconcileRequestRecordsToken AlreadyHandledReconcileRequestIsNoOp",
		why: "Polls have a jitter of a tenth of the poll interval, so that objects are not polled all at once. A poll " +
			"interval hook replaces the jitter.",
	},
	{
		of: bothRuntimes, in: inResult,
		cases: "ExternalCreatePending ReconciliationPausedSuccessful ManagementPolicyReconciliationPausedSuccessful " +
			"ManagementPolicyNotSupported CustomManagementPolicyNotSupported ManagementPoliciesUsedButNotEnabled",
		why: "Every pass requeues: a state that may change without an event is observed again after ten poll intervals.",
	},
	{
		of: bothRuntimes, in: inCalls, cases: "ExternalCreatePending",
		why: "The reconciler calls Observe to find the result of an interrupted create before the object waits for a user.",
	},
	{
		of: ofXP, in: inStatus, cases: "ExternalCreatePending",
		why: "The message names the annotation of this runtime, `krateo.io/external-create-pending`.",
	},
	{
		of: bothRuntimes, in: inResult + "|" + inStatus, cases: "LateInitializeUpdateError",
		why: "A late initialization that changes nothing sends no write, so no write can fail. If a late " +
			"initialization changes something and the write fails, the error is returned.",
	},
	{
		of: bothRuntimes, in: inResult + "|" + inStatus, cases: "ObserveOnlyResourceDoesNotExist",
		why: "A missing resource that must not be created is not an error. `Synced` has its own reason, and Observe " +
			"is called again after the poll interval.",
	},
	{
		of: ofXP, in: inResult + "|" + inStatus, cases: "ExtraFinalizersDelayDelete",
		why: "The condition names the finalizers that the deletion waits for. The object is reconciled again after a " +
			"time that doubles up to the poll interval.",
	},
	{
		of: ofXP, in: inStatus, cases: "ManagementPolicyNotSupported CustomManagementPolicyNotSupported",
		why: "A policy that is not supported has its own reason, and is checked again, because a later release may " +
			"support it.",
	},
	{
		of: ofXP, in: inStatus, cases: "ManagementPoliciesUsedButNotEnabled",
		why: "There is no feature flag: policies count if the kind has the field. In this case, the policies are " +
			"rejected because they have Create without Observe.",
	},
	{
		of: ofXP, in: inStatus, cases: "PublishCreationConnectionDetailsError PublishUpdateConnectionDetailsError",
		why: "The message names the step that failed, and the object does not become Ready before its connection " +
			"details are published. The write of details that Create returned is retried for 25 seconds.",
	},
	{
		of: ofXP, in: inResult + "|" + inStatus + "|" + inCalls, cases: "PublishObservationConnectionDetailsError",
		why: "Connection details of a resource that does not exist are not published: the resource is created.",
	},
	{
		of: ofXP, in: inResult + "|" + inStatus, cases: "ObserveOnlyPublishConnectionDetailsError",
		why: "The publisher is called only if there are connection details. If there are some, its error is returned.",
	},
	{
		of: ofXP, in: inCalls, cases: "ObserveUpdateAndLateInitializePolicy",
		why: "Update is not called for a resource that does not exist.",
	},
	{
		of: ofXP, in: inResult + "|" + inStatus,
		cases: "UnpublishConnectionDetailsDeletionPolicyDeleteError UnpublishConnectionDetailsDeletionPolicyOrphan",
		why: "Connection details are not unpublished: the object owns the Secret, so the Secret is deleted with the " +
			"object.",
	},
	{
		of: ofUpdaters, in: inTries, cases: "UpdateConflictGetError UpdateError SuccessfulGetAfterAConflict Success",
		why: "The updater of Moorage retries every error until the context ends, or for 25 seconds. The updater of " +
			"the old runtimes retries only conflicts, five times in 50 milliseconds.",
	},
	{
		of: ofUpdaters, in: inObject, cases: "UpdateConflictGetError SuccessfulGetAfterAConflict",
		why: "The patch has no resource version, so it cannot conflict, and the object is not read again.",
	},
	{
		of: ofUpdaters, in: inResult, cases: "UpdateConflictGetError",
		why: "The updater returns the error of the write, because it does not read the object again.",
	},
	{
		of: ofUpdaters, in: inResult, cases: "UpdateManagedError",
		why: "The initializer sends no request: the reconciler stores the name with its next write.",
	},
}

// A differing is one aspect of a case that differs.
type differing struct{ of, name, in string }

// listed returns what the reasons list for the suites of a part, by what differs.
func listed(t *testing.T, of string, names []string) map[differing]reason {
	t.Helper()

	out := map[differing]reason{}
	for _, r := range upstreamReasons {
		if !slices.Contains(strings.Split(r.of, "|"), of) {
			continue
		}

		cases := strings.Fields(r.cases)
		if r.but != "" {
			cases = slices.DeleteFunc(slices.Clone(names),
				func(name string) bool { return slices.Contains(strings.Fields(r.but), name) })
		}

		for _, name := range cases {
			for _, in := range strings.Split(r.in, "|") {
				if !slices.Contains(names, name) {
					continue
				}

				if other, ok := out[differing{of, name, in}]; ok {
					t.Errorf("%s: %s has two reasons: %q and %q", name, in, other.why, r.why)
				}

				out[differing{of, name, in}] = r
			}
		}
	}

	return out
}

// TestUpstream plays the cases of upstream's own suites, and compares what differs with the list.
func TestUpstream(t *testing.T) {
	known := map[string]bool{}

	for _, s := range upstreamSuites() {
		if len(s.cases) != s.expected {
			t.Errorf("%s: %d cases, upstream has %d", s.name, len(s.cases), s.expected)
		}

		names := slices.Sorted(maps.Keys(s.cases))
		list := listed(t, s.of, names)

		for _, name := range names {
			known[name] = true

			t.Run(s.name+"/"+name, func(t *testing.T) {
				there, here := s.cases[name](t)
				for _, in := range slices.Sorted(maps.Keys(there)) {
					r, ok := list[differing{s.of, name, in}]
					differs := there[in] != here[in]

					if differs && !ok {
						t.Errorf("%s: upstream has %s, here is %s, and no reason is listed", in, there[in], here[in])
					}

					if !differs && ok {
						t.Errorf("%s: %s is the same, but is listed: %s", in, here[in], r.why)
					}
				}
			})
		}
	}

	for _, r := range upstreamReasons {
		for _, name := range strings.Fields(r.cases + " " + r.but) {
			if !known[name] {
				t.Errorf("%s is no case of upstream", name)
			}
		}
	}
}

// TestUpstreamDifferences keeps the list that docs/migrating.md is made of.
func TestUpstreamDifferences(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Where upstream's own tests tell something else\n\n" +
		"Written by the tests of this package. Time stands still in them, and polls are spread by half of what they may " +
		"be spread. Upstream compares neither " +
		"calls nor tries.\n")

	for _, of := range []string{ofSeed, ofXP, ofAround, ofUpdaters} {
		fmt.Fprintf(&b, "\n## %s\n\n", of)

		var rows []string

		for _, s := range upstreamSuites() {
			if s.of == of {
				b.WriteString(s.count(t, &rows))
			}
		}

		b.WriteString("\n| Case | In what | There | Here | Why |\n|---|---|---|---|---|\n" + strings.Join(rows, ""))
	}

	if *updateUpstream {
		if err := os.WriteFile(upstreamGolden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(upstreamGolden)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s is not what the tests say (go test -golden writes it anew): -want, +got:\n%s", upstreamGolden,
			diff)
	}
}

// count returns how many cases of the suite hold, and adds the rows of those that differ, once for suites that share
// a list.
func (s upstreamSuite) count(t *testing.T, rows *[]string) string {
	t.Helper()

	var (
		names                   = slices.Sorted(maps.Keys(s.cases))
		list                    = listed(t, s.of, names)
		literal, fields, spread int
	)

	for _, name := range names {
		there, here := s.cases[name](t)

		asWritten, butPriority, butPolls := true, true, true

		for _, in := range slices.Sorted(maps.Keys(there)) {
			r, ok := list[differing{s.of, name, in}]
			if !ok {
				continue
			}

			unseen := in == inCalls || in == inTries // upstream does not compare them
			asWritten = asWritten && unseen
			butPriority = butPriority && (unseen || in == inPriority)
			butPolls = butPolls && (unseen || in == inPriority || strings.HasPrefix(r.why, "Polls"))

			row := fmt.Sprintf("| %s | %s | %s | %s | %s |\n", name, in, text(there[in]), text(here[in]), r.why)
			if r.but != "" {
				row = fmt.Sprintf("| all but %s | %s | %s | %s | %s |\n", strings.Join(has(names, r.but), ", "), in,
					text(there[in]), text(here[in]), r.why)
			}

			first, _, _ := strings.Cut(row, " | "+in+" | ")
			if !slices.ContainsFunc(*rows, func(r string) bool { return strings.HasPrefix(r, first+" | "+in+" | ") }) {
				*rows = append(*rows, row)
			}
		}

		literal, fields, spread = literal+one(asWritten), fields+one(butPriority), spread+one(butPolls)
	}

	return fmt.Sprintf("- %s has %d cases: %d pass unchanged, %d pass if `Result.Priority` is not compared, and "+
		"%d pass if the jitter of polls is not compared either.\n",
		s.name, len(names), literal, fields, spread)
}

// has returns those of a list that are cases.
func has(names []string, list string) []string {
	return slices.DeleteFunc(strings.Fields(list), func(name string) bool { return !slices.Contains(names, name) })
}

func text(s string) string {
	if s == "" {
		return "none"
	}

	return s
}

func one(holds bool) int {
	if holds {
		return 1
	}

	return 0
}

// TestComparingAsAuthorsDo compares as docs/migrating.md says that an author's own test may.
func TestComparingAsAuthorsDo(t *testing.T) {
	theirs := of(commonv1.ReconcileSuccess(), commonv1.Available())
	ours := of(commonv1.Available(), commonv1.ReconcileSuccess())
	sorted := cmpopts.SortSlices(func(a, b commonv1.Condition) bool { return a.Type < b.Type })

	if cmp.Equal(theirs, ours, test.EquateConditions()) {
		t.Error("the order does not count: say so")
	}

	if diff := cmp.Diff(theirs, ours, test.EquateConditions(), sorted); diff != "" {
		t.Errorf("the order counts:\n%s", diff)
	}

	if diff := cmp.Diff(errors.Wrap(errBoom, "cannot"), errors.Wrap(errBoom, "cannot"),
		test.EquateErrors()); diff != "" {
		t.Errorf("errors differ:\n%s", diff)
	}

	r := upstreamSeed.reconciler(&fake.Manager{Client: test.NewMockClient(), Scheme: fake.SchemeWith(upstreamSeed.of)},
		resource.ManagedKind(fake.GVK(upstreamSeed.of)), &clientCalls{observe: current}, finalizing, times(1))

	result, err := r.Reconcile(t.Context(), reconcile.Request{})
	result.Priority = nil

	if want := (reconcile.Result{RequeueAfter: time.Minute}); err != nil || result != want {
		t.Errorf("%+v, error %v, want %+v", result, err, want)
	}
}

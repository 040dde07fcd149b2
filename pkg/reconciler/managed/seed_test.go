package managed_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// Why a pass has another result than in the seed. The first group requires changes in a test suite for the seed;
// the second follows from general rules of this runtime.
const (
	whyError = "A failure is returned. controller-runtime then logs and counts it; its back-off is the same as that of " +
		"`Requeue`."
	whyGrace = "What was created and does not show is said in a condition, and looked at again after a tenth of the " +
		"time that it has taken, at least a second, and when the grace period ends."
	whyGone = "The resource is looked at again in the same pass. While it is still there, the next look comes after a " +
		"tenth of the time that it has taken, at least a second and at most the poll interval."
	whyMade = "The resource is looked at again in the same pass: the status says what was seen, not that something " +
		"was asked for. The attempt is marked, so that it does not depend on clocks."
	whyPoll = "Polls are spread by a tenth of the poll interval to either side, so that a fleet does not poll in step."

	whySlow    = "No pass is the last: a state that may heal without an event is observed again after ten poll intervals."
	whyMissing = "A resource that is missing and may not be created is a stable state with a reason of its own, not an " +
		"error: it is looked at again after the poll interval."
	whyEffect = "The resource is looked at again in the same pass. While the update does not show, `UpToDate` says so " +
		"and the next look comes after a time that doubles up to the poll interval."
	whyNothing = "Nothing is written that has not changed: a late initialisation that filled in nothing is none, so " +
		"that there is no write that could fail."
)

// AllowedToDiffer are the cases that a suite written for the seed has to be
// changed for.
var allowedToDiffer = map[string]string{
	"RemoveFinalizerErrorDeletionPolicyOrphan": whyError,
	"RemoveFinalizerErrorDeletionPolicyDelete": whyError,
	"ExternalConnectError":                     whyError,
	"ExternalObserveError":                     whyError,
	"ExternalDeleteError":                      whyError,
	"AddFinalizerError":                        whyError,
	"UpdateCreatePendingError":                 whyError,
	"CreateExternalError":                      whyError,
	"UpdateCriticalAnnotationsError":           whyError,
	"LateInitializeUpdateError":                whyNothing,
	"UpdateExternalError":                      whyError,
	"ObserveOnlyResourceDoesNotExist":          whyMissing,
	"CreationGracePeriod":                      whyGrace,
	"ExternalDeleteSuccessful":                 whyGone,
	"CreateSuccessful":                         whyMade,
	"ExternalResourceUpToDate":                 whyPoll,
}

var (
	found    = managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}
	differs  = managed.ExternalObservation{ResourceExists: true}
	nowhere  = managed.ExternalObservation{}
	deletion = metav1.NewTime(moment)

	mark    = moment.Format(time.RFC3339)
	attempt = fmt.Sprintf("%08xc00000000-811c9dc5",
		moment.Unix()) // with what the source of randomness of these tests makes
)

func conditions(c ...commonv1.Condition) []commonv1.Condition { return c }

func failed(err error, prefix ...string) commonv1.Condition {
	for _, p := range prefix {
		err = errors.Wrap(err, p)
	}

	return commonv1.ReconcileError(err)
}

// A seedCase is one pass over a managed resource.
type seedCase struct {
	reason string

	object func(*fake.Managed) // makes what Get answers
	get    error
	update error
	status error

	external managed.ExternalClientFns
	options  []managed.ReconcilerOption

	seed reportedState  // the result of the seed
	ours *reportedState // the result here; nil if it is the same
	why  string
}

func (c seedCase) run(t *testing.T) reportedState {
	t.Helper()

	return mock{
		of: &fake.Managed{}, get: c.get, update: c.update, status: c.status, external: c.external, options: c.options,
		fill: func(o client.Object) {
			if mg, ok := o.(*fake.Managed); ok && c.object != nil {
				c.object(mg)
			}
		},
	}.pass(t)
}

// deleted returns what makes an object that is being deleted under a deletion
// policy.
func deleted(policy string) func(*fake.Managed) {
	return func(mg *fake.Managed) {
		mg.SetDeletionTimestamp(&deletion)
		annotated(meta.AnnotationKeyDeletionPolicy, policy)(mg)
	}
}

func (t reportedState) failing(err string) *reportedState {
	t.Requeue, t.Err = false, err

	return &t
}

func (t reportedState) after(d time.Duration) *reportedState {
	t.Requeue, t.RequeueAfter = false, d

	return &t
}

func (t reportedState) with(keysAndValues ...string) reportedState {
	t.Annotations = maps.Clone(t.Annotations)
	if t.Annotations == nil {
		t.Annotations = map[string]string{}
	}
	maps.Copy(t.Annotations, pairs(keysAndValues...))

	return t
}

// seedCases are the cases of the table of the seed's own tests, by their names: the events, and the result.
var seedCases = map[string]seedCase{
	"GetManagedError": {
		reason: "an object that cannot be read is an error",
		get:    errBoom,
		seed:   reportedState{Err: "cannot get managed resource: boom"},
	},
	"ManagedNotFound": {
		reason: "an object that is gone is none",
		get:    kerrors.NewNotFound(schema.GroupResource{}, ""),
	},
	"RemoveFinalizerErrorDeletionPolicyOrphan": erring(seedCase{
		reason:  "a finalizer that cannot be removed from an orphaning object is told",
		object:  deleted(meta.DeletionPolicyOrphan),
		options: []managed.ReconcilerOption{authors(nil, errBoom)},
		seed: reportedState{
			Requeue: true, Conditions: conditions(commonv1.Deleting(), failed(errBoom)),
			Annotations: pairs(meta.AnnotationKeyDeletionPolicy, meta.DeletionPolicyOrphan),
		},
	}, "boom"),
	"DeleteSuccessfulDeletionPolicyOrphan": {
		reason:  "an orphaning object goes without a look outside and without a status",
		object:  deleted(meta.DeletionPolicyOrphan),
		options: []managed.ReconcilerOption{authors(nil, nil)},
	},
	"ExternalCreatePending": slowly(seedCase{
		reason: "a creation whose result is not known is never repeated blindly",
		object: annotated(meta.AnnotationKeyExternalCreatePending, mark), external: observes(nowhere),
		seed: reportedState{
			Conditions: conditions(commonv1.Creating(), failed(errors.New(
				"cannot determine creation result - remove the krateo.io/external-create-pending annotation if it is safe to "+
					"proceed"))),
			Annotations: pairs(meta.AnnotationKeyExternalCreatePending, mark),
		},
	}),
	"ExternalConnectError": erring(seedCase{
		reason: "a connection that fails is told",
		options: []managed.ReconcilerOption{managed.WithExternalConnecter(managed.ExternalConnectorFn(
			func(context.Context, resource.Managed) (managed.ExternalClient, error) { return nil, errBoom }))},
		seed: reportedState{Requeue: true, Conditions: conditions(failed(errBoom, "connect failed"))},
	}, "connect failed: boom"),
	"ExternalDisconnectError": spread(seedCase{
		reason:  "a failing disconnect changes nothing",
		options: []managed.ReconcilerOption{breakingOff(found), authors(nil, nil)},
		seed:    reportedState{RequeueAfter: time.Minute, Conditions: conditions(commonv1.ReconcileSuccess())},
	}),
	"ExternalObserveError": erring(seedCase{
		reason: "a look that fails is told",
		external: managed.ExternalClientFns{ObserveFn: func(context.Context,
			resource.Managed) (managed.ExternalObservation, error) {
			return found, errBoom
		}},
		seed: reportedState{Requeue: true, Conditions: conditions(failed(errBoom, "observe failed"))},
	}, "observe failed: boom"),
	"CreationGracePeriod": {
		reason:   "what was created a moment ago and does not show is not created again",
		object:   annotated(meta.AnnotationKeyExternalCreateSucceeded, mark),
		external: observes(nowhere),
		options:  []managed.ReconcilerOption{managed.WithCreationGracePeriod(time.Minute)},
		seed:     reportedState{Requeue: true},
		ours: &reportedState{
			RequeueAfter: time.Second, Conditions: conditions(commonv1.Creating(), unshown()),
			Annotations: pairs(meta.AnnotationKeyExternalCreateSucceeded, mark),
		},
		why: whyGrace,
	},
	"ExternalDeleteError": erring(seedCase{
		reason:   "a deletion that fails is told",
		object:   deleted(meta.DeletionPolicyDelete),
		external: managed.ExternalClientFns{ObserveFn: observes(differs).ObserveFn, DeleteFn: answers(errBoom)},
		seed: reportedState{
			Requeue: true, Conditions: conditions(failed(errBoom, "delete failed"), commonv1.Deleting()),
			Annotations: pairs(meta.AnnotationKeyDeletionPolicy, meta.DeletionPolicyDelete),
		},
	}, "delete failed: boom"),
	"ExternalDeleteSuccessful": {
		reason:   "a deletion takes its time",
		object:   deleted(meta.DeletionPolicyDelete),
		external: managed.ExternalClientFns{ObserveFn: observes(differs).ObserveFn, DeleteFn: answers(nil)},
		seed:     deleting,
		ours:     deleting.after(time.Second), why: whyGone,
	},
	"RemoveFinalizerErrorDeletionPolicyDelete": erring(seedCase{
		reason:   "a finalizer that cannot be removed is told",
		object:   deleted(meta.DeletionPolicyDelete),
		external: observes(nowhere),
		options:  []managed.ReconcilerOption{authors(nil, errBoom)},
		seed: reportedState{
			Requeue: true, Conditions: conditions(commonv1.Deleting(), failed(errBoom)),
			Annotations: pairs(meta.AnnotationKeyDeletionPolicy, meta.DeletionPolicyDelete),
		},
	}, "boom"),
	"DeleteSuccessfulDeletionPolicyDelete": {
		reason:   "an object whose resource is gone goes without a status",
		object:   deleted(meta.DeletionPolicyDelete),
		external: observes(nowhere),
		options:  []managed.ReconcilerOption{authors(nil, nil)},
	},
	"AddFinalizerError": erring(seedCase{
		reason:   "a finalizer that cannot be added is told",
		external: observes(nowhere),
		options:  []managed.ReconcilerOption{authors(errBoom, nil)},
		seed:     reportedState{Requeue: true, Conditions: conditions(failed(errBoom))},
	}, "boom"),
	"UpdateCreatePendingError": erring(marking(seedCase{
		reason: "nothing is created before it is noted that it will be",
		update: errBoom,
		external: managed.ExternalClientFns{
			ObserveFn: observes(nowhere).ObserveFn,
			CreateFn:  answers(errors.New("not to be called")),
		},
		options: []managed.ReconcilerOption{authors(nil, nil)},
		seed: reportedState{
			Requeue: true, Conditions: conditions(commonv1.Creating(),
				failed(errBoom, "cannot update managed resource")),
			Annotations: pairs(meta.AnnotationKeyExternalCreatePending, mark),
		},
	}, attempt), "cannot update managed resource: boom"),
	"CreateExternalError": erring(marking(seedCase{
		reason:   "a creation that fails is marked and told, also if the mark cannot be stored",
		external: managed.ExternalClientFns{ObserveFn: observes(nowhere).ObserveFn, CreateFn: answers(errBoom)},
		options:  []managed.ReconcilerOption{authors(nil, nil), updater(errBoom)},
		seed: reportedState{
			Requeue: true, Conditions: conditions(failed(errBoom, "create failed"), commonv1.Creating()),
			Annotations: pairs(meta.AnnotationKeyExternalCreatePending, mark, meta.AnnotationKeyExternalCreateFailed,
				mark),
		},
	}, attempt+"/failed"), "create failed: boom"),
	"UpdateCriticalAnnotationsError": erring(marking(seedCase{
		reason:   "a result that cannot be stored is told",
		external: managed.ExternalClientFns{ObserveFn: observes(nowhere).ObserveFn, CreateFn: answers(nil)},
		options:  []managed.ReconcilerOption{authors(nil, nil), updater(errBoom)},
		seed: reportedState{
			Requeue: true, Conditions: conditions(failed(errBoom, "cannot update managed resource annotations"),
				commonv1.Creating()),
			Annotations: pairs(meta.AnnotationKeyExternalCreatePending, mark,
				meta.AnnotationKeyExternalCreateSucceeded, mark),
		},
	}, attempt+"/succeeded"), "cannot update managed resource annotations: boom"),
	"CreateSuccessful": {
		reason: "a creation is marked",
		options: []managed.ReconcilerOption{managed.WithExternalConnecter(&managed.NopConnecter{}),
			authors(nil, nil), updater(nil)},
		seed: reportedState{
			Requeue: true, Conditions: conditions(commonv1.ReconcileSuccess(), commonv1.Creating()),
			Annotations: pairs(meta.AnnotationKeyExternalCreatePending, mark,
				meta.AnnotationKeyExternalCreateSucceeded, mark),
		},
		ours: &reportedState{
			RequeueAfter: time.Second, Conditions: conditions(commonv1.Creating(), unshown()),
			Annotations: pairs(meta.AnnotationKeyExternalCreatePending, mark,
				meta.AnnotationKeyExternalCreateSucceeded, mark,
				meta.AnnotationKeyCreateAttempt, attempt+"/succeeded"),
		},
		why: whyMade,
	},
	"LateInitializeUpdateError": {
		reason: "what Observe says to have filled in and did not is not stored, so that nothing can fail",
		update: errBoom,
		external: observes(managed.ExternalObservation{
			ResourceExists: true, ResourceUpToDate: true, ResourceLateInitialized: true,
		}),
		options: []managed.ReconcilerOption{authors(nil, nil)},
		seed: reportedState{
			Requeue:    true,
			Conditions: conditions(failed(errBoom, "cannot update managed resource")),
		},
		ours: &reportedState{RequeueAfter: seconds(60), Conditions: conditions(commonv1.ReconcileSuccess())},
		why:  whyNothing,
	},
	"ExternalResourceUpToDate": spread(seedCase{
		reason:   "what is as desired is looked at again after the poll interval",
		external: observes(found),
		options:  []managed.ReconcilerOption{authors(nil, nil)},
		seed:     reportedState{RequeueAfter: time.Minute, Conditions: conditions(commonv1.ReconcileSuccess())},
	}),
	"UpdateExternalError": erring(seedCase{
		reason:   "an update that fails is told",
		external: managed.ExternalClientFns{ObserveFn: observes(differs).ObserveFn, UpdateFn: answers(errBoom)},
		options:  []managed.ReconcilerOption{authors(nil, nil)},
		seed:     reportedState{Requeue: true, Conditions: conditions(failed(errBoom, "update failed"))},
	}, "update failed: boom", notUpToDate(commonv1.ReasonUpdateFailed)),
	"UpdateSuccessful": {
		reason:   "an update is followed by a look",
		external: managed.ExternalClientFns{ObserveFn: observes(differs).ObserveFn, UpdateFn: answers(nil)},
		options:  []managed.ReconcilerOption{authors(nil, nil)},
		seed:     reportedState{RequeueAfter: time.Minute, Conditions: conditions(commonv1.ReconcileSuccess())},
		ours: &reportedState{
			RequeueAfter: seconds(1),
			Conditions:   conditions(commonv1.ReconcileSuccess(), notUpToDate(commonv1.ReasonUpdateRequested)),
		},
		why: whyEffect,
	},
	"ReconciliationPausedSuccessful": slowly(seedCase{
		reason: "a paused object is left alone",
		object: annotated(meta.AnnotationKeyReconciliationPaused, "true"),
		seed: reportedState{
			Conditions:  conditions(commonv1.ReconcilePaused()),
			Annotations: pairs(meta.AnnotationKeyReconciliationPaused, "true"),
		},
	}),
	"ReconciliationResumes": spread(seedCase{
		reason: "an object goes on when it is no longer paused",
		object: func(mg *fake.Managed) {
			annotated(meta.AnnotationKeyReconciliationPaused, "false")(mg)
			mg.SetConditions(commonv1.ReconcilePaused())
		},
		options: []managed.ReconcilerOption{breakingOff(found), authors(nil, nil)},
		seed: reportedState{
			RequeueAfter: time.Minute, Conditions: conditions(commonv1.ReconcileSuccess()),
			Annotations: pairs(meta.AnnotationKeyReconciliationPaused, "false"),
		},
	}),
	"ReconciliationPausedError": {
		reason: "a pause that cannot be shown is an error",
		object: annotated(meta.AnnotationKeyReconciliationPaused, "true"),
		status: errBoom,
		seed: reportedState{
			Err: "cannot update managed resource status: boom", Conditions: conditions(commonv1.ReconcilePaused()),
			Annotations: pairs(meta.AnnotationKeyReconciliationPaused, "true"),
		},
	},
	"ExternalResourceUpToDateWithJitter": {
		reason:   "an author's jitter takes the place of ours",
		external: observes(found),
		options:  []managed.ReconcilerOption{authors(nil, nil), managed.WithPollJitterHook(time.Second)},
		seed: reportedState{
			RequeueAfter: time.Minute + time.Second/2,
			Conditions:   conditions(commonv1.ReconcileSuccess()),
		},
	},
	"ExternalResourceUpToDateWithPollIntervalHook": {
		reason:   "an author's hook takes the place of our jitter",
		external: observes(found),
		options: []managed.ReconcilerOption{authors(nil, nil), managed.WithPollIntervalHook(
			func(_ resource.Managed, interval time.Duration) time.Duration { return 2 * interval })},
		seed: reportedState{RequeueAfter: 2 * time.Minute, Conditions: conditions(commonv1.ReconcileSuccess())},
	},
	"ObserveOnlyResourceDoesNotExist": {
		reason:   "what may only be looked at and is missing is no success",
		object:   annotated(meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve),
		external: observes(nowhere),
		seed: reportedState{
			Requeue: true, Conditions: conditions(failed(errors.New("external resource does not exist"),
				"observe failed")),
			Annotations: pairs(meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve),
		},
		ours: &reportedState{
			RequeueAfter: seconds(60),
			Conditions: conditions(commonv1.Condition{
				Type: commonv1.TypeSynced, Status: "False", Reason: commonv1.ReasonExternalResourceMissing,
				Message: "observe failed: external resource does not exist, and the management policy does not allow to create " +
					"it: " +
					"create it, or change the annotation krateo.io/management-policy",
			}),
			Annotations: pairs(meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve),
		},
		why: whyMissing,
	},
}

var deleting = reportedState{
	Requeue: true, Conditions: conditions(commonv1.ReconcileSuccess(), commonv1.Deleting()),
	Annotations: pairs(meta.AnnotationKeyDeletionPolicy, meta.DeletionPolicyDelete),
}

// erring returns a case of a failure that is returned here, possibly with further conditions.
func erring(c seedCase, err string, also ...commonv1.Condition) seedCase {
	base := c.seed
	if c.ours != nil {
		base = *c.ours
	}
	c.ours, c.why = base.failing(err), whyError
	c.ours.Conditions = append(slices.Clone(c.ours.Conditions), also...)

	return c
}

// marking returns a case in which an attempt to create is marked here.
func marking(c seedCase, attempt string) seedCase {
	ours := c.seed.with(meta.AnnotationKeyCreateAttempt, attempt)
	c.ours = &ours

	return c
}

func slowly(c seedCase) seedCase {
	c.ours, c.why = c.seed.after(seconds(600)), whySlow

	return c
}

func spread(c seedCase) seedCase {
	c.ours, c.why = c.seed.after(seconds(60)), whyPoll

	return c
}

// seconds returns so many, with the jitter of these tests.
func seconds(n float64) time.Duration { return time.Duration(n * jittered * float64(time.Second)) }

func unshown() commonv1.Condition {
	return commonv1.Condition{
		Type: commonv1.TypeSynced, Status: "Unknown", Reason: commonv1.ReasonCreationPending,
		Message: "created; waiting until the external system shows it",
	}
}

func notUpToDate(reason commonv1.ConditionReason) commonv1.Condition {
	return commonv1.Condition{Type: commonv1.TypeUpToDate, Status: "False", Reason: reason}
}

// breakingOff connects to a client that observes o, and fails to disconnect.
func breakingOff(o managed.ExternalObservation) managed.ReconcilerOption {
	return managed.WithExternalConnectDisconnecter(managed.ExternalConnectDisconnecterFns{
		ConnectFn:    connecting(observes(o)).Connect,
		DisconnectFn: func(context.Context) error { return errBoom },
	})
}

func updater(err error) managed.ReconcilerOption {
	return managed.WithCriticalAnnotationUpdater(managed.CriticalAnnotationUpdateFn(func(context.Context,
		client.Object) error {
		return err
	}))
}

// filledIn returns a client whose Observe fills something in.
func filledIn() managed.ExternalClientFns {
	return managed.ExternalClientFns{ObserveFn: func(_ context.Context,
		mg resource.Managed) (managed.ExternalObservation, error) {
		meta.AddAnnotations(mg, pairs("example.org/filled", "in"))
		o := found
		o.ResourceLateInitialized = true

		return o, nil
	}}
}

// TestSeedCases verifies that each case of the seed's own tests has the seed's result, or the difference for which
// its row gives a reason.
func TestSeedCases(t *testing.T) {
	if len(seedCases) != 28 {
		t.Errorf("%d cases, the seed has 28", len(seedCases))
	}
	for name, tc := range seedCases {
		t.Run(name, func(t *testing.T) {
			want := tc.seed
			if tc.ours != nil {
				want = *tc.ours
			}
			if d := diff(want, tc.run(t)); d != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, d)
			}
			if (tc.ours != nil) != (tc.why != "") || tc.ours != nil && diff(tc.seed, *tc.ours) == "" {
				t.Errorf("a difference is to have a reason, and a reason is to have a difference")
			}
			if why, ok := allowedToDiffer[name]; ok && why != tc.why {
				t.Errorf("differs because %q, which is allowed because %q", tc.why, why)
			}
		})
	}
	for name := range allowedToDiffer {
		if seedCases[name].ours == nil {
			t.Errorf("%s is listed as different, and is not", name)
		}
	}
}

// TestALateInitializationThatCannotBeStored is the seed's LateInitializeUpdateError with
// a client that fills something in.
func TestALateInitializationThatCannotBeStored(t *testing.T) {
	tc := seedCases["LateInitializeUpdateError"]
	tc.external = filledIn()
	want := tc.seed.with("example.org/filled", "in").failing("cannot update managed resource: boom")
	if d := diff(*want, tc.run(t)); d != "" {
		t.Errorf("-want, +got:\n%s", d)
	}
}

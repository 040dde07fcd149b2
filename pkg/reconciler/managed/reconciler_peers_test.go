package managed_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
)

// A fullResource is a managed resource with everything that one can have.
type fullResource struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Policies commonv1.ManagementPolicies    `json:"managementPolicies"`
		Secret   *commonv1.LocalSecretReference `json:"writeConnectionSecretToRef,omitempty"`
		Size     int                            `json:"size,omitempty"`
		Source   string                         `json:"source,omitempty"` // another fullResource, whose size it has
	} `json:"spec"`
	Status struct {
		commonv1.ConditionedStatus `json:",inline"`
		commonv1.ObservedStatus    `json:",inline"`
		commonv1.ConnectionStatus  `json:",inline"`
	} `json:"status"`
}

func (v *fullResource) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

func (v *fullResource) DeepCopyObject() runtime.Object {
	out := *v
	out.ObjectMeta = *v.ObjectMeta.DeepCopy()
	out.Spec.Policies = slices.Clone(v.Spec.Policies)
	if v.Spec.Secret != nil {
		out.Spec.Secret = &commonv1.LocalSecretReference{Name: v.Spec.Secret.Name}
	}
	v.Status.ConditionedStatus.DeepCopyInto(&out.Status.ConditionedStatus)

	return &out
}

func (v *fullResource) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return v.Status.GetCondition(t)
}
func (v *fullResource) SetConditions(c ...commonv1.Condition) { v.Status.SetConditions(c...) }
func (v *fullResource) GetManagementPolicies() commonv1.ManagementPolicies {
	return v.Spec.Policies
}

func (v *fullResource) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return v.Spec.Secret
}

func (v *fullResource) ResolveReferences(ctx context.Context, r client.Reader) error {
	if v.Spec.Source == "" {
		return nil
	}
	source := &fullResource{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: v.Spec.Source}, source); err != nil {
		return err
	}
	v.Spec.Size = source.Spec.Size

	return nil
}

func (v *fullResource) GetObservedGeneration() int64  { return v.Status.GetObservedGeneration() }
func (v *fullResource) SetObservedGeneration(g int64) { v.Status.SetObservedGeneration(g) }
func (v *fullResource) GetLastHandledReconcileAt() string {
	return v.Status.GetLastHandledReconcileAt()
}
func (v *fullResource) SetLastHandledReconcileAt(token string) {
	v.Status.SetLastHandledReconcileAt(token)
}
func (v *fullResource) GetConnectionDetailsHash() string     { return v.Status.GetConnectionDetailsHash() }
func (v *fullResource) SetConnectionDetailsHash(hash string) { v.Status.SetConnectionDetailsHash(hash) }

var (
	_ resource.Managed                  = &fullResource{}
	_ resource.Manageable               = &fullResource{}
	_ resource.GenerationObserver       = &fullResource{}
	_ resource.ReconcileRequestee       = &fullResource{}
	_ resource.ConnectionSecretWriterTo = &fullResource{}
	_ resource.ConnectionDetailsHasher  = &fullResource{}
	_ managed.Referencer                = &fullResource{}
)

// A peerCase is one pass over a fullResource, under a name that other runtimes have it
// under.
type peerCase struct {
	reason string

	object func(*fullResource)
	update error // the answer to every write of the object
	stored test.ObjectFn

	external managed.ExternalClient
	options  []managed.ReconcilerOption

	peer reportedState
	ours *reportedState // nil if that is the same
	why  string
}

func (c peerCase) run(t *testing.T) reportedState {
	t.Helper()

	return mock{
		of: &fullResource{}, update: c.update, stored: c.stored, external: c.external, options: c.options,
		fill: func(o client.Object) {
			if v, ok := o.(*fullResource); ok && c.object != nil {
				c.object(v)
			}
		},
	}.pass(t)
}

// NotApplicable are the names of peers' cases that make no sense here.
var notApplicable = map[string]string{
	"UnpublishConnectionDetailsDeletionPolicyOrphan": "Nothing is unpublished: the Secret is owned by the object " +
		"and goes with it.",
	"UnpublishConnectionDetailsDeletionPolicyDeleteError": "Nothing is unpublished: the Secret is owned by the object " +
		"and goes with it.",
	"ManagementPoliciesUsedButNotEnabled": "There is no feature flag: a kind has the field or it has not.",
}

// PeerNames are the cases of the table of crossplane-runtime's own tests.
var peerNames = slices.Concat(slices.Collect(maps.Keys(seedCases)), strings.Fields(`
	UnpublishConnectionDetailsDeletionPolicyOrphan
	InitializeError
	ExtraFinalizersDelayDelete
	ResolveReferencesError
	UnpublishConnectionDetailsDeletionPolicyDeleteError
	PublishObservationConnectionDetailsError
	PublishCreationConnectionDetailsError
	PublishUpdateConnectionDetailsError
	CreateSuccessfulAfterExternalCreatePendingAndDeterministicName
	ExternalResourceUpToDateWithMultiplePollIntervalHooks
	TypedReconcilerUpdateSuccessful
	ManagementPolicyReconciliationPausedSuccessful
	ManagementPoliciesUsedButNotEnabled
	ManagementPolicyNotSupported
	CustomManagementPolicyNotSupported
	ObserveOnlyPublishConnectionDetailsError
	ObserveOnlySuccessfulObserve
	ManagementPolicyAllCreateSuccessful
	ManagementPolicyCreateCreateSuccessful
	ManagementPolicyImmutable
	ManagementPolicyAllUpdateSuccessful
	ManagementPolicyUpdateUpdateSuccessful
	ManagementPolicySkipLateInitialize
	ObserveAndLateInitializePolicy
	ObserveUpdateAndLateInitializePolicy
`))

const (
	whyStage    = "The message says what could not be done."
	whyFinalize = "The condition names the finalizers that the deletion waits for. They are checked again after a time " +
		"that doubles up to the poll interval."
	whyNamed  = "With a name of our own choice nothing is marked, and the resource is looked at again in the same pass."
	whyReject = "A policy that is not understood has a reason of its own, and is looked at again after ten poll " +
		"intervals: the supported sets may be others after an upgrade."
	whyPause = "The reason says it; the event says which of the two ways to pause was used. It is looked at again " +
		"after ten poll intervals."
	whyBefore = "Details are published before the object becomes Ready. They come from observations: what Create and " +
		"Update would tell, the observation after them tells. What only Create knows it tells by TellConnectionDetails."
)

const (
	observe    = commonv1.ManagementActionObserve
	create     = commonv1.ManagementActionCreate
	update     = commonv1.ManagementActionUpdate
	remove     = commonv1.ManagementActionDelete
	initialize = commonv1.ManagementActionLateInitialize
	everything = commonv1.ManagementActionAll
)

func allowing(actions ...commonv1.ManagementAction) func(*fullResource) {
	return func(v *fullResource) { v.Spec.Policies = append(commonv1.ManagementPolicies{}, actions...) }
}

func leaving(actions ...commonv1.ManagementAction) func(*fullResource) {
	return func(v *fullResource) {
		allowing(actions...)(v)
		v.SetDeletionTimestamp(&deletion)
	}
}

// A scripted client observes one thing after the other, the last one for good.
// What is not to be called fails.
func scripted(calls string, o ...managed.ExternalObservation) managed.ExternalClientFns {
	may := func(call string) func(context.Context, resource.Managed) error {
		if strings.Contains(calls, call) {
			return answers(nil)
		}

		return answers(errors.Errorf("%s is not to be called", call))
	}

	return managed.ExternalClientFns{
		ObserveFn: func(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
			now := o[0]
			if len(o) > 1 {
				o = o[1:]
			}
			if v, ok := mg.(*fullResource); ok && now.ResourceLateInitialized {
				v.Spec.Size = 7
			}

			return now, nil
		},
		CreateFn: may("Create"), UpdateFn: may("Update"), DeleteFn: may("Delete"),
	}
}

// detailed returns an observation with connection details.
func detailed(o managed.ExternalObservation) managed.ExternalObservation {
	o.ConnectionDetails = managed.ConnectionDetails{"password": []byte("x")}

	return o
}

func initialized(o managed.ExternalObservation) managed.ExternalObservation {
	o.ResourceLateInitialized = true

	return o
}

var unpublishable = managed.WithConnectionPublisher(managed.ConnectionPublisherFn(
	func(context.Context, resource.Managed, managed.ConnectionDetails) (bool, error) {
		return false, errBoom
	}))

func matched() commonv1.Condition {
	return commonv1.Condition{Type: commonv1.TypeUpToDate, Status: "True", Reason: commonv1.ReasonObserveMatched}
}

func restricted() commonv1.Condition {
	c := notUpToDate(commonv1.ReasonUpdateRestricted)
	c.Message = "the external resource differs, and the management policy does not allow to change it"

	return c
}

func invalid(message string) commonv1.Condition {
	return commonv1.Condition{
		Type: commonv1.TypeSynced, Status: "False", Reason: commonv1.ReasonInvalidManagementPolicy,
		Message: message,
	}
}

// unconnectable returns the condition of a failed Connect.
func unconnectable() commonv1.Condition {
	return commonv1.Creating().WithMessage("the connection details are not published yet")
}

// creates is a case in which policies allow to create.
func creates(actions ...commonv1.ManagementAction) peerCase {
	return peerCase{
		reason: "policies that allow to create let create", object: allowing(actions...),
		external: scripted("Create", nowhere, found),
		options:  []managed.ReconcilerOption{authors(nil, nil), updater(nil)},
		peer: reportedState{
			Requeue: true, Conditions: conditions(commonv1.Creating(), commonv1.ReconcileSuccess()),
			Annotations: pairs(meta.AnnotationKeyExternalCreatePending, mark,
				meta.AnnotationKeyExternalCreateSucceeded, mark),
		},
		ours: &reportedState{
			RequeueAfter: seconds(60), Conditions: conditions(commonv1.ReconcileSuccess(), matched(),
				seen(attempt+"/succeeded")),
			Annotations: pairs(meta.AnnotationKeyExternalCreatePending, mark,
				meta.AnnotationKeyExternalCreateSucceeded, mark,
				meta.AnnotationKeyCreateAttempt, attempt+"/succeeded"),
		},
		why: whyMade,
	}
}

// seen returns the condition of an observed creation.
func seen(creation string) commonv1.Condition {
	return commonv1.Condition{
		Type: commonv1.TypeCreated, Status: "True", Reason: commonv1.ReasonObserved,
		Message: creation + ` of ""`,
	}
}

// updates is a case in which policies allow to update.
func updates(actions ...commonv1.ManagementAction) peerCase {
	return keeps(peerCase{
		reason: "policies that allow to update let update", object: allowing(actions...),
		external: scripted("Update", differs, found),
	}, matched())
}

// keeps is a case that ends with all being well, apart from what UpToDate says.
func keeps(c peerCase, upToDate commonv1.Condition) peerCase {
	c.options = append(c.options, authors(nil, nil))
	c.peer = reportedState{RequeueAfter: time.Minute, Conditions: conditions(commonv1.ReconcileSuccess())}
	c.ours = &reportedState{RequeueAfter: seconds(60), Conditions: conditions(commonv1.ReconcileSuccess(), upToDate)}
	c.why = whyShown + " " + whyPoll

	return c
}

// filled is the case of an object in which it is noted that a field was filled in.
func (c peerCase) filled() peerCase {
	c.ours.Annotations = map[string]string{meta.AnnotationKeyLateInitialized: "spec/size"}
	c.why += " Which fields were filled in is noted, so that who unsets one wins."

	return c
}

// fails is a case that ends in an error.
func fails(c peerCase, message string, also ...commonv1.Condition) peerCase {
	c.peer = reportedState{
		Requeue: true, Conditions: append(conditions(failed(errBoom)), c.peer.Conditions...),
		Annotations: c.peer.Annotations,
	}
	c.ours = &reportedState{
		Err: message, Conditions: append(conditions(failed(errors.New(message))), also...),
		Annotations: c.peer.Annotations,
	}
	c.why = whyError + " " + whyStage
	if slices.ContainsFunc(also, func(c commonv1.Condition) bool { return c.Equal(unconnectable()) }) {
		c.why += " " + whyBefore
	}

	return c
}

var peerCases = map[string]peerCase{
	"InitializeError": fails(peerCase{
		reason:   "an initializer that fails is told",
		external: scripted("", found),
		options: []managed.ReconcilerOption{managed.WithInitializers(managed.InitializerFn(
			func(context.Context, resource.Managed) error { return errBoom }))},
	}, "cannot initialize managed resource: boom"),
	"ExtraFinalizersDelayDelete": {
		reason: "what others still need is not deleted",
		object: func(v *fullResource) {
			v.SetDeletionTimestamp(&deletion)
			v.SetFinalizers([]string{managed.FinalizerName, "example.org/backup"})
		},
		external: scripted("", differs),
		peer:     reportedState{Requeue: true},
		ours: &reportedState{
			RequeueAfter: seconds(1),
			Conditions: conditions(commonv1.Deleting(), commonv1.ReconcileSuccess().WithMessage(
				"waiting for others to remove their finalizers: example.org/backup")),
		},
		why: whyFinalize,
	},
	"ResolveReferencesError": fails(peerCase{
		reason:   "a reference that cannot be resolved is told",
		external: scripted("", found),
		options: []managed.ReconcilerOption{managed.WithReferenceResolver(managed.ReferenceResolverFn(
			func(context.Context, resource.Managed) error { return errBoom }))},
	}, "cannot resolve references: boom"),
	"PublishObservationConnectionDetailsError": fails(peerCase{
		reason:   "details that cannot be published are told",
		external: scripted("", detailed(found)),
		options:  []managed.ReconcilerOption{authors(nil, nil), unpublishable},
	}, "cannot publish connection details: boom", unconnectable()),
	"PublishUpdateConnectionDetailsError": fails(peerCase{
		reason:   "details that cannot be published after an update are told",
		external: scripted("Update", differs, detailed(found)),
		options:  []managed.ReconcilerOption{authors(nil, nil), unpublishable},
	}, "cannot publish connection details: boom", unconnectable()),
	"PublishCreationConnectionDetailsError": publishesWhatWasCreated(),
	"CreateSuccessfulAfterExternalCreatePendingAndDeterministicName": {
		reason: "a creation under a name of our own choice may be repeated",
		object: func(v *fullResource) {
			meta.SetExternalCreatePending(v, moment)
			meta.SetExternalName(v, "data")
		},
		external: scripted("Create", nowhere, found),
		options:  []managed.ReconcilerOption{authors(nil, nil), managed.WithDeterministicExternalName(true)},
		peer: reportedState{
			Requeue: true, Conditions: conditions(commonv1.Creating(), commonv1.ReconcileSuccess()),
			Annotations: pairs(meta.AnnotationKeyExternalCreatePending, mark,
				meta.AnnotationKeyExternalCreateSucceeded, mark,
				meta.AnnotationKeyExternalName, "data"),
		},
		ours: &reportedState{
			RequeueAfter: seconds(60), Conditions: conditions(commonv1.ReconcileSuccess(), matched()),
			Annotations: pairs(meta.AnnotationKeyExternalCreatePending, mark, meta.AnnotationKeyExternalName, "data"),
		},
		why: whyNamed,
	},
	"ExternalResourceUpToDateWithMultiplePollIntervalHooks": {
		reason:   "the last hook wins",
		external: scripted("", found),
		options: []managed.ReconcilerOption{
			authors(nil, nil), managed.WithPollIntervalHook(hook(2)), managed.WithPollIntervalHook(hook(3)),
		},
		peer: reportedState{RequeueAfter: 3 * time.Minute, Conditions: conditions(commonv1.ReconcileSuccess())},
		ours: &reportedState{
			RequeueAfter: 3 * time.Minute,
			Conditions:   conditions(commonv1.ReconcileSuccess(), matched()),
		},
		why: whyShown,
	},
	"TypedReconcilerUpdateSuccessful": keeps(peerCase{
		reason: "a typed client is given its type",
		options: []managed.ReconcilerOption{managed.WithTypedExternalConnector(
			managed.TypedExternalConnectorFn[*fullResource](
				func(context.Context, *fullResource) (managed.TypedExternalClient[*fullResource], error) {
					return typed(), nil
				}))},
	}, matched()),
	"ManagementPolicyReconciliationPausedSuccessful": {
		reason: "policies that allow nothing pause", object: allowing(),
		peer: reportedState{Conditions: conditions(commonv1.ReconcilePaused().WithMessage(
			"(which ways to pause there are)"))},
		ours: &reportedState{RequeueAfter: seconds(600), Conditions: conditions(commonv1.ReconcilePaused())},
		why:  whyPause,
	},
	"ManagementPolicyNotSupported": {
		reason: "nothing can be done with what is not looked at", object: allowing(create),
		external: scripted("", nowhere),
		peer:     reportedState{Conditions: conditions(failed(errors.New("(what is not supported)")))},
		ours: &reportedState{
			RequeueAfter: seconds(600),
			Conditions: conditions(invalid(
				`spec.managementPolicies allows Create without Observe: nothing can be done with what is not looked at; ` +
					`add Observe, or "*"`)),
		},
		why: whyReject,
	},
	"CustomManagementPolicyNotSupported": {
		reason: "a provider may support fewer policies", object: allowing(everything), external: scripted("", nowhere),
		options: []managed.ReconcilerOption{managed.WithSupportedManagementPolicies(commonv1.ManagementPolicies{observe})},
		peer:    reportedState{Conditions: conditions(failed(errors.New("(what is not supported)")))},
		ours: &reportedState{
			RequeueAfter: seconds(600),
			Conditions: conditions(invalid("spec.managementPolicies [*] is not supported by this provider; supported are " +
				"[[Observe]]")),
		},
		why: whyReject,
	},
	"ObserveOnlyPublishConnectionDetailsError": fails(peerCase{
		reason: "details are published whoever made the resource", object: allowing(observe),
		external: scripted("", detailed(found)),
		options:  []managed.ReconcilerOption{authors(nil, nil), unpublishable},
	}, "cannot publish connection details: boom", unconnectable()),
	"ObserveOnlySuccessfulObserve": keeps(peerCase{
		reason: "what may only be looked at is looked at", object: allowing(observe), external: scripted("", found),
	}, matched()),
	"ManagementPolicyAllCreateSuccessful":    creates(everything),
	"ManagementPolicyCreateCreateSuccessful": creates(observe, create),
	"ManagementPolicyImmutable": keeps(peerCase{
		reason:   "what may not be updated is left as it is",
		object:   allowing(observe, initialize, create, remove),
		external: scripted("", differs),
	}, restricted()),
	"ManagementPolicyAllUpdateSuccessful":    updates(everything),
	"ManagementPolicyUpdateUpdateSuccessful": updates(observe, update),
	"ManagementPolicySkipLateInitialize": keeps(peerCase{
		reason: "what may not be filled in is not", object: allowing(observe, update, create, remove),
		external: scripted("", initialized(found)), update: errBoom,
	}, matched()),
	"ObserveAndLateInitializePolicy": keeps(peerCase{
		reason: "to look and to fill in is a policy", object: allowing(observe, initialize),
		external: scripted("", initialized(found)),
	}, matched()).filled(),
	"ObserveUpdateAndLateInitializePolicy": keeps(peerCase{
		reason: "to look, to update and to fill in is one, too", object: allowing(observe, update, initialize),
		external: scripted("Update", initialized(differs), initialized(found)),
	}, matched()).filled(),

	// The three of the seed's cases that other runtimes have with policies of the
	// spec.
	"RemoveFinalizerErrorDeletionPolicyOrphan": fails(peerCase{
		reason: "what may not be deleted is orphaned", object: leaving(observe, create, update),
		external: scripted("", differs),
		options:  []managed.ReconcilerOption{authors(nil, errBoom)},
		peer:     reportedState{Conditions: conditions(commonv1.Deleting())},
	}, "boom", commonv1.Deleting()),
	"DeleteSuccessfulDeletionPolicyOrphan": {
		reason: "what may not be deleted is orphaned", object: leaving(observe, create, update),
		external: scripted("", differs),
		options:  []managed.ReconcilerOption{authors(nil, nil)},
	},
	"ObserveOnlyResourceDoesNotExist": {
		reason: "what may only be looked at and is missing is no success", object: allowing(observe),
		external: scripted("", nowhere),
		peer: reportedState{
			RequeueAfter: time.Minute,
			Conditions:   conditions(failed(errors.New("external resource does not exist"), "observe failed")),
		},
		ours: &reportedState{
			RequeueAfter: seconds(60),
			Conditions: conditions(commonv1.Condition{
				Type: commonv1.TypeSynced, Status: "False", Reason: commonv1.ReasonExternalResourceMissing,
				Message: seedCases["ObserveOnlyResourceDoesNotExist"].ours.Conditions[0].Message,
			}),
		},
		why: whyMissing,
	},
}

func publishesWhatWasCreated() peerCase {
	c := fails(peerCase{
		reason:   "details that cannot be published after a creation are told",
		external: scripted("Create", nowhere, detailed(found)),
		options:  []managed.ReconcilerOption{authors(nil, nil), updater(nil), unpublishable},
		peer: reportedState{
			Conditions: conditions(commonv1.Creating()),
			Annotations: pairs(meta.AnnotationKeyExternalCreatePending, mark,
				meta.AnnotationKeyExternalCreateSucceeded, mark),
		},
	}, "cannot publish connection details: boom", unconnectable(), seen(attempt+"/succeeded"))
	ours := c.ours.with(meta.AnnotationKeyCreateAttempt, attempt+"/succeeded")
	c.ours = &ours

	return c
}

// typed returns a client that finds a difference and updates it.
func typed() managed.TypedExternalClient[*fullResource] {
	updated := false

	return managed.TypedExternalClientFns[*fullResource]{
		ObserveFn: func(context.Context, *fullResource) (managed.ExternalObservation, error) {
			return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: updated}, nil
		},
		UpdateFn: func(context.Context, *fullResource) error {
			updated = true

			return nil
		},
	}
}

// TestPeerCases verifies that each case of the tests of other runtimes has their result, or the difference for
// which its row gives a reason.
func TestPeerCases(t *testing.T) {
	for name, tc := range peerCases {
		t.Run(name, func(t *testing.T) {
			want := tc.peer
			if tc.ours != nil {
				want = *tc.ours
			}
			if d := diff(want, tc.run(t)); d != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, d)
			}
			if (tc.ours != nil) != (tc.why != "") || tc.ours != nil && diff(tc.peer, *tc.ours) == "" {
				t.Errorf("a difference is to have a reason, and a reason is to have a difference")
			}
		})
	}
}

// TestEveryPeerCaseIsSomewhere counts: each of the 53 cases is one of the seed's,
// one of these, or makes no sense here.
func TestEveryPeerCaseIsSomewhere(t *testing.T) {
	if n := len(peerNames); n != 53 {
		t.Errorf("%d names, want 53", n)
	}
	for _, name := range peerNames {
		_, seed := seedCases[name]
		_, peer := peerCases[name]
		_, not := notApplicable[name]
		if seed || peer == not {
			if !seed || not {
				t.Errorf("%s: case %t, not applicable %t", name, peer, not)
			}
		}
	}
	for name := range peerCases {
		if !slices.Contains(peerNames, name) {
			t.Errorf("%s is nobody's case", name)
		}
	}
}

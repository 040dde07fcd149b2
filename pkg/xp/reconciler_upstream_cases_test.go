package xp_test

import (
	"context"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

var (
	outdated = managed.ExternalObservation{ResourceExists: true}
	current  = managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}
	filled   = managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, ResourceLateInitialized: true}
)

const (
	pending   = meta.AnnotationKeyExternalCreatePending
	succeeded = meta.AnnotationKeyExternalCreateSucceeded
	refused   = meta.AnnotationKeyExternalCreateFailed
)

// What the suites give beside the client.
var (
	uninitialized = managed.WithInitializers()
	resolved      = managed.WithReferenceResolver(managed.ReferenceResolverFn(func(context.Context,
		resource.Managed) error {
		return nil
	}))
	finalizing    = finalizer(nil, nil)
	unpublishable = publisher(func(managed.ConnectionDetails) error { return errBoom })
)

func finalizer(add, remove error) managed.ReconcilerOption {
	return managed.WithFinalizer(resource.FinalizerFns{
		AddFinalizerFn:    func(context.Context, resource.Object) error { return add },
		RemoveFinalizerFn: func(context.Context, resource.Object) error { return remove },
	})
}

func publisher(publish func(managed.ConnectionDetails) error) managed.ReconcilerOption {
	return managed.WithConnectionPublisher(managed.ConnectionPublisherFn(
		func(_ context.Context, _ resource.Managed, details managed.ConnectionDetails) (bool, error) {
			return false, publish(details)
		}))
}

// unpublishing fails for details with a key.
func unpublishing(key string) managed.ReconcilerOption {
	return publisher(func(details managed.ConnectionDetails) error {
		if _, ok := details[key]; ok {
			return errBoom
		}

		return nil
	})
}

func updater(err error) managed.ReconcilerOption {
	return managed.WithCriticalAnnotationUpdater(managed.CriticalAnnotationUpdateFn(func(context.Context,
		client.Object) error {
		return err
	}))
}

func times(n time.Duration) managed.ReconcilerOption {
	return managed.WithPollIntervalHook(func(_ resource.Managed,
		interval time.Duration) time.Duration {
		return n * interval
	})
}

func options(o ...managed.ReconcilerOption) []managed.ReconcilerOption { return o }

// of returns conditions.
func of(c ...commonv1.Condition) []commonv1.Condition { return c }

func failed(prefix ...string) commonv1.Condition {
	err := errBoom
	for _, p := range prefix {
		err = errors.Wrap(err, p)
	}

	return commonv1.ReconcileError(err)
}

// want is what upstream has, whatever the priority.
func want(result, status, calls string) outcome {
	return outcome{Result: result, Status: status, Calls: calls}
}

// well is the outcome of a pass that found all as desired, or made it so.
func well(calls string) outcome {
	return want(after(time.Minute), describe(of(commonv1.ReconcileSuccess())), calls)
}

// creating is the outcome of a pass that created.
func creating() outcome {
	return want(requeue, describe(of(commonv1.Creating(), commonv1.ReconcileSuccess()), pending, succeeded),
		"Observe Create")
}

// erring is the outcome of a pass that failed.
func erring(calls string, synced commonv1.Condition) outcome {
	return want(requeue, describe(of(synced)), calls)
}

// while is the outcome of a pass with a condition beside Synced, and the annotations that it wrote.
func while(ready commonv1.Condition, calls string, synced commonv1.Condition, annotations ...string) outcome {
	return want(requeue, describe(of(ready, synced), annotations...), calls)
}

// sharedCases are the 28 cases that every suite has.
func sharedCases(kind upstreamKind, domain string) map[string]upstreamCase {
	lacking := want(requeue, describe(of(commonv1.ReconcileError(errors.Wrap(
		errors.New("external resource does not exist"), "observe failed")))), "Observe")
	if kind.generation != 0 { // crossplane-runtime polls
		lacking.Result = after(time.Minute)
	}

	incomplete := errors.New("cannot determine creation result - remove the " + domain +
		"/external-create-pending annotation if it is safe to proceed")
	paused := annotated(meta.AnnotationKeyReconciliationPaused, "true")

	return map[string]upstreamCase{
		"GetManagedError": {get: errBoom, want: want(failing("cannot get managed resource: boom"), unwritten, "")},
		"ManagedNotFound": {get: kerrors.NewNotFound(schema.GroupResource{}, ""), want: want(nothing, unwritten, "")},
		"RemoveFinalizerErrorDeletionPolicyOrphan": {
			object: all(deleted, kind.orphan), options: options(finalizer(nil, errBoom)),
			want: while(commonv1.Deleting(), "", failed()),
		},
		"DeleteSuccessfulDeletionPolicyOrphan": {
			object: all(deleted, kind.orphan), options: options(finalizing), want: want(nothing, unwritten, ""),
		},
		"ExternalCreatePending": {
			object: func(o object) { meta.SetExternalCreatePending(o, moment) }, options: options(uninitialized),
			want: want(nothing, describe(of(commonv1.Creating(), commonv1.ReconcileError(incomplete))), ""),
		},
		"ExternalConnectError": {
			client: clientCalls{connect: errBoom}, options: options(uninitialized),
			want: erring("", failed("connect failed")),
		},
		"ExternalDisconnectError": {
			client:  clientCalls{observe: current, disconnect: errBoom},
			options: options(uninitialized, resolved, finalizing), want: well("Observe"),
		},
		"ExternalObserveError": {
			client: clientCalls{observeErr: errBoom}, options: options(uninitialized),
			want: erring("Observe", failed("observe failed")),
		},
		"CreationGracePeriod": {
			object:  func(o object) { meta.SetExternalCreateSucceeded(o, moment) },
			options: options(uninitialized, managed.WithCreationGracePeriod(time.Minute)),
			want:    want(requeue, unwritten, "Observe"),
		},
		"ExternalDeleteError": {
			object: deleted, client: clientCalls{observe: outdated, remove: &answer{err: errBoom}},
			options: options(uninitialized, resolved),
			want:    while(commonv1.Deleting(), "Observe Delete", failed("delete failed")),
		},
		"ExternalDeleteSuccessful": {
			object: deleted, client: clientCalls{observe: outdated, remove: &answer{}},
			options: options(uninitialized, resolved),
			want:    while(commonv1.Deleting(), "Observe Delete", commonv1.ReconcileSuccess()),
		},
		"RemoveFinalizerErrorDeletionPolicyDelete": {
			object: deleted, options: options(uninitialized, resolved, finalizer(nil, errBoom)),
			want: while(commonv1.Deleting(), "Observe", failed()),
		},
		"DeleteSuccessfulDeletionPolicyDelete": {
			object: deleted, options: options(uninitialized, resolved, finalizing),
			want: want(nothing, unwritten, "Observe"),
		},
		"AddFinalizerError": {
			client:  clientCalls{create: &answer{}},
			options: options(uninitialized, resolved, finalizer(errBoom, nil)), want: erring("Observe", failed()),
		},
		"UpdateCreatePendingError": {
			update: errBoom, client: clientCalls{create: &answer{err: errBoom}},
			options: options(uninitialized, resolved, finalizing),
			want:    while(commonv1.Creating(), "Observe", failed("cannot update managed resource"), pending),
		},
		"CreateExternalError": {
			client:  clientCalls{create: &answer{err: errBoom}},
			options: options(uninitialized, resolved, finalizing, updater(errBoom)),
			want:    while(commonv1.Creating(), "Observe Create", failed("create failed"), pending, refused),
		},
		"UpdateCriticalAnnotationsError": {
			client:  clientCalls{create: &answer{}},
			options: options(uninitialized, resolved, finalizing, updater(errBoom)),
			want: while(commonv1.Creating(), "Observe Create", failed("cannot update managed resource annotations"),
				pending, succeeded),
		},
		"CreateSuccessful": {
			client:  clientCalls{create: &answer{}},
			options: options(uninitialized, resolved, finalizing, updater(nil)), want: creating(),
		},
		"LateInitializeUpdateError": {
			update: errBoom, client: clientCalls{observe: filled},
			options: options(uninitialized, resolved, finalizing),
			want:    erring("Observe", failed("cannot update managed resource")),
		},
		"ExternalResourceUpToDate": {
			client: clientCalls{observe: current}, options: options(uninitialized, resolved, finalizing),
			want: well("Observe"),
		},
		"UpdateExternalError": {
			client:  clientCalls{observe: outdated, update: &answer{err: errBoom}},
			options: options(uninitialized, resolved, finalizing),
			want:    erring("Observe Update", failed("update failed")),
		},
		"UpdateSuccessful": {
			client:  clientCalls{observe: outdated, update: &answer{}},
			options: options(uninitialized, resolved, finalizing), want: well("Observe Update"),
		},
		"ReconciliationPausedSuccessful": {
			object: paused, want: want(nothing, describe(of(commonv1.ReconcilePaused())), ""),
		},
		"ReconciliationResumes": {
			object: all(annotated(meta.AnnotationKeyReconciliationPaused, "false"),
				func(o object) { o.SetConditions(commonv1.ReconcilePaused()) }),
			client: clientCalls{observe: current}, options: options(uninitialized, resolved, finalizing),
			want: well("Observe"),
		},
		"ReconciliationPausedError": {
			object: paused, status: errBoom,
			want: want(failing("cannot update managed resource status: boom"), uncompared, ""),
		},
		"ExternalResourceUpToDateWithJitter": {
			client:  clientCalls{observe: current},
			options: options(uninitialized, resolved, finalizing, managed.WithPollJitterHook(time.Second)),
			want:    want(after(time.Minute), uncompared, "Observe"), near: time.Second,
		},
		"ExternalResourceUpToDateWithPollIntervalHook": {
			client: clientCalls{observe: current}, options: options(uninitialized, resolved, finalizing, times(2)),
			want: want(after(2*time.Minute), uncompared, "Observe"),
		},
		"ObserveOnlyResourceDoesNotExist": {object: kind.observe, options: options(uninitialized), want: lacking},
	}
}

// crossplaneCases are the 25 cases that only crossplane-runtime has.
func crossplaneCases(kind upstreamKind) map[string]upstreamCase {
	const (
		observe    = commonv1.ManagementActionObserve
		create     = commonv1.ManagementActionCreate
		update     = commonv1.ManagementActionUpdate
		remove     = commonv1.ManagementActionDelete
		initialize = commonv1.ManagementActionLateInitialize
		everything = commonv1.ManagementActionAll
	)

	updating := clientCalls{observe: outdated, update: &answer{}}
	unsupported := want(nothing, describe(of(commonv1.ReconcileError(errors.New("(what is not supported)")))), "")

	return map[string]upstreamCase{
		"UnpublishConnectionDetailsDeletionPolicyOrphan": {
			object: all(deleted, kind.orphan), want: while(commonv1.Deleting(), "", failed()),
		},
		"InitializeError": {
			options: options(managed.WithInitializers(managed.InitializerFn(func(context.Context,
				resource.Managed) error {
				return errBoom
			}))),
			want: erring("", failed()),
		},
		"ExtraFinalizersDelayDelete": {
			object: all(deleted, func(o object) {
				o.SetFinalizers([]string{managed.FinalizerName,
					"example.org/other"})
			}),
			client: clientCalls{observe: outdated}, options: options(uninitialized, resolved),
			want: want(requeue, unwritten, "Observe"),
		},
		"ResolveReferencesError": {
			options: options(uninitialized, managed.WithReferenceResolver(managed.ReferenceResolverFn(
				func(context.Context, resource.Managed) error { return errBoom }))),
			want: erring("", failed()),
		},
		"UnpublishConnectionDetailsDeletionPolicyDeleteError": {
			object: deleted, options: options(uninitialized, resolved),
			want: while(commonv1.Deleting(), "Observe", failed()),
		},
		"PublishObservationConnectionDetailsError": {
			client: clientCalls{create: &answer{}}, options: options(uninitialized, resolved, unpublishable),
			want: erring("Observe", failed()),
		},
		"PublishCreationConnectionDetailsError": {
			client:  clientCalls{create: &answer{details: managed.ConnectionDetails{"create": {}}}},
			options: options(uninitialized, resolved, updater(nil), unpublishing("create"), finalizing),
			want:    while(commonv1.Creating(), "Observe Create", failed(), pending, succeeded),
		},
		"CreateSuccessfulAfterExternalCreatePendingAndDeterministicName": {
			object: func(o object) { meta.SetExternalCreatePending(o, moment) }, client: clientCalls{create: &answer{}},
			options: options(uninitialized, resolved, updater(nil), finalizing,
				managed.WithDeterministicExternalName(true)),
			want: want(requeue, describe(of(commonv1.Creating(), commonv1.ReconcileSuccess()), succeeded),
				"Observe Create"),
		},
		"ExternalResourceUpToDateWithMultiplePollIntervalHooks": {
			client: clientCalls{observe: current},
			options: options(uninitialized, resolved, finalizing, managed.WithPollJitterHook(time.Second), times(2),
				times(3)),
			want: want(after(3*time.Minute), uncompared, "Observe"),
		},
		"PublishUpdateConnectionDetailsError": {
			client:  clientCalls{observe: outdated, update: &answer{details: managed.ConnectionDetails{"update": {}}}},
			options: options(uninitialized, resolved, unpublishing("update"), finalizing),
			want:    erring("Observe Update", failed()),
		},
		"TypedReconcilerUpdateSuccessful": {
			client: clientCalls{observe: outdated, update: &answer{}}, typed: true,
			options: options(uninitialized, resolved, finalizing), want: well("Observe Update"),
		},
		"ManagementPolicyReconciliationPausedSuccessful": {
			object: allowing(), options: options(uninitialized, finalizing),
			want: want(nothing, describe(of(commonv1.ReconcilePaused())), ""),
		},
		"ManagementPoliciesUsedButNotEnabled": {object: allowing(create), want: unsupported},
		"ManagementPolicyNotSupported":        {object: allowing(create), want: unsupported},
		"CustomManagementPolicyNotSupported": {
			object: allowing(everything), options: options(
				managed.WithSupportedManagementPolicies(commonv1.ManagementPolicies{observe})),
			want: unsupported,
		},
		"ObserveOnlyPublishConnectionDetailsError": {
			object: kind.observe, client: clientCalls{observe: outdated},
			options: options(uninitialized, unpublishable), want: erring("Observe", failed()),
		},
		"ObserveOnlySuccessfulObserve": {
			object: kind.observe, client: clientCalls{observe: outdated},
			options: options(uninitialized, unpublishing("none"), finalizing), want: well("Observe"),
		},
		"ManagementPolicyAllCreateSuccessful": {
			object: allowing(everything), client: clientCalls{create: &answer{}},
			options: options(uninitialized, resolved, updater(nil), finalizing), want: creating(),
		},
		"ManagementPolicyCreateCreateSuccessful": {
			object: allowing(everything), client: clientCalls{create: &answer{}},
			options: options(uninitialized, resolved, updater(nil), finalizing), want: creating(),
		},
		"ManagementPolicyImmutable": {
			object: allowing(observe, initialize, create, remove), update: errBoom,
			client:  clientCalls{observe: outdated, update: &answer{err: errBoom}},
			options: options(uninitialized, resolved, finalizing), want: well("Observe"),
		},
		"ManagementPolicyAllUpdateSuccessful": {
			object: allowing(everything), client: updating, options: options(uninitialized, resolved, finalizing),
			want: well("Observe Update"),
		},
		"ManagementPolicyUpdateUpdateSuccessful": {
			object: allowing(everything), client: updating, options: options(uninitialized, resolved, finalizing),
			want: well("Observe Update"),
		},
		"ManagementPolicySkipLateInitialize": {
			object: allowing(observe, update, create, remove), update: errBoom, client: clientCalls{observe: filled},
			options: options(uninitialized, resolved, finalizing), want: well("Observe"),
		},
		"ObserveAndLateInitializePolicy": {
			object: allowing(observe, initialize), want: want(after(time.Minute), uncompared, "Observe"),
		},
		"ObserveUpdateAndLateInitializePolicy": {
			object: allowing(observe, update, initialize), client: clientCalls{update: &answer{}},
			want: want(after(time.Minute), uncompared, "Observe Update"),
		},
	}
}

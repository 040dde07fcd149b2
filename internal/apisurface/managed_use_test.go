package apisurface

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
	"github.com/moorage-dev/moorage/pkg/reconciler"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test"
)

// A program that uses every name of managed.golden, as a provider would. If it does not
// compile, neither does such a provider. TestEveryNameIsUsed checks that no name is left out.

// Package commonv1.

var _ commonv1.ConditionType = commonv1.Condition{}.Type
var _ metav1.ConditionStatus = commonv1.Condition{}.Status
var _ metav1.Time = commonv1.Condition{}.LastTransitionTime
var _ commonv1.ConditionReason = commonv1.Condition{}.Reason
var _ string = commonv1.Condition{}.Message
var _ func() commonv1.Condition = commonv1.Available
var _ func() commonv1.Condition = commonv1.Creating
var _ func() commonv1.Condition = commonv1.Deleting
var _ func(error) commonv1.Condition = commonv1.ReconcileError
var _ func() commonv1.Condition = commonv1.ReconcilePaused
var _ func() commonv1.Condition = commonv1.ReconcileSuccess
var _ func() commonv1.Condition = commonv1.Unavailable
var _ func(*commonv1.Condition) *commonv1.Condition = (*commonv1.Condition).DeepCopy
var _ func(*commonv1.Condition, *commonv1.Condition) = (*commonv1.Condition).DeepCopyInto
var _ func(commonv1.Condition, commonv1.Condition) bool = commonv1.Condition.Equal
var _ func(commonv1.Condition, string) commonv1.Condition = commonv1.Condition.WithMessage
var _ string = string(commonv1.ConditionReason(""))
var _ string = string(commonv1.ConditionType(""))
var _ []commonv1.Condition = commonv1.ConditionedStatus{}.Conditions
var _ func(...commonv1.Condition) *commonv1.ConditionedStatus = commonv1.NewConditionedStatus
var _ func(*commonv1.ConditionedStatus) *commonv1.ConditionedStatus = (*commonv1.ConditionedStatus).DeepCopy
var _ func(*commonv1.ConditionedStatus, *commonv1.ConditionedStatus) = (*commonv1.ConditionedStatus).DeepCopyInto
var _ func(*commonv1.ConditionedStatus, *commonv1.ConditionedStatus) bool = (*commonv1.ConditionedStatus).Equal
var _ func(
	*commonv1.ConditionedStatus, commonv1.ConditionType,
) commonv1.Condition = (*commonv1.ConditionedStatus).GetCondition
var _ func(*commonv1.ConditionedStatus, ...commonv1.Condition) = (*commonv1.ConditionedStatus).SetConditions
var _ commonv1.Reference = commonv1.ConfigMapKeySelector{}.Reference
var _ string = commonv1.ConfigMapKeySelector{}.Key
var _ func(*commonv1.ConfigMapKeySelector) *commonv1.ConfigMapKeySelector = (*commonv1.ConfigMapKeySelector).DeepCopy
var _ func(
	*commonv1.ConfigMapKeySelector, *commonv1.ConfigMapKeySelector,
) = (*commonv1.ConfigMapKeySelector).DeepCopyInto
var _ *commonv1.EnvSelector = commonv1.CredentialSelectors{}.Env
var _ *commonv1.SecretKeySelector = commonv1.CredentialSelectors{}.SecretRef
var _ func(*commonv1.CredentialSelectors) *commonv1.CredentialSelectors = (*commonv1.CredentialSelectors).DeepCopy
var _ func(*commonv1.CredentialSelectors, *commonv1.CredentialSelectors) = (*commonv1.CredentialSelectors).DeepCopyInto
var _ string = commonv1.EnvSelector{}.Name
var _ func(*commonv1.EnvSelector) *commonv1.EnvSelector = (*commonv1.EnvSelector).DeepCopy
var _ func(*commonv1.EnvSelector, *commonv1.EnvSelector) = (*commonv1.EnvSelector).DeepCopyInto
var _ string = commonv1.Reference{}.Name
var _ string = commonv1.Reference{}.Namespace
var _ func(*commonv1.Reference) *commonv1.Reference = (*commonv1.Reference).DeepCopy
var _ func(*commonv1.Reference, *commonv1.Reference) = (*commonv1.Reference).DeepCopyInto
var _ commonv1.Reference = commonv1.SecretKeySelector{}.Reference
var _ string = commonv1.SecretKeySelector{}.Key
var _ func(*commonv1.SecretKeySelector) *commonv1.SecretKeySelector = (*commonv1.SecretKeySelector).DeepCopy
var _ func(*commonv1.SecretKeySelector, *commonv1.SecretKeySelector) = (*commonv1.SecretKeySelector).DeepCopyInto

// Package controller.

var _ logging.Logger = controller.Options{}.Logger
var _ workqueue.RateLimiter = controller.Options{}.GlobalRateLimiter //nolint:staticcheck // What providers know it as.
var _ time.Duration = controller.Options{}.PollInterval
var _ int = controller.Options{}.MaxConcurrentReconciles
var _ func() controller.Options = controller.DefaultOptions
var _ func(controller.Options) ctrlcontroller.Options = controller.Options.ForControllerRuntime

// Package errors.

var _ func(error, any) bool = errors.As
var _ func(error) error = errors.Cause
var _ func(string, ...any) error = errors.Errorf
var _ func(error, error) bool = errors.Is
var _ func(string) error = errors.New
var _ func(error) error = errors.Unwrap
var _ func(error, string) error = errors.WithMessage
var _ func(error, string, ...any) error = errors.WithMessagef
var _ func(error, string) error = errors.Wrap
var _ func(error, string, ...any) error = errors.Wrapf

// Package event.

var _ = event.APIRecorder{}
var _ func(record.EventRecorder) *event.APIRecorder = event.NewAPIRecorder
var _ func(*event.APIRecorder, runtime.Object, event.Event) = (*event.APIRecorder).Event
var _ func(*event.APIRecorder, ...string) event.Recorder = (*event.APIRecorder).WithAnnotations
var _ event.Type = event.Event{}.Type
var _ event.Reason = event.Event{}.Reason
var _ string = event.Event{}.Message
var _ map[string]string = event.Event{}.Annotations
var _ func(event.Reason, string, ...string) event.Event = event.Normal
var _ func(event.Reason, error, ...string) event.Event = event.Warning
var _ = event.NopRecorder{}
var _ func() *event.NopRecorder = event.NewNopRecorder
var _ func(*event.NopRecorder, runtime.Object, event.Event) = (*event.NopRecorder).Event
var _ func(*event.NopRecorder, ...string) event.Recorder = (*event.NopRecorder).WithAnnotations
var _ string = string(event.Reason(""))
var _ event.Recorder = interface {
	Event(runtime.Object, event.Event)
	WithAnnotations(...string) event.Recorder
}(nil)
var _ interface {
	Event(runtime.Object, event.Event)
	WithAnnotations(...string) event.Recorder
} = event.Recorder(nil)
var _ string = string(event.Type(""))

// Package logging.

var _ logging.Logger = interface {
	Info(string, ...any)
	Debug(string, ...any)
	WithValues(...any) logging.Logger
}(nil)
var _ interface {
	Info(string, ...any)
	Debug(string, ...any)
	WithValues(...any) logging.Logger
} = logging.Logger(nil)
var _ func(logr.Logger) logging.Logger = logging.NewLogrLogger
var _ func() logging.Logger = logging.NewNopLogger

// Package meta.

var _ func(metav1.Object, map[string]string) = meta.AddAnnotations
var _ func(metav1.Object, string) = meta.AddFinalizer
var _ func(metav1.Object, map[string]string) = meta.AddLabels
var _ func(metav1.Object) bool = meta.ExternalCreateIncomplete
var _ func(metav1.Object, time.Duration) bool = meta.ExternalCreateSucceededDuring
var _ func(metav1.Object, string) bool = meta.FinalizerExists
var _ func(metav1.Object) time.Time = meta.GetExternalCreateFailed
var _ func(metav1.Object) time.Time = meta.GetExternalCreatePending
var _ func(metav1.Object) time.Time = meta.GetExternalCreateSucceeded
var _ func(metav1.Object) string = meta.GetExternalName
var _ func(metav1.Object, string) bool = meta.IsActionAllowed
var _ func(metav1.Object) bool = meta.IsPaused
var _ func(metav1.Object) bool = meta.IsVerbose
var _ func(metav1.Object, ...string) = meta.RemoveAnnotations
var _ func(metav1.Object, string) = meta.RemoveFinalizer
var _ func(metav1.Object, ...string) = meta.RemoveLabels
var _ func(metav1.Object, time.Time) = meta.SetExternalCreateFailed
var _ func(metav1.Object, time.Time) = meta.SetExternalCreatePending
var _ func(metav1.Object, time.Time) = meta.SetExternalCreateSucceeded
var _ func(metav1.Object, string) = meta.SetExternalName
var _ func(metav1.Object) bool = meta.ShouldCreate
var _ func(metav1.Object) bool = meta.ShouldDelete
var _ func(metav1.Object) bool = meta.ShouldOnlyObserve
var _ func(metav1.Object) bool = meta.ShouldUpdate
var _ func(metav1.Object) bool = meta.WasCreated
var _ func(metav1.Object) bool = meta.WasDeleted

// Package ratelimiter.

var _ func(*rest.Config, int) *rest.Config = ratelimiter.LimitRESTConfig
var _ func() workqueue.TypedRateLimiter[any] = ratelimiter.NewController
var _ func(int) *workqueue.TypedBucketRateLimiter[any] = ratelimiter.NewGlobal
var _ func(time.Duration, time.Duration) workqueue.TypedRateLimiter[any] = ratelimiter.NewGlobalExponential
var _ = ratelimiter.Reconciler{}
var _ func(string, reconcile.Reconciler, workqueue.TypedRateLimiter[any]) *ratelimiter.Reconciler = ratelimiter.New
var _ func(*ratelimiter.Reconciler, context.Context,
	reconcile.Request) (reconcile.Result, error) = (*ratelimiter.Reconciler).Reconcile

// Package reconciler.

var _ func(string) string = reconciler.ControllerName
var _ reconciler.CriticalAnnotationUpdateFn = (func(context.Context, client.Object) error)(nil)
var _ func(reconciler.CriticalAnnotationUpdateFn, context.Context,
	client.Object) error = reconciler.CriticalAnnotationUpdateFn.UpdateCriticalAnnotations
var _ reconciler.CriticalAnnotationUpdater = interface {
	UpdateCriticalAnnotations(context.Context, client.Object) error
}(nil)
var _ interface {
	UpdateCriticalAnnotations(context.Context, client.Object) error
} = reconciler.CriticalAnnotationUpdater(nil)
var _ reconciler.ExternalClient = interface {
	Observe(context.Context, resource.Managed) (reconciler.ExternalObservation, error)
	Create(context.Context, resource.Managed) error
	Update(context.Context, resource.Managed) error
	Delete(context.Context, resource.Managed) error
}(nil)
var _ interface {
	Observe(context.Context, resource.Managed) (reconciler.ExternalObservation, error)
	Create(context.Context, resource.Managed) error
	Update(context.Context, resource.Managed) error
	Delete(context.Context, resource.Managed) error
} = reconciler.ExternalClient(nil)
var _ func(
	context.Context, resource.Managed,
) (reconciler.ExternalObservation, error) = reconciler.ExternalClientFns{}.ObserveFn
var _ func(context.Context, resource.Managed) error = reconciler.ExternalClientFns{}.CreateFn
var _ func(context.Context, resource.Managed) error = reconciler.ExternalClientFns{}.UpdateFn
var _ func(context.Context, resource.Managed) error = reconciler.ExternalClientFns{}.DeleteFn
var _ func(reconciler.ExternalClientFns, context.Context, resource.Managed) error = reconciler.ExternalClientFns.Create
var _ func(reconciler.ExternalClientFns, context.Context, resource.Managed) error = reconciler.ExternalClientFns.Delete
var _ func(reconciler.ExternalClientFns, context.Context,
	resource.Managed) (reconciler.ExternalObservation, error) = reconciler.ExternalClientFns.Observe
var _ func(reconciler.ExternalClientFns, context.Context, resource.Managed) error = reconciler.ExternalClientFns.Update
var _ reconciler.ExternalConnectDisconnecter = interface {
	reconciler.ExternalConnecter
	reconciler.ExternalDisconnecter
}(nil)
var _ interface {
	reconciler.ExternalConnecter
	reconciler.ExternalDisconnecter
} = reconciler.ExternalConnectDisconnecter(nil)
var _ func(reconciler.ExternalConnecter) reconciler.ExternalConnectDisconnecter = reconciler.NewNopDisconnecter
var _ func(
	context.Context, resource.Managed,
) (reconciler.ExternalClient, error) = reconciler.ExternalConnectDisconnecterFns{}.ConnectFn
var _ func(context.Context) error = reconciler.ExternalConnectDisconnecterFns{}.DisconnectFn
var _ func(reconciler.ExternalConnectDisconnecterFns, context.Context,
	resource.Managed) (reconciler.ExternalClient, error) = reconciler.ExternalConnectDisconnecterFns.Connect
var _ func(reconciler.ExternalConnectDisconnecterFns,
	context.Context) error = reconciler.ExternalConnectDisconnecterFns.Disconnect
var _ reconciler.ExternalConnecter = interface {
	Connect(context.Context, resource.Managed) (reconciler.ExternalClient, error)
}(nil)
var _ interface {
	Connect(context.Context, resource.Managed) (reconciler.ExternalClient, error)
} = reconciler.ExternalConnecter(nil)
var _ reconciler.ExternalConnectorFn = (func(context.Context, resource.Managed) (reconciler.ExternalClient, error))(nil)
var _ func(reconciler.ExternalConnectorFn, context.Context,
	resource.Managed) (reconciler.ExternalClient, error) = reconciler.ExternalConnectorFn.Connect
var _ reconciler.ExternalDisconnecter = interface{ Disconnect(context.Context) error }(nil)
var _ interface{ Disconnect(context.Context) error } = reconciler.ExternalDisconnecter(nil)
var _ reconciler.ExternalDisconnectorFn = (func(context.Context) error)(nil)
var _ func(reconciler.ExternalDisconnectorFn, context.Context) error = reconciler.ExternalDisconnectorFn.Disconnect
var _ bool = reconciler.ExternalObservation{}.ResourceExists
var _ bool = reconciler.ExternalObservation{}.ResourceUpToDate
var _ bool = reconciler.ExternalObservation{}.ResourceLateInitialized
var _ string = reconciler.ExternalObservation{}.Diff
var _ = reconciler.NopClient{}
var _ func(*reconciler.NopClient, context.Context, resource.Managed) error = (*reconciler.NopClient).Create
var _ func(*reconciler.NopClient, context.Context, resource.Managed) error = (*reconciler.NopClient).Delete
var _ func(*reconciler.NopClient, context.Context,
	resource.Managed) (reconciler.ExternalObservation, error) = (*reconciler.NopClient).Observe
var _ func(*reconciler.NopClient, context.Context, resource.Managed) error = (*reconciler.NopClient).Update
var _ = reconciler.NopConnecter{}
var _ func(*reconciler.NopConnecter, context.Context,
	resource.Managed) (reconciler.ExternalClient, error) = (*reconciler.NopConnecter).Connect
var _ = reconciler.NopDisconnecter{}
var _ func(*reconciler.NopDisconnecter, context.Context,
	resource.Managed) (reconciler.ExternalClient, error) = (*reconciler.NopDisconnecter).Connect
var _ func(*reconciler.NopDisconnecter, context.Context) error = (*reconciler.NopDisconnecter).Disconnect
var _ reconciler.PollIntervalHook = (func(resource.Managed, time.Duration) time.Duration)(nil)
var _ = reconciler.Reconciler{}
var _ func(manager.Manager, resource.ManagedKind,
	...reconciler.ReconcilerOption) *reconciler.Reconciler = reconciler.NewReconciler
var _ func(*reconciler.Reconciler, context.Context,
	reconcile.Request) (reconcile.Result, error) = (*reconciler.Reconciler).Reconcile
var _ reconciler.ReconcilerOption = (func(*reconciler.Reconciler))(nil)
var _ func(time.Duration) reconciler.ReconcilerOption = reconciler.WithCreationGracePeriod
var _ func(reconciler.CriticalAnnotationUpdater) reconciler.ReconcilerOption = reconciler.WithCriticalAnnotationUpdater
var _ func(
	reconciler.ExternalConnectDisconnecter,
) reconciler.ReconcilerOption = reconciler.WithExternalConnectDisconnecter
var _ func(reconciler.ExternalConnecter) reconciler.ReconcilerOption = reconciler.WithExternalConnecter
var _ func(resource.Finalizer) reconciler.ReconcilerOption = reconciler.WithFinalizer
var _ func(logging.Logger) reconciler.ReconcilerOption = reconciler.WithLogger
var _ func(time.Duration) reconciler.ReconcilerOption = reconciler.WithPollInterval
var _ func(reconciler.PollIntervalHook) reconciler.ReconcilerOption = reconciler.WithPollIntervalHook
var _ func(time.Duration) reconciler.ReconcilerOption = reconciler.WithPollJitterHook
var _ func(event.Recorder) reconciler.ReconcilerOption = reconciler.WithRecorder
var _ func(time.Duration) reconciler.ReconcilerOption = reconciler.WithTimeout
var _ = reconciler.RetryingCriticalAnnotationUpdater{}
var _ func(
	client.Client,
) *reconciler.RetryingCriticalAnnotationUpdater = reconciler.NewRetryingCriticalAnnotationUpdater
var _ func(*reconciler.RetryingCriticalAnnotationUpdater, context.Context,
	client.Object) error = (*reconciler.RetryingCriticalAnnotationUpdater).UpdateCriticalAnnotations

// Package resource.

var _ func(context.Context, client.Client, *commonv1.ConfigMapKeySelector) (string, error) = resource.GetConfigMapValue
var _ func(context.Context, client.Client, *commonv1.SecretKeySelector) (string, error) = resource.GetSecret
var _ func(resource.ErrorIs, error) error = resource.Ignore
var _ func(error, ...resource.ErrorIs) error = resource.IgnoreAny
var _ func(error) error = resource.IgnoreNotFound
var _ func(error) bool = resource.IsAPIError
var _ func(error) bool = resource.IsAPIErrorWrapped
var _ func(error) bool = resource.IsMissingReference
var _ func(schema.GroupVersionKind, runtime.ObjectCreater) runtime.Object = resource.MustCreateObject
var _ = resource.APIFinalizer{}
var _ func(client.Client, string) *resource.APIFinalizer = resource.NewAPIFinalizer
var _ func(*resource.APIFinalizer, context.Context, resource.Object) error = (*resource.APIFinalizer).AddFinalizer
var _ func(*resource.APIFinalizer, context.Context, resource.Object) error = (*resource.APIFinalizer).RemoveFinalizer
var _ resource.AttributeReferencer = interface {
	GetStatus(context.Context, resource.CanReference, client.Reader) ([]resource.ReferenceStatus, error)
	Build(context.Context, resource.CanReference, client.Reader) (string, error)
	Assign(resource.CanReference, string) error
}(nil)
var _ interface {
	GetStatus(context.Context, resource.CanReference, client.Reader) ([]resource.ReferenceStatus, error)
	Build(context.Context, resource.CanReference, client.Reader) (string, error)
	Assign(resource.CanReference, string) error
} = resource.AttributeReferencer(nil)
var _ runtime.Object = resource.CanReference(nil)
var _ resource.Conditioned = interface {
	SetConditions(...commonv1.Condition)
	GetCondition(commonv1.ConditionType) commonv1.Condition
}(nil)
var _ interface {
	SetConditions(...commonv1.Condition)
	GetCondition(commonv1.ConditionType) commonv1.Condition
} = resource.Conditioned(nil)
var _ []commonv1.Condition = resource.Conditions(nil)
var _ func(resource.Conditions) resource.Conditions = resource.Conditions.DeepCopy
var _ func(*resource.Conditions, *resource.Conditions) = (*resource.Conditions).JoinConditions
var _ func(*resource.Conditions, commonv1.ConditionType) = (*resource.Conditions).RemoveCondition
var _ func(*resource.Conditions, commonv1.Condition) = (*resource.Conditions).UpsertCondition
var _ func(*resource.Conditions, commonv1.Condition) = (*resource.Conditions).UpsertConditionMessage
var _ resource.ErrorIs = (func(error) bool)(nil)
var _ resource.Finalizer = interface {
	AddFinalizer(context.Context, resource.Object) error
	RemoveFinalizer(context.Context, resource.Object) error
}(nil)
var _ interface {
	AddFinalizer(context.Context, resource.Object) error
	RemoveFinalizer(context.Context, resource.Object) error
} = resource.Finalizer(nil)
var _ func() resource.Finalizer = resource.NewNopFinalizer
var _ func(context.Context, resource.Object) error = resource.FinalizerFns{}.AddFinalizerFn
var _ func(context.Context, resource.Object) error = resource.FinalizerFns{}.RemoveFinalizerFn
var _ func(resource.FinalizerFns, context.Context, resource.Object) error = resource.FinalizerFns.AddFinalizer
var _ func(resource.FinalizerFns, context.Context, resource.Object) error = resource.FinalizerFns.RemoveFinalizer
var _ resource.Managed = interface {
	resource.Object
	resource.Conditioned
}(nil)
var _ interface {
	resource.Object
	resource.Conditioned
} = resource.Managed(nil)
var _ = schema.GroupVersionKind(resource.ManagedKind{})
var _ resource.ManagedList = interface {
	client.ObjectList
	GetItems() []resource.Managed
}(nil)
var _ interface {
	client.ObjectList
	GetItems() []resource.Managed
} = resource.ManagedList(nil)
var _ resource.Object = interface {
	metav1.Object
	runtime.Object
}(nil)
var _ interface {
	metav1.Object
	runtime.Object
} = resource.Object(nil)
var _ string = resource.ReferenceStatus{}.Name
var _ resource.ReferenceStatusType = resource.ReferenceStatus{}.Status
var _ func(resource.ReferenceStatus) string = resource.ReferenceStatus.String
var _ int = int(resource.ReferenceStatusType(0))
var _ func(resource.ReferenceStatusType) string = resource.ReferenceStatusType.String

// Package fake.

var _ schema.GroupVersion = fake.GV
var _ func(runtime.Object) schema.GroupVersionKind = fake.GVK
var _ func(...runtime.Object) *runtime.Scheme = fake.SchemeWith
var _ []commonv1.Condition = fake.Conditioned{}.Conditions
var _ func(*fake.Conditioned, commonv1.ConditionType) commonv1.Condition = (*fake.Conditioned).GetCondition
var _ func(*fake.Conditioned, ...commonv1.Condition) = (*fake.Conditioned).SetConditions
var _ []corev1.ObjectReference = fake.EnvironmentConfigReferencer{}.Refs
var _ func(
	*fake.EnvironmentConfigReferencer,
) []corev1.ObjectReference = (*fake.EnvironmentConfigReferencer).GetEnvironmentConfigReferences
var _ func(*fake.EnvironmentConfigReferencer,
	[]corev1.ObjectReference) = (*fake.EnvironmentConfigReferencer).SetEnvironmentConfigReferences
var _ metav1.ObjectMeta = fake.Managed{}.ObjectMeta
var _ commonv1.ConditionedStatus = fake.Managed{}.ConditionedStatus
var _ func(*fake.Managed) runtime.Object = (*fake.Managed).DeepCopyObject
var _ func(*fake.Managed) schema.ObjectKind = (*fake.Managed).GetObjectKind
var _ *corev1.ObjectReference = fake.ManagedResourceReferencer{}.Ref
var _ func(
	*fake.ManagedResourceReferencer,
) *corev1.ObjectReference = (*fake.ManagedResourceReferencer).GetResourceReference
var _ func(
	*fake.ManagedResourceReferencer, *corev1.ObjectReference,
) = (*fake.ManagedResourceReferencer).SetResourceReference
var _ manager.Manager = fake.Manager{}.Manager
var _ client.Client = fake.Manager{}.Client
var _ *runtime.Scheme = fake.Manager{}.Scheme
var _ *rest.Config = fake.Manager{}.Config
var _ apimeta.RESTMapper = fake.Manager{}.RESTMapper
var _ func(*fake.Manager) <-chan struct{} = (*fake.Manager).Elected
var _ func(*fake.Manager) client.Client = (*fake.Manager).GetClient
var _ func(*fake.Manager) *rest.Config = (*fake.Manager).GetConfig
var _ func(*fake.Manager) apimeta.RESTMapper = (*fake.Manager).GetRESTMapper
var _ func(*fake.Manager) *runtime.Scheme = (*fake.Manager).GetScheme
var _ metav1.ObjectMeta = fake.Object{}.ObjectMeta
var _ runtime.Object = fake.Object{}.Object
var _ func(*fake.Object) runtime.Object = (*fake.Object).DeepCopyObject
var _ func(*fake.Object) schema.ObjectKind = (*fake.Object).GetObjectKind

// Package test.

var _ func() cmp.Option = test.EquateConditions
var _ func() cmp.Option = test.EquateErrors
var _ test.MockGetFn = test.MockClient{}.MockGet
var _ test.MockListFn = test.MockClient{}.MockList
var _ test.MockCreateFn = test.MockClient{}.MockCreate
var _ test.MockDeleteFn = test.MockClient{}.MockDelete
var _ test.MockDeleteAllOfFn = test.MockClient{}.MockDeleteAllOf
var _ test.MockUpdateFn = test.MockClient{}.MockUpdate
var _ test.MockPatchFn = test.MockClient{}.MockPatch
var _ test.MockSubResourceCreateFn = test.MockClient{}.MockStatusCreate
var _ test.MockSubResourceUpdateFn = test.MockClient{}.MockStatusUpdate
var _ test.MockSubResourcePatchFn = test.MockClient{}.MockStatusPatch
var _ test.MockSubResourceGetFn = test.MockClient{}.MockSubResourceGet
var _ test.MockSubResourceCreateFn = test.MockClient{}.MockSubResourceCreate
var _ test.MockSubResourceUpdateFn = test.MockClient{}.MockSubResourceUpdate
var _ test.MockSubResourcePatchFn = test.MockClient{}.MockSubResourcePatch
var _ test.MockSchemeFn = test.MockClient{}.MockScheme
var _ test.MockGroupVersionKindForFn = test.MockClient{}.MockGroupVersionKindFor
var _ test.MockIsObjectNamespacedFn = test.MockClient{}.MockIsObjectNamespaced
var _ func() *test.MockClient = test.NewMockClient
var _ func(*test.MockClient, context.Context, client.Object, ...client.CreateOption) error = (*test.MockClient).Create
var _ func(*test.MockClient, context.Context, client.Object, ...client.DeleteOption) error = (*test.MockClient).Delete
var _ func(*test.MockClient, context.Context, client.Object,
	...client.DeleteAllOfOption) error = (*test.MockClient).DeleteAllOf
var _ func(*test.MockClient, context.Context, client.ObjectKey, client.Object,
	...client.GetOption) error = (*test.MockClient).Get
var _ func(*test.MockClient, runtime.Object) (schema.GroupVersionKind, error) = (*test.MockClient).GroupVersionKindFor
var _ func(*test.MockClient, runtime.Object) (bool, error) = (*test.MockClient).IsObjectNamespaced
var _ func(*test.MockClient, context.Context, client.ObjectList, ...client.ListOption) error = (*test.MockClient).List
var _ func(*test.MockClient, context.Context, client.Object, client.Patch,
	...client.PatchOption) error = (*test.MockClient).Patch
var _ func(*test.MockClient) apimeta.RESTMapper = (*test.MockClient).RESTMapper
var _ func(*test.MockClient) *runtime.Scheme = (*test.MockClient).Scheme
var _ func(*test.MockClient) client.SubResourceWriter = (*test.MockClient).Status
var _ func(*test.MockClient, string) client.SubResourceClient = (*test.MockClient).SubResource
var _ func(*test.MockClient, context.Context, client.Object, ...client.UpdateOption) error = (*test.MockClient).Update
var _ test.MockCreateFn = (func(context.Context, client.Object, ...client.CreateOption) error)(nil)
var _ func(error, ...test.ObjectFn) test.MockCreateFn = test.NewMockCreateFn
var _ test.MockDeleteAllOfFn = (func(context.Context, client.Object, ...client.DeleteAllOfOption) error)(nil)
var _ func(error, ...test.ObjectFn) test.MockDeleteAllOfFn = test.NewMockDeleteAllOfFn
var _ test.MockDeleteFn = (func(context.Context, client.Object, ...client.DeleteOption) error)(nil)
var _ func(error, ...test.ObjectFn) test.MockDeleteFn = test.NewMockDeleteFn
var _ test.MockGetFn = (func(context.Context, client.ObjectKey, client.Object) error)(nil)
var _ func(error, ...test.ObjectFn) test.MockGetFn = test.NewMockGetFn
var _ test.MockGroupVersionKindForFn = (func(runtime.Object) (schema.GroupVersionKind, error))(nil)
var _ func(
	error, schema.GroupVersionKind, ...test.RuntimeObjectFn,
) test.MockGroupVersionKindForFn = test.NewMockGroupVersionKindForFn
var _ test.MockIsObjectNamespacedFn = (func(runtime.Object) (bool, error))(nil)
var _ func(error, bool, ...test.RuntimeObjectFn) test.MockIsObjectNamespacedFn = test.NewMockIsObjectNamespacedFn
var _ test.MockListFn = (func(context.Context, client.ObjectList, ...client.ListOption) error)(nil)
var _ func(error, ...test.ObjectListFn) test.MockListFn = test.NewMockListFn
var _ test.MockPatchFn = (func(context.Context, client.Object, client.Patch, ...client.PatchOption) error)(nil)
var _ func(error, ...test.ObjectFn) test.MockPatchFn = test.NewMockPatchFn
var _ test.MockSchemeFn = (func() *runtime.Scheme)(nil)
var _ func(*runtime.Scheme) test.MockSchemeFn = test.NewMockSchemeFn
var _ test.MockSubResourceGetFn = test.MockSubResourceClient{}.MockGet
var _ test.MockSubResourceCreateFn = test.MockSubResourceClient{}.MockCreate
var _ test.MockSubResourceUpdateFn = test.MockSubResourceClient{}.MockUpdate
var _ test.MockSubResourcePatchFn = test.MockSubResourceClient{}.MockPatch
var _ func(*test.MockSubResourceClient, context.Context, client.Object, client.Object,
	...client.SubResourceCreateOption) error = (*test.MockSubResourceClient).Create
var _ func(*test.MockSubResourceClient, context.Context, client.Object, client.Object,
	...client.SubResourceGetOption) error = (*test.MockSubResourceClient).Get
var _ func(*test.MockSubResourceClient, context.Context, client.Object, client.Patch,
	...client.SubResourcePatchOption) error = (*test.MockSubResourceClient).Patch
var _ func(*test.MockSubResourceClient, context.Context, client.Object,
	...client.SubResourceUpdateOption) error = (*test.MockSubResourceClient).Update
var _ test.MockSubResourceCreateFn = (func(context.Context, client.Object, client.Object,
	...client.SubResourceCreateOption) error)(nil)
var _ func(error, ...test.ObjectFn) test.MockSubResourceCreateFn = test.NewMockSubResourceCreateFn
var _ test.MockSubResourceGetFn = (func(context.Context, client.Object, client.Object,
	...client.SubResourceGetOption) error)(nil)
var _ test.MockSubResourcePatchFn = (func(context.Context, client.Object, client.Patch,
	...client.SubResourcePatchOption) error)(nil)
var _ func(error, ...test.ObjectFn) test.MockSubResourcePatchFn = test.NewMockSubResourcePatchFn
var _ test.MockSubResourceUpdateFn = (func(context.Context, client.Object,
	...client.SubResourceUpdateOption) error)(nil)
var _ func(error, ...test.ObjectFn) test.MockSubResourceUpdateFn = test.NewMockSubResourceUpdateFn
var _ test.MockUpdateFn = (func(context.Context, client.Object, ...client.UpdateOption) error)(nil)
var _ func(error, ...test.ObjectFn) test.MockUpdateFn = test.NewMockUpdateFn
var _ test.ObjectFn = (func(client.Object) error)(nil)
var _ test.ObjectListFn = (func(client.ObjectList) error)(nil)
var _ test.RuntimeObjectFn = (func(runtime.Object) error)(nil)

// TestConstants compares constants with the values that are stored in existing clusters.
func TestConstants(t *testing.T) {
	for name, c := range map[string]struct{ got, want any }{
		"commonv1.ReasonAvailable": {
			got: commonv1.ReasonAvailable, want: commonv1.ConditionReason("Available"),
		},
		"commonv1.ReasonUnavailable": {
			got: commonv1.ReasonUnavailable, want: commonv1.ConditionReason("Unavailable"),
		},
		"commonv1.ReasonCreating": {
			got: commonv1.ReasonCreating, want: commonv1.ConditionReason("Creating"),
		},
		"commonv1.ReasonDeleting": {
			got: commonv1.ReasonDeleting, want: commonv1.ConditionReason("Deleting"),
		},
		"commonv1.ReasonReconcileSuccess": {
			got:  commonv1.ReasonReconcileSuccess,
			want: commonv1.ConditionReason("ReconcileSuccess"),
		},
		"commonv1.ReasonReconcileError": {
			got: commonv1.ReasonReconcileError, want: commonv1.ConditionReason("ReconcileError"),
		},
		"commonv1.ReasonReconcilePaused": {
			got: commonv1.ReasonReconcilePaused, want: commonv1.ConditionReason("ReconcilePaused"),
		},
		"commonv1.TypeReady":  {got: commonv1.TypeReady, want: commonv1.ConditionType("Ready")},
		"commonv1.TypeSynced": {got: commonv1.TypeSynced, want: commonv1.ConditionType("Synced")},
		"event.TypeNormal":    {got: event.TypeNormal, want: event.Type("Normal")},
		"event.TypeWarning":   {got: event.TypeWarning, want: event.Type("Warning")},
		"meta.AnnotationKeyExternalName": {
			got: meta.AnnotationKeyExternalName, want: "krateo.io/external-name",
		},
		"meta.AnnotationKeyExternalCreatePending": {
			got:  meta.AnnotationKeyExternalCreatePending,
			want: "krateo.io/external-create-pending",
		},
		"meta.AnnotationKeyExternalCreateSucceeded": {
			got:  meta.AnnotationKeyExternalCreateSucceeded,
			want: "krateo.io/external-create-succeeded",
		},
		"meta.AnnotationKeyExternalCreateFailed": {
			got: meta.AnnotationKeyExternalCreateFailed, want: "krateo.io/external-create-failed",
		},
		"meta.AnnotationKeyReconciliationPaused": {
			got: meta.AnnotationKeyReconciliationPaused, want: "krateo.io/paused",
		},
		"meta.AnnotationKeyConnectorVerbose": {
			got: meta.AnnotationKeyConnectorVerbose, want: "krateo.io/connector-verbose",
		},
		"meta.AnnotationKeyManagementPolicy": {
			got: meta.AnnotationKeyManagementPolicy, want: "krateo.io/management-policy",
		},
		"meta.AnnotationKeyDeletionPolicy": {
			got: meta.AnnotationKeyDeletionPolicy, want: "krateo.io/deletion-policy",
		},
		"meta.ManagementPolicyDefault": {got: meta.ManagementPolicyDefault, want: "default"},
		"meta.ManagementPolicyObserveCreateUpdate": {
			got: meta.ManagementPolicyObserveCreateUpdate, want: "observe-create-update",
		},
		"meta.ManagementPolicyObserveDelete": {got: meta.ManagementPolicyObserveDelete, want: "observe-delete"},
		"meta.ManagementPolicyObserve":       {got: meta.ManagementPolicyObserve, want: "observe"},
		"meta.DeletionPolicyOrphan":          {got: meta.DeletionPolicyOrphan, want: "orphan"},
		"meta.DeletionPolicyDelete":          {got: meta.DeletionPolicyDelete, want: "delete"},
		"meta.ActionCreate":                  {got: meta.ActionCreate, want: "create"},
		"meta.ActionUpdate":                  {got: meta.ActionUpdate, want: "update"},
		"meta.ActionDelete":                  {got: meta.ActionDelete, want: "delete"},
		"reconciler.FinalizerName": {
			got: reconciler.FinalizerName, want: "finalizer.managedresource.krateo.io",
		},
		"resource.ReferenceStatusUnknown": {
			got: resource.ReferenceStatusUnknown, want: resource.ReferenceStatusType(0),
		},
		"resource.ReferenceNotFound": {
			got: resource.ReferenceNotFound, want: resource.ReferenceStatusType(1),
		},
		"resource.ReferenceNotReady": {
			got: resource.ReferenceNotReady, want: resource.ReferenceStatusType(2),
		},
		"resource.ReferenceReady": {
			got: resource.ReferenceReady, want: resource.ReferenceStatusType(3),
		},
	} {
		if c.got != c.want {
			t.Errorf("%s is %#v, want %#v", name, c.got, c.want)
		}
	}
}

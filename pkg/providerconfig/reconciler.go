package providerconfig

import (
	"context"
	"fmt"
	"strings"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/internal/records"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// ReasonInUse is the reason of an event that says that the deletion of a configuration waits for its users.
const ReasonInUse event.Reason = "InUse"

const (
	retryDelay     = freshness.RetryDelay // also while the index is not synced
	resyncInterval = 10 * time.Minute     // without an event; sends no request
	maxNamedUsers  = 3                    // users that a message names
)

// A reconciler reconciles the configurations of one kind.
type reconciler struct {
	kind      *kindInfo
	client    client.Client
	apiReader client.Reader // not cached
	finalizer resource.Finalizer
	retired   []retiredFinalizer // of other controllers, such as Crossplane
	tracker   *tracker
	records   *records.Records[record]
	logger    logging.Logger
	recorder  event.Recorder
	clock     clock.PassiveClock
	interval  time.Duration
	limits    *limit.Set // nil if WithLimits is not used
}

// Reconcile reconciles one configuration. After a conflict it returns no error, because the conflicting write causes an
// event.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	config, known, err := r.read(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, redact.Error(errors.Wrap(err, "cannot get the ProviderConfig"))
	}
	if config == nil {
		r.records.Forget(request.NamespacedName)

		return reconcile.Result{}, nil
	}
	if known.IsStale(config.GetResourceVersion()) {
		known.AddStaleRead(r.clock.Now())

		return reconcile.Result{RequeueAfter: retryDelay}, nil // the cache does not show the last write yet
	}
	after, err := r.reconcileConfig(ctx, config, known)
	if kerrors.IsConflict(err) {
		known.AddStaleRead(r.clock.Now())

		return freshness.SilentRequeue(), nil
	}
	known.ResetStaleReads()

	return reconcile.Result{RequeueAfter: after}, redact.Error(err)
}

// reconcileConfig adds or removes the finalizer of a configuration and writes its status.
// It returns the time until the next reconcile.
func (r *reconciler) reconcileConfig(ctx context.Context, config Config, known *record) (time.Duration, error) {
	deleted, held := !config.GetDeletionTimestamp().IsZero(), meta.FinalizerExists(config, FinalizerName)
	held = held || deleted && r.hasRetiredFinalizer(config)
	k := key{kind: r.kind.gvk.Kind, namespace: config.GetNamespace(), name: config.GetName()}
	switch {
	case deleted && !held:
		return resyncInterval, nil
	case !held:
		if err := r.finalizer.AddFinalizer(ctx, config); err != nil {
			return 0, r.ignoreReplaced(ctx, config, err)
		}
		known.Version = config.GetResourceVersion()
	}
	if !deleted {
		if err := r.removeRetiredFinalizers(ctx, config, known); err != nil {
			return 0, r.ignoreReplaced(ctx, config, err)
		}
	}
	if !r.tracker.synced() {
		r.logger.Debug("Waiting until all users are listed", "name", k.name, "namespace", k.namespace)

		return retryDelay, nil
	}
	if deleted && r.tracker.index.count(k) == 0 {
		return r.release(ctx, config, k, known)
	}

	return r.updateStatus(ctx, config, k, known)
}

// release removes the finalizer of a deleted configuration, if the cache contains no users of it.
func (r *reconciler) release(ctx context.Context, config Config, k key, known *record) (time.Duration, error) {
	unused, err := r.tracker.confirmUnused(ctx, k)
	if err != nil || !unused {
		return retryDelay, err
	}
	r.logger.Debug("Releasing a deleted ProviderConfig without users", "name", k.name, "namespace", k.namespace)

	if err := r.removeRetiredFinalizers(ctx, config, known); err != nil {
		return resyncInterval, r.ignoreReplaced(ctx, config, err)
	}
	read := config.GetResourceVersion()
	if err := r.finalizer.RemoveFinalizer(ctx, config); err != nil {
		return resyncInterval, r.ignoreReplaced(ctx, config, err)
	}
	known.released, known.Version = read, config.GetResourceVersion()

	return retryDelay, nil // until the cache shows the deletion, or only finalizers of others
}

// updateStatus writes the number of users, and the users for which a deletion waits. It writes only if these have
// changed and the interval since the last write is over.
func (r *reconciler) updateStatus(ctx context.Context, config Config, k key, known *record) (time.Duration, error) {
	base, ok := config.DeepCopyObject().(client.Object)
	if !ok {
		return 0, errors.Errorf("a copy of %T is no object", config)
	}
	newWait, changed := r.describe(config, k, known)
	connectionEvent := r.describeConnection(config, k, known)
	reason, after := connectionReason(config), r.resyncAfter(config)
	switch remaining := r.interval - r.clock.Since(known.statusWritten); {
	case !changed && connectionEvent == nil:
		return after, nil
	case !newWait && !known.statusWritten.IsZero() && remaining > 0:
		return remaining, nil
	}
	if err := r.patchStatus(ctx, config, base, known); err != nil {
		return 0, err
	}
	if newWait {
		known.waitReported = true
		message := fmt.Sprintf("Deletion waits for %s", r.describeUsers(k))
		r.record(config, event.Event{
			Type: event.TypeWarning, Reason: ReasonInUse, Message: message, Action: "Delete",
		})
	}
	if connectionEvent != nil {
		r.record(config, *connectionEvent)
		known.connection = reason
	}

	return after, nil
}

// record emits an event, and logs it.
func (r *reconciler) record(config Config, e event.Event) {
	r.recorder.Event(config, e)
	r.logger.Info("Event", "namespace", config.GetNamespace(), "name", config.GetName(),
		"type", string(e.Type), "reason", string(e.Reason), "message", e.Message)
}

// describe sets the number of users and the condition Terminating of config. It reports whether the deletion has begun
// to wait for users, and whether anything has changed.
func (r *reconciler) describe(config Config, k key, known *record) (newWait, changed bool) {
	users := int64(r.tracker.index.count(k))
	changed = config.GetUsers() != users
	config.SetUsers(users)
	if config.GetDeletionTimestamp().IsZero() {
		return false, changed
	}
	conditioned, ok := config.(resource.Conditioned)
	if !ok {
		return !known.waitReported, changed || !known.waitReported
	}
	old := conditioned.GetCondition(commonv1.TypeTerminating)
	now := commonv1.Condition{
		Type: commonv1.TypeTerminating, Status: metav1.ConditionFalse, Reason: commonv1.ReasonInUse,
		Message: "Deletion waits for " + r.describeUsers(k), LastTransitionTime: metav1.NewTime(r.clock.Now()),
		ObservedGeneration: config.GetGeneration(),
	}
	conditioned.SetConditions(now)

	return old.Reason != commonv1.ReasonInUse && !known.waitReported, changed || !old.Equal(now)
}

// describeUsers returns a text with the number of users and the names of the first users.
func (r *reconciler) describeUsers(k key) string {
	n, names := r.tracker.index.count(k), r.tracker.index.firstNames(k, maxNamedUsers)
	noun := "users"
	if n == 1 {
		noun = "user"
	}
	more := ""
	if n > len(names) {
		more = ", ..."
	}

	return fmt.Sprintf("%d %s: %s%s", n, noun, strings.Join(names, ", "), more)
}

// patchStatus patches the differences between base and config in the status. If a patch has changed nothing, because
// the CRD lacks the fields, patchStatus does not repeat it.
func (r *reconciler) patchStatus(ctx context.Context, config Config, base client.Object, known *record) error {
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	body, err := patch.Data(config)
	if err != nil {
		return errors.Wrap(err, "cannot compare the status of the ProviderConfig")
	}
	if string(body) == known.prunedPatch {
		return nil
	}
	if err := r.client.Status().Patch(ctx, config, client.RawPatch(patch.Type(), body)); err != nil {
		return errors.Wrap(err, "cannot update the status of the ProviderConfig")
	}
	var pruned string
	known.statusWritten, known.Version = r.clock.Now(), config.GetResourceVersion()
	if known.Version == base.GetResourceVersion() {
		pruned = string(body)
		r.logger.Info("The CRD of the ProviderConfig lacks status fields: users or conditions", "kind", r.kind.gvk.Kind)
	}
	known.prunedPatch = pruned

	return nil
}

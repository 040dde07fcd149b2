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
	"github.com/moorage-dev/moorage/internal/records"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// ReasonInUse is the reason of the event that tells that the deletion of a
// configuration waits for its users.
const ReasonInUse event.Reason = "InUse"

const (
	again   = time.Second      // while something is not known yet
	recheck = 10 * time.Minute // of what nobody asks for; nothing is sent by it
	named   = 3                // users in a message
)

// A reconciler keeps the configurations of one kind.
type reconciler struct {
	kind      *form
	client    client.Client
	live      client.Reader // asks the API server itself
	finalizer resource.Finalizer
	retired   []retiredFinalizer // of predecessors
	tracker   *tracker
	memory    *records.Records[record]
	logger    logging.Logger
	recorder  event.Recorder
	clock     clock.PassiveClock
	interval  time.Duration
	limits    *limit.Set // nil: none
}

// Reconcile looks at one configuration. Conflicts are silent: whoever changed it has
// made an event of it.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	config, known, err := r.read(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, redact.Error(errors.Wrap(err, "cannot get the ProviderConfig"))
	}
	if config == nil {
		r.memory.Forget(request.NamespacedName)

		return reconcile.Result{}, nil
	}
	if known.ahead(config.GetResourceVersion()) {
		known.lags(r.clock.Now())

		return reconcile.Result{RequeueAfter: again}, nil // the cache lags behind our own write, and will tell
	}
	after, err := r.keep(ctx, config, known)
	if kerrors.IsConflict(err) {
		known.lags(r.clock.Now())

		return reconcile.Result{Requeue: true}, nil //nolint:staticcheck // The only way to try again that is silent and keeps the back-off.
	}
	known.lag = 0

	return reconcile.Result{RequeueAfter: after}, redact.Error(err)
}

// keep does what a configuration needs, and returns when to look again.
func (r *reconciler) keep(ctx context.Context, config Config, known *record) (time.Duration, error) {
	deleted, ours := !config.GetDeletionTimestamp().IsZero(), meta.FinalizerExists(config, FinalizerName)
	ours = ours || deleted && r.left(config)
	k := key{kind: r.kind.gvk.Kind, namespace: config.GetNamespace(), name: config.GetName()}
	switch {
	case deleted && !ours:
		return recheck, nil
	case !ours:
		if err := r.finalizer.AddFinalizer(ctx, config); err != nil {
			return 0, r.replaced(ctx, config, err)
		}
		known.version = config.GetResourceVersion()
	}
	if !deleted {
		if err := r.retire(ctx, config, known); err != nil {
			return 0, r.replaced(ctx, config, err)
		}
	}
	if !r.tracker.settled() {
		r.logger.Debug("Not all users are known yet", "name", k.name, "namespace", k.namespace)

		return again, nil
	}
	if deleted && r.tracker.index.count(k) == 0 {
		return r.release(ctx, config, k, known)
	}

	return r.count(ctx, config, k, known)
}

// release lets a configuration go that nobody uses.
func (r *reconciler) release(ctx context.Context, config Config, k key, known *record) (time.Duration, error) {
	unused, err := r.tracker.unused(ctx, k)
	if err != nil || !unused {
		return again, err
	}
	r.logger.Debug("Nobody uses a deleted ProviderConfig", "name", k.name, "namespace", k.namespace)

	if err := r.retire(ctx, config, known); err != nil {
		return recheck, r.replaced(ctx, config, err)
	}
	read := config.GetResourceVersion()
	if err := r.finalizer.RemoveFinalizer(ctx, config); err != nil {
		return recheck, r.replaced(ctx, config, err)
	}
	known.released, known.version = read, config.GetResourceVersion()

	return again, nil // until it is seen to be gone, or held by others only
}

// count writes into the status how many users there are, and whom deletion waits
// for, if that has changed and the last time is long enough ago.
func (r *reconciler) count(ctx context.Context, config Config, k key, known *record) (time.Duration, error) {
	base, ok := config.DeepCopyObject().(client.Object)
	if !ok {
		return 0, errors.Errorf("a copy of %T is no object", config)
	}
	waits, changed := r.describe(config, k, known)
	news := r.describeConnection(config, k, known)
	reason, after := connectionReason(config), r.recheck(config)
	switch rest := r.interval - r.clock.Since(known.counted); {
	case !changed && news == nil:
		return after, nil
	case !waits && !known.counted.IsZero() && rest > 0:
		return rest, nil
	}
	if err := r.write(ctx, config, base, known); err != nil {
		return 0, err
	}
	if waits {
		known.told = true
		message := fmt.Sprintf("Deletion waits for %s", r.users(k))
		r.recorder.Event(config, event.Event{Type: event.TypeWarning, Reason: ReasonInUse, Message: message, Action: "Delete"})
	}
	if news != nil {
		r.recorder.Event(config, *news)
		known.connection = reason
	}

	return after, nil
}

// describe puts into the object what its status has to say. It reports whether that
// is the first time that its deletion waits, and whether anything changed.
func (r *reconciler) describe(config Config, k key, known *record) (waits, changed bool) {
	users := int64(r.tracker.index.count(k))
	changed = config.GetUsers() != users
	config.SetUsers(users)
	if config.GetDeletionTimestamp().IsZero() {
		return false, changed
	}
	conditioned, ok := config.(resource.Conditioned)
	if !ok {
		return !known.told, changed || !known.told
	}
	old := conditioned.GetCondition(commonv1.TypeTerminating)
	now := commonv1.Condition{
		Type: commonv1.TypeTerminating, Status: metav1.ConditionFalse, Reason: commonv1.ReasonInUse,
		Message: "Deletion waits for " + r.users(k), LastTransitionTime: metav1.NewTime(r.clock.Now()),
		ObservedGeneration: config.GetGeneration(),
	}
	conditioned.SetConditions(now)

	return old.Reason != commonv1.ReasonInUse && !known.told, changed || !old.Equal(now)
}

// users says how many there are, and names the first.
func (r *reconciler) users(k key) string {
	n, names := r.tracker.index.count(k), r.tracker.index.first(k, named)
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

// write sends what differs in the status. What the server has dropped once it is not
// sent again, as long as nothing else changes.
func (r *reconciler) write(ctx context.Context, config Config, base client.Object, known *record) error {
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	body, err := patch.Data(config)
	if err != nil {
		return errors.Wrap(err, "cannot compare the status of the ProviderConfig")
	}
	if string(body) == known.futile {
		return nil
	}
	if err := r.client.Status().Patch(ctx, config, client.RawPatch(patch.Type(), body)); err != nil {
		return errors.Wrap(err, "cannot update the status of the ProviderConfig")
	}
	var futile string
	known.counted, known.version = r.clock.Now(), config.GetResourceVersion()
	if known.version == base.GetResourceVersion() {
		futile = string(body)
		r.logger.Info("The definition of the ProviderConfig lacks fields of its status: users, or conditions", "kind", r.kind.gvk.Kind)
	}
	known.futile = futile

	return nil
}

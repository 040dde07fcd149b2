package connect

import (
	"context"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// Reasons of the events about a cluster.
const (
	// ReasonConnected: the cluster has responded on its connection.
	ReasonConnected event.Reason = "Connected"

	// ReasonConnectionLost: there is no connection any more, or the connection was replaced because the API server of the
	// cluster was restored to an earlier state.
	ReasonConnectionLost event.Reason = "ConnectionLost"
)

// patchStatus patches the changed fields of the status, and reports whether anything has changed. If another process
// has overwritten the report of this process, this process repeats its report only after the recheck interval.
// Otherwise two processes that disagree would overwrite each other without end. Processes disagree if their own
// kubeconfigs differ, or if only one of them reaches the cluster.
func (r *reconciler) patchStatus(ctx context.Context, base, c *clustersv1alpha1.Cluster, known *record) (bool, error) {
	c.Status.ObservedGeneration = c.GetGeneration()
	c.Status.ExpiresAt = nil
	if e := known.input.Expires; !e.IsZero() {
		c.Status.ExpiresAt = new(metav1.NewTime(e).Rfc3339Copy())
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	plain, err := client.MergeFrom(base).Data(c)
	if err != nil {
		return false, errors.Wrap(err, "cannot compare the status of the Cluster")
	}
	now, said := r.options.clock.Now(), connectionStateOf(c)
	if string(plain) == "{}" || said == known.reported && said != connectionStateOf(base) &&
		now.Sub(known.reportedAt) < r.options.recheckInterval {
		return false, nil
	}
	if err := r.client.Status().Patch(ctx, c, patch); err != nil {
		return false, errors.Wrap(err, "cannot update the status of the Cluster")
	}
	known.Version, known.statusRevision = c.GetResourceVersion(), c.Status.Revision
	if said != known.reported || said != connectionStateOf(base) {
		known.reported, known.reportedAt = said, now
	}

	return true, nil
}

// condition returns a condition with the current time and generation.
func (r *reconciler) condition(c *clustersv1alpha1.Cluster, t commonv1.ConditionType, s metav1.ConditionStatus,
	reason commonv1.ConditionReason, message string,
) commonv1.Condition {
	return commonv1.Condition{
		Type: t, Status: s, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(r.options.clock.Now()), ObservedGeneration: c.GetGeneration(),
	}
}

// emitEvent emits an event that says that a connection was made, or why it was lost.
func (r *reconciler) emitEvent(c *clustersv1alpha1.Cluster, why error) {
	if why == nil {
		r.options.recorder.Event(
			c, event.Normal(ReasonConnected, "the cluster has answered, its version is "+c.Status.Version))

		return
	}
	r.options.recorder.Event(c, event.Warning(ReasonConnectionLost, why))
}

// reasonOf returns the reason of a condition for an error.
func reasonOf(err error) commonv1.ConditionReason {
	var f *connectError
	if errors.As(err, &f) {
		return f.reason
	}

	return commonv1.ReasonConnectionUnavailable
}

// isUnauthorized reports whether a server has rejected the credentials.
func isUnauthorized(err error) bool {
	return err != nil && reasonOf(err) == commonv1.ReasonConnectionUnauthorized
}

// reconcileRequest returns the annotation that requests a reconcile.
func reconcileRequest(c *clustersv1alpha1.Cluster) string {
	return c.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt]
}

// A record is the in-memory state of a cluster. One worker at a time uses it.
type record struct {
	freshness.Record

	reported   connectionState // by us, last
	reportedAt time.Time

	// The last read settings, and the generation, the request and the time of this read.
	input            clusters.Input
	inputErr         error
	generation       int64
	reconcileRequest string
	readAt           time.Time
	statusRevision   string // revision in the status at that time, or that this process wrote since

	restored *clusters.Restore // reported by the last event

	probedAt     time.Time
	unauthorized bool         // the server has rejected the credentials
	client       *http.Client // nil before the first request
}

// A connectionState is the part of the status that describes the connection: its revision, or the reason why there is
// none, and the health of the cluster.
type connectionState struct {
	revision, err string
	healthy       metav1.ConditionStatus
	reason        commonv1.ConditionReason
}

// connectionStateOf returns the connection state in the status of a cluster.
func connectionStateOf(c *clustersv1alpha1.Cluster) connectionState {
	healthy := c.GetCondition(clustersv1alpha1.TypeHealthy)

	return connectionState{c.Status.Revision, c.Status.Error, healthy.Status, healthy.Reason}
}

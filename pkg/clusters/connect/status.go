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
	// ReasonConnected: there is a connection, on which the cluster has answered.
	ReasonConnected event.Reason = "Connected"

	// ReasonConnectionLost: there is none any more; or it was replaced, because the API server
	// of the cluster was restored to an earlier state.
	ReasonConnectionLost event.Reason = "ConnectionLost"
)

// write sends what differs in the status, if anything does, and reports whether it did.
// What was said before, and somebody else has said otherwise since, is not said again
// before the recheck interval is over: two processes that find different settings, such
// as those of their own kubeconfigs, or of which only one reaches the cluster, would do
// nothing else.
func (r *reconciler) write(ctx context.Context, base, c *clustersv1alpha1.Cluster, known *record) (bool, error) {
	c.Status.ObservedGeneration = c.GetGeneration()
	c.Status.ExpiresAt = nil
	if e := known.in.Expires; !e.IsZero() {
		c.Status.ExpiresAt = new(metav1.NewTime(e).Rfc3339Copy())
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	plain, err := client.MergeFrom(base).Data(c)
	if err != nil {
		return false, errors.Wrap(err, "cannot compare the status of the Cluster")
	}
	now, said := r.o.clock.Now(), sayingOf(c)
	if string(plain) == "{}" || said == known.said && said != sayingOf(base) && now.Sub(known.when) < r.o.recheck {
		return false, nil
	}
	if err := r.client.Status().Patch(ctx, c, patch); err != nil {
		return false, errors.Wrap(err, "cannot update the status of the Cluster")
	}
	known.Version, known.seen = c.GetResourceVersion(), c.Status.Revision
	if said != known.said || said != sayingOf(base) {
		known.said, known.when = said, now
	}

	return true, nil
}

func (r *reconciler) condition(c *clustersv1alpha1.Cluster, t commonv1.ConditionType, s metav1.ConditionStatus,
	reason commonv1.ConditionReason, message string,
) commonv1.Condition {
	return commonv1.Condition{
		Type: t, Status: s, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(r.o.clock.Now()), ObservedGeneration: c.GetGeneration(),
	}
}

// tell records that a connection was made, or why it was lost.
func (r *reconciler) tell(c *clustersv1alpha1.Cluster, why error) {
	if why == nil {
		r.o.recorder.Event(c, event.Normal(ReasonConnected, "the cluster has answered, its version is "+c.Status.Version))

		return
	}
	r.o.recorder.Event(c, event.Warning(ReasonConnectionLost, why))
}

func reasonOf(err error) commonv1.ConditionReason {
	var f *flaw
	if errors.As(err, &f) {
		return f.reason
	}

	return commonv1.ReasonConnectionUnavailable
}

func unauthorized(err error) bool {
	return err != nil && reasonOf(err) == commonv1.ReasonConnectionUnauthorized
}

func requested(c *clustersv1alpha1.Cluster) string {
	return c.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt]
}

// A record is of what is known of a cluster. One cluster is used by one worker at a
// time.
type record struct {
	freshness.Record

	said saying // by us, last
	when time.Time

	// What was found when its settings were read, for which spec and request, and when.
	in         clusters.Input
	flaw       error
	generation int64
	requested  string
	read       time.Time
	seen       string // revision in the status when they were, or that we have put there

	restored *clusters.Restore // that was told

	probed  time.Time
	refused bool         // the server did not accept the credentials
	http    *http.Client // with which it was asked, nil before
}

// A saying is what a status says about the connection: which one there is, or why not,
// and whether the cluster is well.
type saying struct {
	revision, flaw string
	healthy        metav1.ConditionStatus
	reason         commonv1.ConditionReason
}

func sayingOf(c *clustersv1alpha1.Cluster) saying {
	healthy := c.GetCondition(clustersv1alpha1.TypeHealthy)

	return saying{c.Status.Revision, c.Status.Error, healthy.Status, healthy.Reason}
}

package connect

import (
	"context"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/internal/records"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// retryDelay is the time until the next attempt to reach a cluster that does not respond.
const retryDelay = 30 * time.Second

// A reconciler makes the connections to clusters.
type reconciler struct {
	client       client.Client // reads from a cache
	apiReader    client.Reader // not cached
	cache        Cache
	request      func(ctx context.Context, known *record, path string) ([]byte, error)
	records      *records.Records[record]
	unauthorized *unauthorizedReports
	options      options
}

// newReconciler returns a reconciler that stores connections in the cache.
func newReconciler(c client.Client, live client.Reader, cache Cache, o options) *reconciler {
	return &reconciler{
		client: c, apiReader: live, cache: cache, request: sendRequest, records: records.New((*record).closeIdleConnections),
		unauthorized: newUnauthorizedReports(), options: o,
	}
}

// Ref returns the Ref of a Cluster object as it was read. It is an argument for the methods of a clusters.Manager.
func Ref(c *clustersv1alpha1.Cluster) clusters.Ref {
	return clusters.Ref{
		Key: client.ObjectKeyFromObject(c), UID: c.GetUID(), Revision: clusters.Revision(c.Status.Revision),
	}
}

// Reconcile makes the connection to one cluster. After a conflict it returns no error, because the conflicting write
// causes an event.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	c, known, err := r.read(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, redact.Error(errors.Wrap(err, "cannot get the Cluster"))
	}
	if c == nil {
		r.cache.Drop(request.NamespacedName)
		r.records.Forget(request.NamespacedName)
		r.unauthorized.forget(request.NamespacedName)

		return reconcile.Result{}, nil
	}
	if known.IsStale(c.GetResourceVersion()) {
		known.AddStaleRead(r.options.clock.Now())

		return reconcile.Result{RequeueAfter: freshness.RetryDelay}, nil // an event follows when it has caught up
	}
	after, err := r.reconcileCluster(ctx, c, known)
	if kerrors.IsConflict(err) {
		known.AddStaleRead(r.options.clock.Now())

		return freshness.SilentRequeue(), nil
	}
	known.ResetStaleReads()

	return reconcile.Result{RequeueAfter: after}, redact.Error(err)
}

// reconcileCluster makes the connection to a cluster or checks its health. It returns the time until the next
// reconcile.
func (r *reconciler) reconcileCluster(
	ctx context.Context, c *clustersv1alpha1.Cluster, known *record,
) (time.Duration, error) {
	if err := r.readSettings(ctx, c, known); err != nil {
		return 0, err
	}
	err := known.inputErr
	if err == nil {
		err = checkExpiry(known.input, r.options.clock.Now())
	}
	if err != nil {
		return r.options.recheckInterval, r.removeConnection(ctx, c, known, err)
	}
	if c.Status.Revision != string(known.input.Revision) {
		return r.connect(ctx, c, known)
	}

	return r.probe(ctx, c, known)
}

// readSettings reads the settings of a cluster if they are due, or if another process has reported another revision.
// With outdated settings, this process would overwrite the report of the other process. If the read fails, readSettings
// keeps the previous settings.
func (r *reconciler) readSettings(ctx context.Context, c *clustersv1alpha1.Cluster, known *record) error {
	now := r.options.clock.Now()
	known.unauthorized = r.unauthorized.take(client.ObjectKeyFromObject(c), known.input.Revision) || known.unauthorized
	reported := c.Status.Revision != known.statusRevision
	if known.generation == c.GetGeneration() && known.reconcileRequest == reconcileRequest(c) && !known.unauthorized &&
		!reported && now.Sub(known.readAt) < r.options.recheckInterval {
		return nil
	}
	in, err := r.buildInput(ctx, c)
	var f *connectError
	switch {
	case errors.As(err, &f):
	case err != nil && known.generation == c.GetGeneration() && !reported:
		r.options.logger.Info("Cannot read the settings of a cluster, keeping the current ones",
			"cluster", c.GetName(), "error", redact.Error(err))
		known.readAt = now

		return nil
	case err != nil:
		return err
	}
	if in.Revision != known.input.Revision {
		known.closeIdleConnections()
	}
	known.generation, known.reconcileRequest = c.GetGeneration(), reconcileRequest(c)
	known.unauthorized, known.readAt, known.statusRevision = false, now, c.Status.Revision
	known.input, known.inputErr = in, err

	return nil
}

// connect makes a connection with new settings and checks it.
func (r *reconciler) connect(ctx context.Context, c *clustersv1alpha1.Cluster, known *record) (time.Duration, error) {
	answer, err := r.request(ctx, known, "/version")
	if err != nil {
		known.unauthorized = isUnauthorized(err)

		return retryDelay, r.removeConnection(ctx, c, known, err)
	}
	base := c.DeepCopy()
	now := metav1.NewMicroTime(r.options.clock.Now().Truncate(time.Microsecond))
	c.Status.Revision, c.Status.ConnectedAt, c.Status.Error = string(known.input.Revision), &now, ""
	c.Status.Version, c.Status.Arch = versionOf(answer)
	c.SetConditions(
		r.condition(c, commonv1.TypeConnected, metav1.ConditionTrue, commonv1.ReasonConnectionAvailable, ""),
		r.condition(c, clustersv1alpha1.TypeHealthy, metav1.ConditionTrue, commonv1.ReasonConnectionAvailable, ""))
	written, err := r.patchStatus(ctx, base, c, known)
	if err != nil {
		return 0, err
	}
	known.probedAt = r.options.clock.Now()
	r.storeConnection(c, known)
	if written {
		r.emitEvent(c, nil)
	}

	return r.requeueAfter(known), nil
}

// probe stores the connection, and checks the health of the cluster at the probe
// interval.
func (r *reconciler) probe(ctx context.Context, c *clustersv1alpha1.Cluster, known *record) (time.Duration, error) {
	base := c.DeepCopy()
	r.storeConnection(c, known)
	r.emitRestored(c, known)
	if rest := r.options.probeInterval - r.options.clock.Since(known.probedAt); rest > 0 && !known.probedAt.IsZero() {
		_, err := r.patchStatus(ctx, base, c, known)

		return rest, err
	}
	_, err := r.request(ctx, known, "/readyz")
	known.probedAt, known.unauthorized = r.options.clock.Now(), isUnauthorized(err)
	health := r.cache.Report(client.ObjectKeyFromObject(c), err)
	status, reason, message := metav1.ConditionTrue, commonv1.ReasonConnectionAvailable, ""
	if !health.Healthy {
		status, reason, message = metav1.ConditionFalse, reasonOf(health.Err), health.Err.Error()
	}
	// The message may differ with each failure: only the first of a reason is reported. The
	// reason may also change with each probe, for instance with two servers at one address.
	if old := c.GetCondition(clustersv1alpha1.TypeHealthy); old.Status != status || old.Reason != reason &&
		r.options.clock.Since(known.reportedAt) >= r.options.recheckInterval {
		c.SetConditions(r.condition(c, clustersv1alpha1.TypeHealthy, status, reason, message))
	}
	_, err = r.patchStatus(ctx, base, c, known)
	if known.unauthorized {
		return time.Second, err // then the Secret is read
	}

	return r.requeueAfter(known), err
}

// storeConnection stores the connection that the status reports in the cache.
func (r *reconciler) storeConnection(c *clustersv1alpha1.Cluster, known *record) {
	in := known.input
	if at := c.Status.ConnectedAt; at != nil {
		in.ConnectedAt = *at
	}
	r.cache.Set(client.ObjectKeyFromObject(c), in)
}

// removeConnection removes the connection from the cache, and reports the reason.
func (r *reconciler) removeConnection(
	ctx context.Context, c *clustersv1alpha1.Cluster, known *record, why error,
) error {
	r.cache.Fail(client.ObjectKeyFromObject(c), why)
	base := c.DeepCopy()
	before := c.GetCondition(commonv1.TypeConnected)
	c.Status.Revision, c.Status.ConnectedAt, c.Status.Error = "", nil, why.Error()
	c.SetConditions(
		r.condition(c, commonv1.TypeConnected, metav1.ConditionFalse, reasonOf(why), why.Error()),
		r.condition(c, clustersv1alpha1.TypeHealthy, metav1.ConditionFalse, reasonOf(why), ""))
	written, err := r.patchStatus(ctx, base, c, known)
	if written && before.Status == metav1.ConditionTrue {
		r.emitEvent(c, why)
	}

	return err
}

// requeueAfter returns the time until the next reconcile of a connected cluster.
func (r *reconciler) requeueAfter(known *record) time.Duration {
	after := min(r.options.probeInterval, r.options.recheckInterval)
	if e := known.input.Expires; !e.IsZero() {
		after = min(after, max(e.Sub(r.options.clock.Now()), time.Second))
	}

	return after
}

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

// again is when to try a cluster that does not answer.
const again = 30 * time.Second

// A reconciler connects clusters.
type reconciler struct {
	client  client.Client // answers from a cache
	live    client.Reader // asks the API server itself
	cache   Cache
	ask     func(ctx context.Context, known *record, path string) ([]byte, error)
	memory  *records.Records[record]
	refused *refusals
	o       options
}

func newReconciler(c client.Client, live client.Reader, cache Cache, o options) *reconciler {
	return &reconciler{client: c, live: live, cache: cache, ask: ask, memory: records.New((*record).hangUp), refused: newRefusals(), o: o}
}

// Ref returns a cluster as it was read, for the methods of a clusters.Manager.
func Ref(c *clustersv1alpha1.Cluster) clusters.Ref {
	return clusters.Ref{Key: client.ObjectKeyFromObject(c), UID: c.GetUID(), Revision: clusters.Revision(c.Status.Revision)}
}

// Reconcile looks at one cluster. Conflicts are silent: whoever changed it has made an
// event of it.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	c, known, err := r.find(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, redact.Error(errors.Wrap(err, "cannot get the Cluster"))
	}
	if c == nil {
		r.cache.Drop(request.NamespacedName)
		r.memory.Forget(request.NamespacedName)
		r.refused.forget(request.NamespacedName)

		return reconcile.Result{}, nil
	}
	if known.IsStale(c.GetResourceVersion()) {
		known.AddStaleRead(r.o.clock.Now())

		return reconcile.Result{RequeueAfter: freshness.RetryDelay}, nil // the cache lags behind our own write, and will tell
	}
	after, err := r.keep(ctx, c, known)
	if kerrors.IsConflict(err) {
		known.AddStaleRead(r.o.clock.Now())

		return freshness.SilentRequeue(), nil
	}
	known.ResetStaleReads()

	return reconcile.Result{RequeueAfter: after}, redact.Error(err)
}

// keep does what a cluster needs, and returns when to look again.
func (r *reconciler) keep(ctx context.Context, c *clustersv1alpha1.Cluster, known *record) (time.Duration, error) {
	if err := r.look(ctx, c, known); err != nil {
		return 0, err
	}
	err := known.flaw
	if err == nil {
		err = expired(known.in, r.o.clock.Now())
	}
	if err != nil {
		return r.o.recheck, r.lose(ctx, c, known, err)
	}
	if c.Status.Revision != string(known.in.Revision) {
		return r.connect(ctx, c, known)
	}

	return r.probe(ctx, c, known)
}

// look reads the settings of a cluster, if it is time to, or if somebody else has said
// what became of other ones: who has not read them since would take that back. Settings
// that cannot be read just now are as they were.
func (r *reconciler) look(ctx context.Context, c *clustersv1alpha1.Cluster, known *record) error {
	now := r.o.clock.Now()
	known.refused = r.refused.take(client.ObjectKeyFromObject(c), known.in.Revision) || known.refused
	told := c.Status.Revision != known.seen
	if known.generation == c.GetGeneration() && known.requested == requested(c) && !known.refused && !told && now.Sub(known.read) < r.o.recheck {
		return nil
	}
	in, err := r.read(ctx, c)
	var f *flaw
	switch {
	case errors.As(err, &f):
	case err != nil && known.generation == c.GetGeneration() && !told:
		r.o.logger.Info("Cannot look at the settings of a cluster, going on with those there are", "cluster", c.GetName(), "error", redact.Error(err))
		known.read = now

		return nil
	case err != nil:
		return err
	}
	if in.Revision != known.in.Revision {
		known.hangUp()
	}
	known.generation, known.requested, known.refused, known.read, known.seen = c.GetGeneration(), requested(c), false, now, c.Status.Revision
	known.in, known.flaw = in, err

	return nil
}

// connect tries settings that are new.
func (r *reconciler) connect(ctx context.Context, c *clustersv1alpha1.Cluster, known *record) (time.Duration, error) {
	answer, err := r.ask(ctx, known, "/version")
	if err != nil {
		known.refused = unauthorized(err)

		return again, r.lose(ctx, c, known, err)
	}
	base := c.DeepCopy()
	now := metav1.NewMicroTime(r.o.clock.Now().Truncate(time.Microsecond))
	c.Status.Revision, c.Status.ConnectedAt, c.Status.Error = string(known.in.Revision), &now, ""
	c.Status.Version, c.Status.Arch = versionOf(answer)
	c.SetConditions(
		r.condition(c, commonv1.TypeConnected, metav1.ConditionTrue, commonv1.ReasonConnectionAvailable, ""),
		r.condition(c, clustersv1alpha1.TypeHealthy, metav1.ConditionTrue, commonv1.ReasonConnectionAvailable, ""))
	written, err := r.write(ctx, base, c, known)
	if err != nil {
		return 0, err
	}
	known.probed = r.o.clock.Now()
	r.set(c, known)
	if written {
		r.tell(c, nil)
	}

	return r.next(known), nil
}

// probe keeps a connection, and asks from time to time whether the cluster is well.
func (r *reconciler) probe(ctx context.Context, c *clustersv1alpha1.Cluster, known *record) (time.Duration, error) {
	base := c.DeepCopy()
	r.set(c, known)
	r.tellRestored(c, known)
	if rest := r.o.probe - r.o.clock.Since(known.probed); rest > 0 && !known.probed.IsZero() {
		_, err := r.write(ctx, base, c, known)

		return rest, err
	}
	_, err := r.ask(ctx, known, "/readyz")
	known.probed, known.refused = r.o.clock.Now(), unauthorized(err)
	health := r.cache.Report(client.ObjectKeyFromObject(c), err)
	status, reason, message := metav1.ConditionTrue, commonv1.ReasonConnectionAvailable, ""
	if !health.Healthy {
		status, reason, message = metav1.ConditionFalse, reasonOf(health.Err), health.Err.Error()
	}
	// The message of a failure may differ each time, and is told with the first of its reason.
	// That may also change with each probe, as of two servers in one's place.
	if old := c.GetCondition(clustersv1alpha1.TypeHealthy); old.Status != status || old.Reason != reason && r.o.clock.Since(known.when) >= r.o.recheck {
		c.SetConditions(r.condition(c, clustersv1alpha1.TypeHealthy, status, reason, message))
	}
	_, err = r.write(ctx, base, c, known)
	if known.refused {
		return time.Second, err // the Secret is read again
	}

	return r.next(known), err
}

// set lets everybody have the connection that the status tells of.
func (r *reconciler) set(c *clustersv1alpha1.Cluster, known *record) {
	in := known.in
	if at := c.Status.ConnectedAt; at != nil {
		in.ConnectedAt = *at
	}
	r.cache.Set(client.ObjectKeyFromObject(c), in)
}

// lose takes the connection from everybody, and says why.
func (r *reconciler) lose(ctx context.Context, c *clustersv1alpha1.Cluster, known *record, why error) error {
	r.cache.Fail(client.ObjectKeyFromObject(c), why)
	base := c.DeepCopy()
	before := c.GetCondition(commonv1.TypeConnected)
	c.Status.Revision, c.Status.ConnectedAt, c.Status.Error = "", nil, why.Error()
	c.SetConditions(
		r.condition(c, commonv1.TypeConnected, metav1.ConditionFalse, reasonOf(why), why.Error()),
		r.condition(c, clustersv1alpha1.TypeHealthy, metav1.ConditionFalse, reasonOf(why), ""))
	written, err := r.write(ctx, base, c, known)
	if written && before.Status == metav1.ConditionTrue {
		r.tell(c, why)
	}

	return err
}

// next returns when to look at a connected cluster again.
func (r *reconciler) next(known *record) time.Duration {
	after := min(r.o.probe, r.o.recheck)
	if e := known.in.Expires; !e.IsZero() {
		after = min(after, max(e.Sub(r.o.clock.Now()), time.Second))
	}

	return after
}

// Package floor is the least that a reconciler of the benchmark's kind can do with the same guarantees: written by
// hand for this one kind, without any configuration. It is not for use; the contenders are compared with it.
//
// It guarantees: the finalizer and the intent are stored before a create, in a write that fails on a stale read; a
// create is repeated with its token only; its result is stored in a write that cannot conflict and that survives
// cancellation; the status is written only if it changed, bound to the version that was read; the finalizer is removed
// when the widget is gone; after a restart, healthy objects are observed over a poll interval, and others at once. It
// sends no events: those are counted apart.
package floor

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/bench/internal/cloud"
	"github.com/moorage-dev/moorage/bench/internal/widget"
	"github.com/moorage-dev/moorage/pkg/controller"
)

const (
	finalizer = "bench.moorage.dev/floor"
	nameKey   = "bench.moorage.dev/name"
	tokenKey  = "bench.moorage.dev/token"

	recordFor = 25 * time.Second
)

// A Reconciler reconciles widgets.
type Reconciler struct {
	Client client.Client
	Cloud  *cloud.Cloud
	Poll   time.Duration
	Named  bool // the external name is the name of the object

	spread bool // the first reconcile of a healthy object is deferred
	once   sync.Once
	began  time.Time // time of the first reconcile
}

// Setup adds a controller to the manager.
func (r *Reconciler) Setup(m manager.Manager, workers int) error {
	r.Client, r.spread = m.GetClient(), true

	return ctrl.NewControllerManagedBy(m).Named("floor").
		For(&widget.Widget{}).
		WithEventFilter(predicate.Funcs{UpdateFunc: asks}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}.ForControllerRuntime()).
		Complete(r)
}

// asks reports whether an update triggers a reconcile: a change of the generation, the labels, the deletion timestamp,
// or of finalizers and annotations of others. Writes of this reconciler trigger none, as with the contenders.
func asks(e event.UpdateEvent) bool {
	before, now := e.ObjectOld, e.ObjectNew

	return before.GetGeneration() != now.GetGeneration() ||
		before.GetDeletionTimestamp().IsZero() != now.GetDeletionTimestamp().IsZero() ||
		!maps.Equal(before.GetLabels(), now.GetLabels()) ||
		!slices.Equal(foreign(before), foreign(now)) ||
		annotated(before, now) || annotated(now, before)
}

func foreign(o client.Object) []string {
	return slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == finalizer })
}

// annotated reports whether one object has an annotation of others that the other lacks.
func annotated(o, other client.Object) bool {
	for key, value := range o.GetAnnotations() {
		if has, ok := other.GetAnnotations()[key]; (!ok || has != value) && key != nameKey && key != tokenKey {
			return true
		}
	}

	return false
}

// Reconcile runs one reconcile.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	b := &widget.Widget{}
	if err := r.Client.Get(ctx, req.NamespacedName, b); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	r.once.Do(func() { r.began = time.Now() })
	if early := r.firstAfter(b) - time.Since(r.began); early > 0 {
		return later(early), nil
	}
	var (
		err  error
		gone bool
	)
	if b.DeletionTimestamp.IsZero() {
		err = r.live(ctx, b)
	} else {
		gone, err = r.delete(ctx, b)
	}
	if kerrors.IsConflict(err) {
		return reconcile.Result{Requeue: true}, nil //nolint:staticcheck // keeps the backoff
	}
	if err != nil || gone {
		return reconcile.Result{}, err
	}

	return later(r.Poll + time.Duration((rand.Float64()-0.5)*0.2*float64(r.Poll))), nil
}

func later(d time.Duration) reconcile.Result {
	return reconcile.Result{RequeueAfter: d, Priority: new(controller.PriorityPoll)}
}

// firstAfter returns how long after the start an object is first reconciled: a healthy one at a moment of the first
// poll interval that depends on its UID alone, so that no memory is needed.
func (r *Reconciler) firstAfter(b *widget.Widget) time.Duration {
	if !r.spread || time.Since(r.began) > r.Poll || !b.DeletionTimestamp.IsZero() || !b.Ready() {
		return 0
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(b.UID)) // a hash returns no error

	return time.Duration(sum.Sum64() % uint64(r.Poll))
}

func (r *Reconciler) live(ctx context.Context, b *widget.Widget) error {
	name := r.name(b)
	if name == "" || !controllerutil.ContainsFinalizer(b, finalizer) {
		if err := r.create(ctx, b); err != nil {
			return err
		}
		name = r.name(b)
	}
	found, err := r.Cloud.Find(ctx, name)
	if errors.Is(err, cloud.ErrNotFound) {
		if _, err = r.Cloud.Make(ctx, name, b.Annotations[tokenKey], b.Spec.Size); err == nil {
			found, err = r.Cloud.Find(ctx, name)
		}
	}
	if err != nil {
		return err
	}
	if found.Size != b.Spec.Size {
		if err := r.Cloud.Change(ctx, name, b.Spec.Size); err != nil {
			return err
		}
		if found, err = r.Cloud.Find(ctx, name); err != nil {
			return err
		}
	}

	return r.report(ctx, b, found)
}

func (r *Reconciler) name(b *widget.Widget) string {
	if r.Named {
		return b.Name
	}

	return b.Annotations[nameKey]
}

// create stores the intent, creates, and stores the result.
func (r *Reconciler) create(ctx context.Context, b *widget.Widget) error {
	if !controllerutil.ContainsFinalizer(b, finalizer) {
		meta := map[string]any{"resourceVersion": b.ResourceVersion,
			"finalizers": append(slices.Clone(b.Finalizers), finalizer)}
		if !r.Named {
			meta["annotations"] = map[string]string{tokenKey: string(b.UID)}
		}
		if err := r.patch(ctx, b, meta); err != nil {
			return err
		}
	}
	if r.Named {
		_, err := r.Cloud.Make(ctx, b.Name, "", b.Spec.Size)

		return err
	}
	name, err := r.Cloud.Make(ctx, "", b.Annotations[tokenKey], b.Spec.Size)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordFor)
	defer cancel()

	return wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		err := r.patch(ctx, b, map[string]any{"uid": b.UID, "annotations": map[string]string{nameKey: name}})

		return err == nil, client.IgnoreNotFound(ignoreAway(err))
	})
}

func ignoreAway(err error) error {
	if kerrors.IsInvalid(err) {
		return err
	}

	return nil
}

func (r *Reconciler) patch(ctx context.Context, b *widget.Widget, meta map[string]any) error {
	data, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}

	return r.Client.Patch(ctx, b, client.RawPatch(types.MergePatchType, data))
}

// delete reports whether there is nothing left to do for the object.
func (r *Reconciler) delete(ctx context.Context, b *widget.Widget) (gone bool, err error) {
	if !controllerutil.ContainsFinalizer(b, finalizer) {
		return true, nil
	}
	name := r.name(b)
	if name == "" { // created, perhaps: the token decides
		if err := r.create(ctx, b); err != nil {
			return false, err
		}
		name = r.name(b)
	}
	if _, err := r.Cloud.Find(ctx, name); err == nil {
		if err := r.Cloud.Remove(ctx, name); err != nil {
			return false, err
		}
	}
	if _, err := r.Cloud.Find(ctx, name); !errors.Is(err, cloud.ErrNotFound) {
		return false, err
	}
	err = r.patch(ctx, b, map[string]any{"resourceVersion": b.ResourceVersion, "finalizers": foreign(b)})

	return true, client.IgnoreNotFound(err)
}

// report writes the status if it changed.
func (r *Reconciler) report(ctx context.Context, b *widget.Widget, found cloud.Widget) error {
	before := b.Status
	before.Conditions = slices.Clone(before.Conditions)
	b.Status.Size = found.Size
	set(&b.Status.ConditionedStatus, commonv1.TypeReady, "Available", b.Generation)
	set(&b.Status.ConditionedStatus, commonv1.TypeSynced, "ReconcileSuccess", b.Generation)
	if equality.Semantic.DeepEqual(before, b.Status) {
		return nil
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]string{"resourceVersion": b.ResourceVersion},
		"status": b.Status})
	if err != nil {
		return err
	}

	return r.Client.Status().Patch(ctx, b, client.RawPatch(types.MergePatchType, data))
}

// set sets a condition to true.
func set(s *commonv1.ConditionedStatus, t commonv1.ConditionType, reason commonv1.ConditionReason, generation int64) {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == t {
			if c.Status != metav1.ConditionTrue {
				c.LastTransitionTime = metav1.Now()
			}
			c.Status, c.Reason, c.ObservedGeneration = metav1.ConditionTrue, reason, generation

			return
		}
	}
	s.Conditions = append(s.Conditions, commonv1.Condition{
		Type: t, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: generation,
		LastTransitionTime: metav1.Now(),
	})
}

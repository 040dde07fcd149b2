// Package floor is the least that a reconciler of the benchmark's kind can do and
// keep the same promises: written for this one kind by hand, with nothing that could be
// configured. It is not to be used; it is what everything else is compared with.
//
// It keeps: finalizer and intent are stored before a create, in a write that fails on
// a stale read; a create is repeated with its token only; what it answered is
// stored in a write that cannot conflict and that survives cancellation; the status is
// written if it changed, bound to what was read; the finalizer goes when the buoy
// is gone.
package floor

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/bench/internal/buoy"
	"github.com/moorage-dev/moorage/bench/internal/cloud"
	"github.com/moorage-dev/moorage/pkg/controller"
)

const (
	finalizer = "bench.moorage.dev/floor"
	nameKey   = "bench.moorage.dev/name"
	tokenKey  = "bench.moorage.dev/token"

	recordFor = 25 * time.Second
)

// A Reconciler keeps buoys as their objects say.
type Reconciler struct {
	Client client.Client
	Cloud  *cloud.Cloud
	Poll   time.Duration
	Named  bool // the name of the object is that of the buoy
}

// Setup adds a controller to the manager.
func (r *Reconciler) Setup(m manager.Manager, workers int) error {
	r.Client = m.GetClient()

	return ctrl.NewControllerManagedBy(m).Named("floor").
		For(&buoy.Buoy{}).
		WithEventFilter(predicate.GenerationChangedPredicate{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}.ForControllerRuntime()).
		Complete(r)
}

// Reconcile makes one pass.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	b := &buoy.Buoy{}
	if err := r.Client.Get(ctx, req.NamespacedName, b); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var err error
	if b.DeletionTimestamp.IsZero() {
		err = r.live(ctx, b)
	} else {
		err = r.depart(ctx, b)
	}
	if kerrors.IsConflict(err) {
		return reconcile.Result{Requeue: true}, nil //nolint:staticcheck // the back-off is to go on
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	priority := controller.PriorityPoll

	return reconcile.Result{RequeueAfter: r.Poll + time.Duration((rand.Float64()-0.5)*0.2*float64(r.Poll)), Priority: &priority}, nil
}

func (r *Reconciler) live(ctx context.Context, b *buoy.Buoy) error {
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

func (r *Reconciler) name(b *buoy.Buoy) string {
	if r.Named {
		return b.Name
	}

	return b.Annotations[nameKey]
}

// Create stores what is intended, creates, and stores the answer.
func (r *Reconciler) create(ctx context.Context, b *buoy.Buoy) error {
	if !controllerutil.ContainsFinalizer(b, finalizer) {
		meta := map[string]any{"resourceVersion": b.ResourceVersion, "finalizers": append(slices.Clone(b.Finalizers), finalizer)}
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

func (r *Reconciler) patch(ctx context.Context, b *buoy.Buoy, meta map[string]any) error {
	data, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}

	return r.Client.Patch(ctx, b, client.RawPatch(types.MergePatchType, data))
}

func (r *Reconciler) depart(ctx context.Context, b *buoy.Buoy) error {
	if !controllerutil.ContainsFinalizer(b, finalizer) {
		return nil
	}
	name := r.name(b)
	if name == "" { // created, perhaps: the token tells
		if err := r.create(ctx, b); err != nil {
			return err
		}
		name = r.name(b)
	}
	if _, err := r.Cloud.Find(ctx, name); err == nil {
		if err := r.Cloud.Remove(ctx, name); err != nil {
			return err
		}
	}
	if _, err := r.Cloud.Find(ctx, name); !errors.Is(err, cloud.ErrNotFound) {
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(b.Finalizers), func(f string) bool { return f == finalizer })

	return client.IgnoreNotFound(r.patch(ctx, b, map[string]any{"resourceVersion": b.ResourceVersion, "finalizers": rest}))
}

// Report writes the status if it changed.
func (r *Reconciler) report(ctx context.Context, b *buoy.Buoy, found cloud.Buoy) error {
	before := b.Status
	before.Conditions = slices.Clone(before.Conditions)
	b.Status.Size = found.Size
	set(&b.Status.ConditionedStatus, commonv1.TypeReady, "Available", b.Generation)
	set(&b.Status.ConditionedStatus, commonv1.TypeSynced, "ReconcileSuccess", b.Generation)
	if equality.Semantic.DeepEqual(before, b.Status) {
		return nil
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]string{"resourceVersion": b.ResourceVersion}, "status": b.Status})
	if err != nil {
		return err
	}

	return r.Client.Status().Patch(ctx, b, client.RawPatch(types.MergePatchType, data))
}

// Set sets a condition to true.
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
		Type: t, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: generation, LastTransitionTime: metav1.Now(),
	})
}

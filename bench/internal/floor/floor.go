// Package floor is the least that a reconciler of the benchmark's kind can do and
// keep the same promises: written for this one kind by hand, with nothing that could be
// configured. It is not to be used; it is what everything else is compared with.
//
// It keeps: finalizer and intent are stored before a create, in a write that fails on
// a stale read; a create is repeated with its token only; what it answered is
// stored in a write that cannot conflict and that survives cancellation; the status is
// written if it changed, bound to what was read; the finalizer goes when the buoy
// is gone; after a restart, what is well is looked at over a poll interval, and who is
// not first. It sends no events: those are counted apart.
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

	spread bool // what is well is looked at later, the first time
	once   sync.Once
	began  time.Time // when it was first asked
}

// Setup adds a controller to the manager.
func (r *Reconciler) Setup(m manager.Manager, workers int) error {
	r.Client, r.spread = m.GetClient(), true

	return ctrl.NewControllerManagedBy(m).Named("floor").
		For(&buoy.Buoy{}).
		WithEventFilter(predicate.Funcs{UpdateFunc: asks}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}.ForControllerRuntime()).
		Complete(r)
}

// asks says whether a change asks for a pass: one of the generation, the labels, the
// deletion timestamp, or what others have among finalizers and annotations. What this
// reconciler writes is none, as it is none for those who are compared with it.
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

// annotated says whether one object has an annotation of others that another has not.
func annotated(o, other client.Object) bool {
	for key, value := range o.GetAnnotations() {
		if has, ok := other.GetAnnotations()[key]; (!ok || has != value) && key != nameKey && key != tokenKey {
			return true
		}
	}

	return false
}

// Reconcile makes one pass.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	b := &buoy.Buoy{}
	if err := r.Client.Get(ctx, req.NamespacedName, b); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	r.once.Do(func() { r.began = time.Now() })
	if early := r.turn(b) - time.Since(r.began); early > 0 {
		return later(early), nil
	}
	var (
		err  error
		gone bool
	)
	if b.DeletionTimestamp.IsZero() {
		err = r.live(ctx, b)
	} else {
		gone, err = r.depart(ctx, b)
	}
	if kerrors.IsConflict(err) {
		return reconcile.Result{Requeue: true}, nil //nolint:staticcheck // the back-off is to go on
	}
	if err != nil || gone {
		return reconcile.Result{}, err
	}

	return later(r.Poll + time.Duration((rand.Float64()-0.5)*0.2*float64(r.Poll))), nil
}

func later(d time.Duration) reconcile.Result {
	return reconcile.Result{RequeueAfter: d, Priority: new(controller.PriorityPoll)}
}

// turn returns when, after it began, a reconciler looks at an object for the first time:
// at one that is well at some moment of the first poll interval, the same each time it
// is asked, so that nobody has to remember who was looked at.
func (r *Reconciler) turn(b *buoy.Buoy) time.Duration {
	if !r.spread || time.Since(r.began) > r.Poll || !b.DeletionTimestamp.IsZero() || !b.Ready() {
		return 0
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(b.UID)) // a sum takes everything

	return time.Duration(sum.Sum64() % uint64(r.Poll))
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

// create stores what is intended, creates, and stores the answer.
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

// depart says whether there is nothing left to do for the object.
func (r *Reconciler) depart(ctx context.Context, b *buoy.Buoy) (gone bool, err error) {
	if !controllerutil.ContainsFinalizer(b, finalizer) {
		return true, nil
	}
	name := r.name(b)
	if name == "" { // created, perhaps: the token tells
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
		Type: t, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: generation, LastTransitionTime: metav1.Now(),
	})
}

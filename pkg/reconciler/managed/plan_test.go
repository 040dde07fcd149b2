package managed_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// planner returns the reconciler of a process that only plans.
func (w *world) planner(o ...managed.ReconcilerOption) *managed.Reconciler {
	p := managed.NewPlannerOf(reader{w.m, w.listener()})

	return managed.NewReconciler(p.Manager(), w.kind, append(append([]managed.ReconcilerOption{}, w.o...), o...)...)
}

// plan returns the plan of the volume, and checks that nothing was written, and that nothing was called but reads.
func (w *world) plan(o ...managed.ReconcilerOption) managed.Plan {
	w.Helper()
	w.taken()
	v := w.get()
	before := v.DeepCopyObject()
	plan := w.planner(o...).Plan(w.Context(), v)
	requests, calls, events := w.taken()
	if requests != "" || mutating(calls) != "" || events != "" {
		w.Errorf("a plan has sent %q, called %q and emitted %q", requests, calls, events)
	}
	if diff := cmp.Diff(before, v.DeepCopyObject()); diff != "" {
		w.Errorf("a plan has changed its object: -before, +after:\n%s", diff)
	}

	return plan
}

func TestPlan(t *testing.T) {
	ready := func(w *world) { w.pass() }
	for name, c := range map[string]struct {
		reason  string
		options []managed.ReconcilerOption
		arrange func(w *world)
		want    managed.Plan
	}{
		"Create": {
			reason: "The finalizer and the record of the creation would be stored first.",
			want: managed.Plan{
				Action: "Create", Because: "The resource does not exist, and it is safe to create it.",
				Writes: []managed.PlannedWrite{{
					Verb: "patch", Kind: "Volume", Namespace: "default", Name: "data", Fields: []string{
						"metadata.annotations.krateo.io/external-create-pending",
						"metadata.annotations.moorage.dev/create-attempt", "metadata.finalizers",
					},
				}},
			},
		},
		"Keep": {
			reason:  "A resource as desired stays so, and nothing would be written.",
			arrange: ready,
			want: managed.Plan{
				ExternalName: "vol-1", Action: "Keep", Because: "The resource is as desired: nothing is changed.",
				Facts: []string{"Presence is Present", "UpToDate"},
			},
		},
		"Update": {
			reason: "The fields that differ are part of the plan.",
			arrange: func(w *world) {
				w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return differing{c} })
				w.pass()
				w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
			},
			want: managed.Plan{
				ExternalName: "vol-1", Generation: 2, Action: "Update", Because: "The resource is not as desired.",
				Facts:       []string{"Presence is Present"},
				Differences: []commonv1.Difference{{Path: "sizeGiB", Desired: "2", Observed: "1"}},
			},
		},
		"Delete": {
			reason:  "A deletion is planned, too.",
			arrange: func(w *world) { w.pass(); w.delete() },
			want: managed.Plan{
				ExternalName: "vol-1", Action: "Delete",
				Because: "The resource exists, and nothing has to happen before it is deleted.",
				Facts:   []string{"Object is Deleted", "Presence is Present"},
			},
		},
		"Retain": {
			reason:  "A guard keeps the resource of an object that goes with its namespace.",
			options: []managed.ReconcilerOption{managed.WithNamespaceDeletionGuard()},
			arrange: func(w *world) {
				w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
					Name: key.Namespace, Finalizers: []string{"example.org/wait"},
				}})
				w.pass()
				w.Delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}})
				w.delete()
			},
			want: managed.Plan{
				ExternalName: "vol-1", Action: "Orphan",
				Because: "The policies do not allow Delete, or a guard keeps the resource: the finalizer is removed, " +
					"and the external resource stays.",
				Facts: []string{"Deleted", "not MayDelete"},
				Writes: []managed.PlannedWrite{{
					Verb: "patch", Kind: "Volume", Namespace: "default", Name: "data",
					Fields: []string{"metadata.finalizers"},
				}},
			},
		},
		"RemoveFinalizer": {
			reason: "What is gone already needs no deletion.",
			arrange: func(w *world) {
				w.pass()
				w.cloud.Remove("vol-1")
				w.delete()
			},
			options: []managed.ReconcilerOption{managed.WithCreationGracePeriod(0)},
			want: managed.Plan{
				ExternalName: "vol-1", Action: "AwaitGone",
				Because: "The resource may still exist: its absence has to be confirmed before the finalizer is removed.",
				Facts:   []string{"Object is Deleted", "awaitsAbsence"},
			},
		},
		"Tolerate": {
			reason: "A difference that the policies forbid to correct is no change.",
			arrange: func(w *world) {
				w.pass()
				w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 7})
				w.change(func(v *volume.Volume) {
					v.Annotations[meta.AnnotationKeyManagementPolicy] = meta.ManagementPolicyObserve
				})
			},
			want: managed.Plan{
				ExternalName: "vol-1", Action: "Tolerate",
				Because: "The resource is not as desired, and the policies do not allow Update: it is left unchanged.",
				Facts:   []string{"Presence is Present", "not MayUpdate"},
			},
		},
		"Pause": {
			reason: "A paused object is not observed.",
			arrange: func(w *world) {
				w.pass()
				w.change(func(v *volume.Volume) { v.Annotations[meta.AnnotationKeyReconciliationPaused] = "true" })
			},
			want: managed.Plan{
				ExternalName: "vol-1", Action: "Pause",
				Because: "A paused object is not reconciled, even if it is being deleted.", Facts: []string{"Paused"},
			},
		},
		"AskUser": {
			reason: "A creation whose result is not known waits for a user.",
			arrange: func(w *world) {
				w.cloud.Before = failing("Create", context.DeadlineExceeded)
				_, _ = w.try()
				w.cloud.Before = nil
			},
			want: managed.Plan{
				Action: "AskUser",
				Because: "An earlier create may have succeeded, and another one could lead to a second resource: a user has " +
					"to resolve that.",
				Facts: []string{"resultUnobserved", "not repeatable"},
				Writes: []managed.PlannedWrite{{
					Verb: "patch", Kind: "Volume", Namespace: "default", Name: "data",
					Fields: []string{"metadata.annotations.moorage.dev/was-unresolved"},
				}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.options...)
			w.create(nil)
			if c.arrange != nil {
				c.arrange(w)
			}
			got := w.plan()
			if got.Err != nil {
				t.Fatalf("%s: %v", c.reason, got.Err)
			}
			v := w.get()
			c.want.Kind, c.want.Object, c.want.UID, c.want.Generation = volume.GroupVersion.WithKind("Volume"), key, v.UID,
				v.Generation
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
			if changes := strings.Contains("Create Update Delete", got.Action); got.Changes() != changes {
				t.Errorf("%s: Changes() is %t for %s", c.reason, got.Changes(), got.Action)
			}
		})
	}
}

// TestAPlanWithoutADecision verifies that a plan has an error, and no action, if the decision is not known.
func TestAPlanWithoutADecision(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	calls := 0
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if calls++; call == "Observe" {
			return external.Unavailable(errors.New("no route to host"))
		}

		return nil
	}
	plan := w.plan()
	if plan.Err == nil || !strings.Contains(plan.Err.Error(), "observe failed: no route to host") || plan.Action != "" ||
		plan.Changes() || plan.AtRest() {
		t.Errorf("%+v", plan)
	}
	if plan := w.r.Plan(w.Context(), w.get()); plan.Err == nil {
		t.Error("a reconciler without a Planner plans")
	}
	if plan := w.plan(managed.WithPollInterval(-1)); plan.Err == nil || calls != 2 {
		t.Errorf("with invalid options: %+v after %d calls", plan, calls)
	}
}

// TestAPlanIsNoReconcile verifies that a reconciler that plans does not reconcile.
func TestAPlanIsNoReconcile(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	_, err := w.planner().Reconcile(t.Context(), request())
	if !errors.Is(err, managed.ErrPlanned) || !errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("error %v", err)
	}
	w.expect("", "", "")
}

// TestAPlanOfAnObjectThatIsNotStored verifies that an object that a user is about to create can be planned.
func TestAPlanOfAnObjectThatIsNotStored(t *testing.T) {
	w := newWorld(t, managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	v := atKey()
	v.Spec.SizeGiB = 1
	if plan := w.planner().Plan(t.Context(), v); plan.Action != "Create" || plan.Err != nil || v.UID != "" {
		t.Errorf("%+v of %+v", plan, v)
	}
	w.cloud.Put(volume.Disk{ID: key.Name, SizeGiB: 9})
	plan := w.planner(managed.WithAdoptionPolicy(meta.AdoptionPolicyForce)).Plan(t.Context(), v)
	if plan.Action != "Update" || plan.Err != nil || plan.UID != "" || len(plan.Writes) != 1 {
		t.Errorf("%+v", plan)
	}
	w.expect("", "Connect Observe Connect Observe", "")
}

// TestAPlanCallsNoAuthorWhoWrites verifies that neither the finalizer nor the publisher of an author is called, that
// initializers are, and that what those write is not sent.
func TestAPlanCallsNoAuthorWhoWrites(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	p := managed.NewPlannerOf(reader{w.m, w.listener()})
	c, called := p.Manager().GetClient(), 0
	r := managed.NewReconciler(p.Manager(), w.kind, append(w.o,
		managed.WithFinalizer(resource.FinalizerFns{AddFinalizerFn: func(context.Context, resource.Object) error {
			return errors.New("the finalizer was called")
		}}),
		managed.WithConnectionPublisher(managed.ConnectionPublisherFn(
			func(context.Context, resource.Managed, managed.ConnectionDetails) (bool, error) {
				return false, errors.New("the publisher was called")
			})),
		managed.WithChangeLog(changelog.SinkFunc(func(context.Context, changelog.Entry) error {
			return errors.New("a change was logged")
		})),
		managed.WithInitializers(managed.InitializerFn(func(ctx context.Context, mg resource.Managed) error {
			called++
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "made"}}
			if err := c.Create(ctx, secret); err != nil {
				return err
			}
			secret.Data = map[string][]byte{"password": []byte("correct horse")}
			if err := c.Update(ctx, secret); err != nil {
				return err
			}
			mg.SetLabels(map[string]string{"team": "sea"})

			return c.Get(ctx, client.ObjectKeyFromObject(secret), secret)
		})))...)
	plan := r.Plan(t.Context(), w.get())
	want := []managed.PlannedWrite{
		{Verb: "create", Kind: "Secret", Namespace: "default", Name: "made"},
		{Verb: "update", Kind: "Secret", Namespace: "default", Name: "made", Fields: []string{"data"}},
		{Verb: "patch", Kind: "Volume", Namespace: "default", Name: "data", Fields: []string{
			"metadata.annotations.krateo.io/external-create-pending", "metadata.annotations.moorage.dev/create-attempt",
			"metadata.labels",
		}},
	}
	if plan.Err != nil || plan.Action != "Create" || called != 1 {
		t.Errorf("%+v after %d calls", plan, called)
	}
	for i := range plan.Writes {
		for j, field := range plan.Writes[i].Fields { // a map that is new counts as a whole or by its keys
			for _, whole := range []string{"data", "metadata.labels"} {
				if strings.HasPrefix(field, whole) {
					plan.Writes[i].Fields[j] = whole
				}
			}
		}
	}
	if diff := cmp.Diff(want, plan.Writes); diff != "" {
		t.Errorf("writes: -want, +got:\n%s", diff)
	}
	w.expect("", "Connect Observe", "")
}

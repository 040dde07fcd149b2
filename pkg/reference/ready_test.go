package reference

import (
	"context"
	stderrors "errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// conditions sets the conditions of a disk.
func conditions(c ...commonv1.Condition) setting {
	return func(o client.Object) { o.(*Disk).Status.Conditions = c }
}

// ready sets the condition Ready of a disk to True, and synced another condition.
func ready(o client.Object) { conditions(commonv1.ReconcileSuccess(), commonv1.Available())(o) }

// creating sets the condition Ready of a disk to False.
func creating(o client.Object) { conditions(commonv1.ReconcileSuccess(), commonv1.Creating())(o) }

func TestWaitForReady(t *testing.T) {
	cases := map[string]struct {
		reason   string
		referent *Disk
		current  string
		ref      *commonv1.NamespacedReference
		without  bool // WaitForReady is not set
		want     string
		why      Reason
	}{
		"Ready": {
			reason:   "A ready referent gives its value.",
			referent: disk("a", "b", external("main"), ready), ref: ref("b", nil), want: "main",
		},
		"NotReady": {
			reason:   "The value of a referent that is being created is waited for.",
			referent: disk("a", "b", external("main"), creating), ref: ref("b", nil), why: ReasonNotReady,
		},
		"NoConditions": {
			reason:   "A new referent has no conditions.",
			referent: disk("a", "b", external("main")), ref: ref("b", nil), why: ReasonNotReady,
		},
		"NoValue": {
			reason:   "A ready referent without a value is waited for as without the option.",
			referent: disk("a", "b", ready), ref: ref("b", nil), why: ReasonNoValue,
		},
		"Missing": {
			reason:   "So is a referent that does not exist.",
			referent: disk("a", "c"), ref: ref("b", nil), why: ReasonNotFound,
		},
		"Without": {
			reason:   "Without the option the value is enough.",
			referent: disk("a", "b", external("main"), creating), ref: ref("b", nil), without: true, want: "main",
		},
		"Resolved": {
			reason:   "After the first resolution nothing is read.",
			referent: disk("a", "b", external("main"), creating), current: "main", ref: ref("b", nil), want: "main",
		},
		"AlwaysResolved": {
			reason:   "With Always the same value does not wait again.",
			referent: disk("a", "b", external("main"), creating), current: "main", ref: ref("b", always), want: "main",
		},
		"AlwaysChanged": {
			reason:   "A new value is a first resolution; the current value is kept beside the error.",
			referent: disk("a", "b", external("new"), creating), current: "main", ref: ref("b", always), want: "main",
			why: ReasonNotReady,
		},
		"Optional": {
			reason:   "An optional reference does not wait.",
			referent: disk("a", "b", external("main"), creating), ref: ref("b", optional),
		},
		"DeletingNotReady": {
			reason:   "A referent that is being deleted gives no new value, ready or not.",
			referent: disk("a", "b", external("main"), ready, deleting), ref: ref("b", nil), why: ReasonDeleting,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp, err := NewAPIResolver(newWorld(tc.referent), instance("a", "instance")).Resolve(t.Context(),
				ResolutionRequest{CurrentValue: tc.current, Reference: tc.ref, To: toDisk, WaitForReady: !tc.without})
			checkError(t, tc.reason, err, tc.why, nil)
			if rsp.ResolvedValue != tc.want {
				t.Errorf("%s\nvalue %q, want %q", tc.reason, rsp.ResolvedValue, tc.want)
			}
			if want := err != nil && !tc.without; IsExpected(errors.Wrap(err, "cannot resolve spec.disk")) != want {
				t.Errorf("%s\nIsExpected(%v): want %t", tc.reason, err, want)
			}
		})
	}
}

// TestWaitForReadyOfSelected: a selector chooses as without the option, and waits for what it has chosen.
func TestWaitForReadyOfSelected(t *testing.T) {
	w := newWorld(
		disk("a", "b", external("b-1"), labelled("in", "port"), creating),
		disk("a", "c", external("c-1"), labelled("in", "port"), ready))
	all := &commonv1.NamespacedSelector{MatchLabels: map[string]string{"in": "port"}}
	r := NewAPIResolver(w, instance("a", "instance"))

	_, err := r.Resolve(t.Context(), ResolutionRequest{Selector: all, To: toDisk, WaitForReady: true})
	checkError(t, "The first candidate is not ready.", err, ReasonNotReady, nil)

	many := MultiResolutionRequest{
		References: []commonv1.NamespacedReference{*ref("b", always), *ref("c", always)}, To: toDisk, WaitForReady: true,
	}
	_, err = r.ResolveMultiple(t.Context(), many)
	checkError(t, "Both have to be ready.", err, ReasonNotReady, nil)

	many.CurrentValues = []string{"b-1"}
	rsp, err := r.ResolveMultiple(t.Context(), many)
	checkError(t, "The value of the first is there, and the second is ready.", err, "", nil)
	if diff := cmp.Diff([]string{"b-1", "c-1"}, rsp.ResolvedValues); diff != "" {
		t.Errorf("values: -want, +got:\n%s", diff)
	}
}

// TestWaitForReadyReadsConditions: conditions are read by GetCondition, or from JSON. An object that has none because
// only its metadata is read is an error of the author.
func TestWaitForReadyReadsConditions(t *testing.T) {
	managed := &fake.Managed{}
	if isReady(managed) {
		t.Error("a new managed resource is ready")
	}
	managed.SetConditions(commonv1.Available())
	if !isReady(managed) {
		t.Error("an available managed resource is not ready")
	}
	if isReady(&corev1.Namespace{}) {
		t.Error("a kind without the condition Ready is ready")
	}

	r := NewAPIResolver(newWorld(), instance("a", "instance"))
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(diskGVK)
	_, err := r.Resolve(t.Context(), ResolutionRequest{
		Reference: ref("b", nil), To: To{Managed: metadata}, WaitForReady: true,
	})
	if err == nil || IsWaiting(err) || IsRefused(err) {
		t.Errorf("a request that reads metadata only, and waits for a condition: error %v", err)
	}
}

// TestWaitForReadyFindsCycles: two objects whose names are known wait for each other forever.
func TestWaitForReadyFindsCycles(t *testing.T) {
	a, b := disk("a", "a", external("a")), disk("a", "b", external("b"))
	w, tr := newWorld(a, b), NewTracker(testScheme())
	pass := func(owner *Disk, to string) error {
		rec := tr.Reader(types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}, w)
		_, err := NewAPIResolver(rec, owner).Resolve(context.Background(),
			ResolutionRequest{Reference: ref(to, nil), To: toDisk, WaitForReady: true})
		rec.Done(err)

		return err
	}
	checkError(t, "b is not known to wait.", pass(a, "b"), ReasonNotReady, nil)
	err := pass(b, "a")
	checkError(t, "a waits for b.", err, ReasonCycle, nil)
	if IsExpected(err) {
		t.Error("a cycle is expected")
	}

	ready(b)
	checkError(t, "b is ready.", pass(a, "b"), "", nil)
	checkError(t, "a waits for nothing.", pass(b, "a"), ReasonNotReady, nil)
}

func TestIsExpected(t *testing.T) {
	yes, no := &WaitingError{Reason: ReasonNotReady, Expected: true}, &WaitingError{Reason: ReasonNotFound}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"Nil":         {nil, false},
		"Expected":    {errors.Wrap(yes, "cannot resolve"), true},
		"NotExpected": {errors.Wrap(no, "cannot resolve"), false},
		"Both":        {stderrors.Join(yes, errors.Wrap(yes, "cannot resolve")), true},
		"OneOfTwo":    {stderrors.Join(yes, no), false},
		"WithRefused": {stderrors.Join(yes, &RefusedError{Reason: ReasonSelf}), false},
		"WithFailure": {stderrors.Join(errors.New("boom"), yes), false},
		"Other":       {errors.New("boom"), false},
	} {
		if got := IsExpected(tc.err); got != tc.want {
			t.Errorf("%s: IsExpected(%v) = %t, want %t", name, tc.err, got, tc.want)
		}
	}
}

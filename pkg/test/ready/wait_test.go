package ready

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A fakeTest is a test that records its failure. As t.Fatalf does, Fatalf ends the goroutine.
type fakeTest struct {
	*testing.T

	failure string
}

func (f *fakeTest) Helper() {}
func (f *fakeTest) Fatalf(format string, args ...any) {
	f.failure = fmt.Sprintf(format, args...)
	panic(f)
}

// failureOf returns the failure of a Wait, or "".
func failureOf(t *testing.T, kube client.Client, obj client.Object, log *Log) (out string) {
	t.Helper()
	f := &fakeTest{T: t}
	defer func() {
		if p := recover(); p != nil && p != any(f) {
			panic(p)
		}
		out = f.failure
	}()
	Wait(f, kube, obj, log)

	return ""
}

// world returns a client whose object "shop/first" has these conditions, and the object.
func world(t *testing.T, conditions ...commonv1.Condition) (client.Client, *fake.Managed) {
	t.Helper()
	scheme := fake.SchemeWith(&fake.Managed{})
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mg := &fake.Managed{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "first", UID: "1", Generation: 2}}
	mg.SetConditions(conditions...)
	kube := ctrlfake.NewClientBuilder().WithScheme(scheme).WithObjects(mg).Build()

	return kube, &fake.Managed{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "first"}}
}

// warn creates an event about an object.
func warn(t *testing.T, kube client.Client, of *fake.Managed, kind string, reason, message string) {
	t.Helper()
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "e-"}, Type: kind, Reason: reason, Message: message,
		InvolvedObject: corev1.ObjectReference{Kind: "Managed", Namespace: "shop", Name: of.Name, UID: of.UID},
	}
	if err := kube.Create(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func stalled(generation int64) commonv1.Condition {
	return commonv1.Condition{
		Type: commonv1.TypeStalled, Status: metav1.ConditionTrue, Reason: "Refused", ObservedGeneration: generation,
	}
}

func TestHopeless(t *testing.T) {
	failed := metav1.Condition{Type: string(commonv1.TypeSynced), Status: metav1.ConditionFalse}
	stuck := metav1.Condition{Type: string(commonv1.TypeStalled), Status: metav1.ConditionTrue}
	earlier, current := stuck, stuck
	earlier.ObservedGeneration, current.ObservedGeneration = 1, 2
	cases := map[string]struct {
		reason string
		all    []metav1.Condition
		last   failure
		want   bool
	}{
		"New":     {reason: "An object without conditions was not reconciled yet."},
		"Failing": {reason: "Four errors may pass.", all: []metav1.Condition{failed}, last: failure{"no", 4}},
		"Failed":  {reason: "Five are enough.", all: []metav1.Condition{failed}, last: failure{"no", 5}, want: true},
		"Synced":  {reason: "The last pass succeeded.", last: failure{"no", 5}},
		"Stalled": {reason: "Nothing will change.", all: []metav1.Condition{stuck}, want: true},
		"StalledNow": {
			reason: "Nothing will change.", all: []metav1.Condition{current}, want: true,
		},
		"StalledBefore": {reason: "The spec has changed since.", all: []metav1.Condition{earlier}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := hopeless(2, tc.all, tc.last); (got != "") != tc.want {
				t.Errorf("%s\nhopeless: %q, want a reason: %t", tc.reason, got, tc.want)
			}
		})
	}
}

// TestWait waits for an object that becomes Ready, and has its last state.
func TestWait(t *testing.T) {
	kube, mg := world(t, commonv1.Creating())
	go func() {
		is := &fake.Managed{}
		_ = kube.Get(context.Background(), client.ObjectKeyFromObject(mg), is)
		is.SetConditions(commonv1.Available())
		_ = kube.Update(context.Background(), is)
	}()
	if got := failureOf(t, kube, mg, nil); got != "" {
		t.Error(got)
	}
	if mg.UID != "1" || mg.GetCondition(commonv1.TypeReady).Status != metav1.ConditionTrue {
		t.Errorf("the object is not as it was read: %+v", mg)
	}
}

// TestWaitStalled gives up at once, and prints the conditions, the warnings and the log.
func TestWaitStalled(t *testing.T) {
	kube, mg := world(t, stalled(2), commonv1.ReconcileError(errors.New("cannot publish: secrets is forbidden")))
	warn(t, kube, &fake.Managed{ObjectMeta: metav1.ObjectMeta{Name: "first", UID: "1"}}, "Warning", "CannotPublish", "it")
	warn(t, kube, &fake.Managed{ObjectMeta: metav1.ObjectMeta{Name: "first", UID: "1"}}, "Normal", "Created", "fine")
	warn(t, kube, &fake.Managed{ObjectMeta: metav1.ObjectMeta{Name: "first", UID: "0"}}, "Warning", "Older", "gone")
	warn(t, kube, &fake.Managed{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "2"}}, "Warning", "Other", "else")
	var log Log
	log.Logger().WithName("provider").Info("Reconciler made", "kind", "Managed")

	got := failureOf(t, kube, mg, &log)
	for _, want := range []string{
		`Managed "shop/first" will not be Ready: its condition Stalled is True`,
		"Synced=False ReconcileError: cannot publish: secrets is forbidden", "Stalled=True Refused\n",
		"CannotPublish: it", `provider "ts"=`, `"Reconciler made" "kind"="Managed"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the failure does not contain %q:\n%s", want, got)
		}
	}
	for _, other := range []string{"fine", "Older", "Other"} {
		if strings.Contains(got, other) {
			t.Errorf("the failure contains %q:\n%s", other, got)
		}
	}
}

// TestWaitSameError gives up when the reconciler has returned the same error five times since the wait began.
func TestWaitSameError(t *testing.T) {
	kube, mg := world(t, commonv1.ReconcileError(errors.New("refused")))
	var log Log
	of := log.Logger().WithValues("controllerKind", "Managed").WithValues("namespace", "shop", "name", "first")
	other := log.Logger().WithValues("controllerKind", "Managed").WithValues("namespace", "shop", "name", "other")
	for range 9 { // before the wait
		of.Error(errors.New("refused"), "Reconciler error")
	}
	reads := 0
	counting := &reader{Client: kube, get: func() {
		if reads++; reads == 3 {
			of.Error(errors.New("another"), "Reconciler error")
		}
		of.Error(errors.New("refused"), "Reconciler error")
		other.Error(errors.New("refused"), "Reconciler error")
	}}
	got := failureOf(t, counting, mg, &log)
	if want := "its reconciler has returned the same error 5 times in a row"; !strings.Contains(got, want) {
		t.Errorf("the failure does not contain %q:\n%s", want, got)
	}
	if reads != 7 {
		t.Errorf("the wait ended after %d reads, want 7: another error came between", reads)
	}
}

// TestWaitInVain waits for the whole budget, and says that the object does not exist.
func TestWaitInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube, mg := world(t)
		mg.Name = "missing"
		began := time.Now()
		got := failureOf(t, kube, mg, &Log{})
		for _, want := range []string{"waited in vain", `Managed "shop/missing" is Ready`, "The last read failed:\n",
			"not found"} {
			if !strings.Contains(got, want) {
				t.Errorf("the failure does not contain %q:\n%s", want, got)
			}
		}
		if time.Since(began) < time.Minute {
			t.Errorf("the wait ended after %v", time.Since(began))
		}
	})
}

// A reader calls a function before each Get.
type reader struct {
	client.Client

	get func()
}

func (r *reader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	r.get()

	return r.Client.Get(ctx, key, obj, o...)
}

package fake

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
)

var (
	_ resource.Managed     = &Managed{}
	_ resource.Object      = &Object{}
	_ resource.Conditioned = &Conditioned{}
)

func TestManagedJSON(t *testing.T) {
	m := &Managed{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	m.SetConditions(commonv1.Condition{Type: "Ready", Status: "True", Reason: "Attached",
		LastTransitionTime: metav1.Unix(0, 0)})

	got, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}

	want := `{"metadata":{"name":"m"},"status":{"conditions":[{"type":"Ready","status":"True",` +
		`"lastTransitionTime":"1970-01-01T00:00:00Z","reason":"Attached"}]}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestCopiesShareNothing(t *testing.T) {
	labels := func() map[string]string { return map[string]string{"a": "1"} }

	m := &Managed{ObjectMeta: metav1.ObjectMeta{Labels: labels()}}
	m.SetConditions(commonv1.Creating())

	o := &Object{ObjectMeta: metav1.ObjectMeta{Labels: labels()},
		Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels()}}}
	bare := &Object{ObjectMeta: metav1.ObjectMeta{Name: "bare"}}

	for name, obj := range map[string]runtime.Object{"Managed": m, "Object": o, "Bare": bare} {
		if diff := cmp.Diff(obj, obj.DeepCopyObject()); diff != "" {
			t.Errorf("%s: the copy differs: -want, +got:\n%s", name, diff)
		}
	}

	mc := m.DeepCopyObject().(*Managed)
	mc.Labels["a"] = "2"
	mc.SetConditions(commonv1.Available())

	oc := o.DeepCopyObject().(*Object)
	oc.Labels["a"] = "2"
	oc.Object.(*corev1.Pod).Labels["a"] = "2"

	if m.Labels["a"] != "1" || m.GetCondition(commonv1.TypeReady).Reason != commonv1.ReasonCreating {
		t.Error("Changing the copy changed the managed resource")
	}

	if o.Labels["a"] != "1" || o.Object.(*corev1.Pod).Labels["a"] != "1" {
		t.Error("Changing the copy changed the object")
	}
}

func TestObjectKind(t *testing.T) {
	p := &corev1.Pod{}
	p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))

	if got := (&Object{Object: p}).GetObjectKind().GroupVersionKind().Kind; got != "Pod" {
		t.Errorf("kind %q, want that of the embedded object", got)
	}

	for name, o := range map[string]runtime.Object{"Object": &Object{}, "Managed": &Managed{}} {
		if got := o.GetObjectKind().GroupVersionKind(); !got.Empty() {
			t.Errorf("%s: kind %s, want none", name, got)
		}
	}
}

func TestConditioned(t *testing.T) {
	c := &Conditioned{}
	c.SetConditions(commonv1.Creating(), commonv1.ReconcileSuccess())
	c.SetConditions(commonv1.Available())

	want := []commonv1.Condition{commonv1.Available(), commonv1.ReconcileSuccess()}
	if diff := cmp.Diff(want, c.Conditions, test.EquateConditions()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	if got := c.GetCondition("Attached").Status; got != metav1.ConditionUnknown {
		t.Errorf("A condition never set is %s", got)
	}
}

func TestSchemeWith(t *testing.T) {
	s := SchemeWith(&Managed{}, &Object{})

	for _, o := range []runtime.Object{&Managed{}, &Object{}} {
		got := resource.MustCreateObject(GVK(o), s)
		if diff := cmp.Diff(o, got); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	}

	if got := GVK(&Managed{}).String(); got != "g/v, Kind=Managed" {
		t.Errorf("GVK(...) = %s", got)
	}
}

func TestManager(t *testing.T) {
	c, s, cfg := test.NewMockClient(), SchemeWith(), &rest.Config{}
	m := &Manager{Client: c, Scheme: s, Config: cfg}

	if m.GetClient() != c || m.GetAPIReader() != c || m.GetScheme() != s || m.GetConfig() != cfg {
		t.Error("The manager returns another thing than it was given")
	}

	if m.GetCache() != nil || m.GetRESTMapper() != nil || (&Manager{}).GetAPIReader() != nil ||
		(&Manager{}).GetClient() != nil {
		t.Error("The manager returns what it was not given")
	}

	select {
	case <-m.Elected():
	default:
		t.Error("The manager is not elected")
	}

	e := event.Normal("Attached", "100%", "a", "b")
	event.NewRecorder(m.GetEventRecorder("x")).Event(&Managed{}, e)
	event.NewAPIRecorder(m.GetEventRecorderFor("x")).Event(&Managed{}, e)

	m.GetLogger().Info("dropped")

	if got := m.GetControllerOptions().MaxConcurrentReconciles; got != 0 {
		t.Errorf("The manager has options: %d", got)
	}
}

package managed

import (
	"maps"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unique"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// holds keeps a value in the table of package unique until the end of the test: the garbage collector removes
// unreferenced values, which would not be shared any more.
func holds[T comparable](t *testing.T, value T) {
	handle := unique.Make(value)
	t.Cleanup(func() { runtime.KeepAlive(handle) })
}

// TestCacheKeepsLittle verifies that a cached object is equal except for its managed fields, and that common
// strings are shared.
func TestCacheKeepsLittle(t *testing.T) {
	read := func(name string) *fake.Managed { // as a decoder does: each string anew
		m := &fake.Managed{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: strings.Clone("apps"),
			Finalizers:    append(make([]string, 0, 8), strings.Clone(FinalizerName)),
			Labels:        map[string]string{strings.Clone("label"): name},
			Annotations:   map[string]string{strings.Clone("annotation"): name},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody"}},
		}}
		m.SetConditions(commonv1.Condition{
			Type: commonv1.ConditionType(strings.Clone("Ready")), Status: metav1.ConditionStatus(strings.Clone("True")),
			Reason: commonv1.ConditionReason(strings.Clone("Available")), Message: name,
			LastTransitionTime: metav1.Unix(1, 0),
		})

		return m
	}
	for _, text := range []string{"apps", FinalizerName, "label", "annotation"} {
		holds(t, text)
	}
	holds(t, commonv1.ConditionType("Ready"))
	holds(t, metav1.ConditionTrue)
	holds(t, commonv1.ConditionReason("Available"))
	transform := CacheOptions().DefaultTransform
	var kept []*fake.Managed
	for _, name := range []string{"a", "b"} {
		out, err := transform(read(name))
		if err != nil {
			t.Fatal(err)
		}
		want := read(name)
		want.ManagedFields = nil
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		kept = append(kept, out.(*fake.Managed))
	}
	key := func(m map[string]string) string {
		for k := range m {
			return k
		}

		return ""
	}
	said := func(i int) commonv1.Condition { return kept[i].GetCondition(commonv1.TypeReady) }
	for what, texts := range map[string][2]string{
		"namespace":  {kept[0].Namespace, kept[1].Namespace},
		"finalizer":  {kept[0].Finalizers[0], kept[1].Finalizers[0]},
		"label":      {key(kept[0].Labels), key(kept[1].Labels)},
		"annotation": {key(kept[0].Annotations), key(kept[1].Annotations)},
		"condition":  {string(said(0).Type), string(said(1).Type)},
		"status":     {string(said(0).Status), string(said(1).Status)},
		"reason":     {string(said(0).Reason), string(said(1).Reason)},
	} {
		if unsafe.StringData(texts[0]) != unsafe.StringData(texts[1]) {
			t.Errorf("%s is kept for each object", what)
		}
	}
	if c := cap(kept[0].Finalizers); c != 1 {
		t.Errorf("room for %d finalizers is kept", c)
	}
}

// TestCacheSharesLabels verifies that objects with the same labels share the map, also if others come between; old
// label sets are dropped.
func TestCacheSharesLabels(t *testing.T) {
	transform := CacheOptions().DefaultTransform
	keep := func(labels map[string]string) map[string]string {
		t.Helper()
		out, err := transform(&fake.Managed{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)}})
		if err != nil {
			t.Fatal(err)
		}
		kept := out.(*fake.Managed).Labels
		if diff := cmp.Diff(labels, kept); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}

		return kept
	}
	fleet := func(name string) map[string]string { return map[string]string{"fleet": name, "zone": "north"} }
	same := func(a, b map[string]string) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

	first := keep(fleet("one"))
	if other := keep(fleet("two")); same(first, other) {
		t.Error("labels that differ are one map")
	}
	if !same(first, keep(fleet("one"))) {
		t.Error("labels that are the same are kept for each object")
	}
	for i := range 10 {
		keep(fleet(strconv.Itoa(i)))
	}
	if same(first, keep(fleet("one"))) {
		t.Error("labels of long ago are kept")
	}
	keep(nil)
	keep(map[string]string{})
}

// TestCacheKeepsWhatElseThereIs verifies that tombstones and objects without a type pass the transform.
func TestCacheKeepsWhatElseThereIs(t *testing.T) {
	transform := CacheOptions().DefaultTransform
	missed := toolscache.DeletedFinalStateUnknown{Key: "a"}
	if out, err := transform(missed); err != nil || out != missed {
		t.Errorf("got %v, %v", out, err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a", "managedFields": []any{}},
		"spec":     map[string]any{"size": int64(1)},
	}}
	out, err := transform(u)
	want := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"size": int64(1)},
	}}
	if diff := cmp.Diff(want, out); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

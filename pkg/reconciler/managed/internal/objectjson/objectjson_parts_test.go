package objectjson

import (
	stdjson "encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// Objects whose status is where few have it.
type (
	statusFirst struct {
		Status plainStatus `json:"status,omitempty"`
		fake.Managed
		Spec map[string]any `json:"spec,omitempty"`
	}
	statusSpoken struct{ fake.Managed }
	statusOwn    struct {
		commonv1.ConditionedStatus `json:",inline"`

		Deep deepStatus `json:",inline"`
		Size int64      `json:"size,omitempty"`
	}
	mapped map[string]any
)

func (statusSpoken) MarshalJSON() ([]byte, error) {
	return []byte(`{"status":{"size":7,"conditions":[]}}`), nil
}

func (o *statusFirst) DeepCopyObject() runtime.Object {
	c := *o

	return &c
}

// TestStatusOfWhateverType verifies that the status is taken from the field of the type, or else from the encoded
// object.
func TestStatusOfWhateverType(t *testing.T) {
	ready := commonv1.Condition{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(time.Unix(5, 0))}
	first := &statusFirst{Status: plainStatus{Size: 5, Conditions: []commonv1.Condition{ready}}}
	usual := bearing(nil)
	usual.SetConditions(ready)
	cases := map[string]struct {
		reason     string
		mg         resource.Managed
		part       bool
		fields     map[string]any
		conditions int
	}{
		"Usual": {"it is a field, the last one", usual, true, map[string]any{}, 1},
		"First": {"or the first", first, true, map[string]any{"size": int64(5)}, 1},
		"Spoken": {"a type may say for itself what it is encoded as", &statusSpoken{}, false,
			map[string]any{"size": int64(7)}, 0},
	}
	for name, tc := range cases {
		if _, ok := StatusPart(tc.mg); ok != tc.part {
			t.Errorf("%s: %s: a part is found: %t", name, tc.reason, ok)
		}
		got, err := StatusOf(tc.mg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.fields, got.Fields); diff != "" || len(got.Conditions) != tc.conditions {
			t.Errorf("%s: %s: %d conditions, fields -want +got:\n%s", name, tc.reason, len(got.Conditions), diff)
		}
		if n := len(ConditionsOf(tc.mg)); n != tc.conditions {
			t.Errorf("%s: %d conditions are found in place", name, n)
		}
	}
	if conditions := ConditionsOf(first); &conditions[0] != &first.Status.Conditions[0] {
		t.Error("the conditions are a copy")
	}
}

// TestStatusLikeAnother verifies that a status image is the same with and without that of another version, and
// shares its fields if only conditions differ.
func TestStatusLikeAnother(t *testing.T) {
	ready := commonv1.Condition{
		Type: "Ready", Status: "True", Message: "a",
		LastTransitionTime: metav1.NewTime(time.Unix(5, 7)),
	}
	sized := func(size int64, c ...commonv1.Condition) resource.Managed {
		return &statusFirst{Status: plainStatus{Size: size, Conditions: c}}
	}
	usual, none := bearing(map[string]string{"a": "b"}), bearing(nil)
	usual.SetConditions(ready)
	broken := sized(5, commonv1.Condition{Message: "\xff"})
	all := []resource.Managed{sized(5), sized(5, ready), sized(7, ready), broken, usual, none, &statusSpoken{}}
	for i, other := range all {
		known, err := StatusOf(other)
		if err != nil {
			t.Fatal(err)
		}
		for j, mg := range all {
			want, _ := StatusOf(mg)
			got, err := StatusLike(mg, other, known)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%d like %d is %+v, %v, want %+v", j, i, got, err, want)
			}
			if max(i, j) < 2 && reflect.ValueOf(got.Fields).Pointer() != reflect.ValueOf(known.Fields).Pointer() {
				t.Errorf("the fields of %d are not those of %d", j, i)
			}
		}
	}
}

// TestWhereConditionsAre verifies that the conditions of the outermost struct count, at any depth of embedding.
func TestWhereConditionsAre(t *testing.T) {
	for name, tc := range map[string]struct {
		of   any
		want []int
	}{
		"a field":  {plainStatus{}, []int{1}},
		"embedded": {usualStatus{}, []int{0, 0}},
		"embedded later": {struct {
			Size int
			commonv1.ConditionedStatus
		}{}, []int{1, 0}},
		"deep":         {deepStatus{}, []int{0, 0, 0}},
		"the nearest":  {statusOwn{}, []int{0, 0}},
		"not there":    {struct{ Size int }{}, nil},
		"in a pointer": {pointedStatus{}, nil},
		"with a suffix": {struct {
			Size int
			C    int `json:"conditions,omitempty"`
		}{}, []int{1}},
	} {
		if got, ok := conditionsField(reflect.TypeOf(tc.of)); ok != (tc.want != nil) ||
			!reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: found %t at %v, want %v", name, ok, got, tc.want)
		}
	}
}

// TestTimesOfConditionsThatComeBack verifies that times are truncated to seconds as by JSON, and that a zero time
// stays zero in any zone.
func TestTimesOfConditionsThatComeBack(t *testing.T) {
	east := time.FixedZone("east", 3600)
	got, ok := decoded([]commonv1.Condition{
		{Type: "a", LastTransitionTime: metav1.NewTime(time.Time{}.In(east))},
		{Type: "b", LastTransitionTime: metav1.NewTime(time.Unix(5, 7).In(east))},
	})
	want := []commonv1.Condition{{Type: "a"}, {Type: "b", LastTransitionTime: metav1.NewTime(time.Unix(5, 0))}}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded is %t, %#v, want %#v", ok, got, want)
	}
	for _, broken := range []commonv1.Condition{{Type: "\xff"}, {Status: "\xff"}, {Reason: "\xff"}, {Message: "\xff"}} {
		if _, ok := decoded([]commonv1.Condition{{Type: "a"}, broken}); ok {
			t.Errorf("%+v is taken for texts", broken)
		}
	}
}

// TestFieldsAreThoseOfTheSpec verifies that late initialization excludes status, metadata and kind.
func TestFieldsAreThoseOfTheSpec(t *testing.T) {
	whole := func(v string) *unstructuredManaged {
		return &unstructuredManaged{Object: map[string]any{
			"apiVersion": v, "kind": v, "metadata": map[string]any{"name": v}, "status": map[string]any{"size": v},
			"spec": map[string]any{"tier": v, "size": int64(1)}, "data": v,
		}}
	}
	got, err := Fields(whole("a"), whole("b"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"spec": map[string]any{"tier": "b"}, "data": "b"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWhatCannotBeEncoded verifies that a value that cannot be encoded or decoded is an error.
func TestWhatCannotBeEncoded(t *testing.T) {
	bad := &unstructuredManaged{Object: map[string]any{"spec": make(chan int)}}
	good := &unstructuredManaged{Object: map[string]any{}}
	for name, of := range map[string][2]resource.Managed{"before": {bad, good}, "after": {good, bad}} {
		if got, err := Fields(of[0], of[1]); err == nil || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := StatusOf(bad); err == nil {
		t.Error("the status of what cannot be encoded is one")
	}
	for name, status := range map[string]any{
		"conditions": map[string]any{"conditions": 5}, "no object": 5, "a channel": make(chan int),
	} {
		if got, err := imageOf(status); err == nil || got.Fields != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// An unstructuredManaged is an object that is encoded from a map.
type unstructuredManaged struct {
	fake.Managed

	Object mapped
}

func (o *unstructuredManaged) MarshalJSON() ([]byte, error) { return stdjson.Marshal(o.Object) }

// An unspeakable object cannot be encoded.
type unspeakable struct{ fake.Managed }

func (*unspeakable) MarshalJSON() ([]byte, error) { return nil, errors.New("it cannot be encoded") }

// TestAStatusThatCannotBeEncoded verifies that an object that cannot be encoded has no status image.
func TestAStatusThatCannotBeEncoded(t *testing.T) {
	if got, err := StatusOf(&unspeakable{}); err == nil || got.Fields != nil || got.Conditions != nil {
		t.Errorf("its status is %+v, error %v", got, err)
	}
}

// bearing returns an object with annotations.
func bearing(annotations map[string]string) *fake.Managed {
	return &fake.Managed{ObjectMeta: metav1.ObjectMeta{Name: "data", Annotations: annotations}}
}

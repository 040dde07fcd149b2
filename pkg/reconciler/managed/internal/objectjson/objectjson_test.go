package objectjson

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// Statuses of several shapes.
type (
	usualStatus struct {
		commonv1.ConditionedStatus `json:",inline"`

		Size  int64             `json:"size,omitempty"`
		Names map[string]string `json:"names,omitempty"`
	}
	deepStatus struct {
		usualStatus `json:",inline"`
	}
	plainStatus struct {
		Size       int64                `json:"size"`
		Conditions []commonv1.Condition `json:"conditions"`
	}
	otherStatus struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	}
	nestedStatus struct {
		Inner commonv1.ConditionedStatus `json:"inner"`
	}
	pointedStatus struct {
		*commonv1.ConditionedStatus `json:",inline"`
	}
	spokenStatus struct{ usualStatus }
)

func (spokenStatus) MarshalJSON() ([]byte, error) { return []byte(`{"size":7}`), nil }

// TestApart verifies that encoding a status without its conditions gives the same image as encoding all of it.
func TestApart(t *testing.T) {
	east := time.FixedZone("east", 5400)
	conditions := commonv1.ConditionedStatus{Conditions: []commonv1.Condition{
		{
			Type: "Ready", Status: "True", Reason: "Available",
			LastTransitionTime: metav1.NewTime(time.Date(2026, 2, 3, 4, 5, 6, 789, east)),
		},
		{
			Type: "Synced", Status: "False", Reason: "<&>", Message: "a\"\u2028\x00",
			ObservedGeneration: 3, LastTransitionTime: metav1.Now(),
		},
		{Type: "Never"},
	}}
	usual := usualStatus{ConditionedStatus: conditions, Size: 5, Names: map[string]string{"a": "b"}}
	broken := usual
	broken.Conditions = []commonv1.Condition{{Type: "Ready", Message: "a\xffb"}}
	for name, tc := range map[string]struct {
		reason string
		status any
		want   bool
	}{
		"Usual": {"conditions are embedded", &usual, true},
		"Deep":  {"even deeper", &deepStatus{usual}, true},
		"Plain": {"or a field, which is encoded when it is empty",
			&plainStatus{Size: 1, Conditions: conditions.Conditions}, true},
		"None":   {"there may be none", &plainStatus{}, true},
		"Empty":  {"or a list of none", &plainStatus{Conditions: []commonv1.Condition{}}, true},
		"Broken": {"JSON does not keep what is no text", &broken, false},
		"Other": {"conditions of another type",
			&otherStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "True"}}}, false},
		"Nested":    {"those in a field are not those of the status", &nestedStatus{Inner: conditions}, false},
		"Pointed":   {"nor may there be a way to them", &pointedStatus{}, false},
		"Spoken":    {"a type may say for itself what it is encoded as", &spokenStatus{usual}, false},
		"Value":     {"a part of an image is one already", map[string]any{"size": int64(1)}, false},
		"NoPointer": {"what cannot be changed is encoded", usual, false},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := imageOf(tc.status)
			if err != nil {
				t.Fatal(err)
			}
			rest, apartly, ok := apart(tc.status)
			if ok != tc.want {
				t.Fatalf("%s: taken apart is %t", tc.reason, ok)
			}
			if !ok {
				return
			}
			got, err := imageOf(rest)
			if err != nil {
				t.Fatal(err)
			}
			got.Conditions = apartly
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Status{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if len(want.PatchTo(got)) > 0 {
				t.Errorf("%s: they differ: %v", tc.reason, want.PatchTo(got))
			}
		})
	}
}

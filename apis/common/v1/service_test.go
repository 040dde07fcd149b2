package v1_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// TestServiceStatusJSON: the JSON of a service's status is that of the platform's common status. Definitions that were
// generated for that one require observedGeneration and phase, so both are written even if they are empty.
func TestServiceStatusJSON(t *testing.T) {
	type status struct {
		commonv1.ServiceStatus `json:",inline"`
	}

	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

	for name, tc := range map[string]struct {
		status commonv1.ServiceStatus
		want   string
	}{
		"Empty": {want: `{"observedGeneration":0,"phase":""}`},
		"Full": {
			status: commonv1.ServiceStatus{ObservedGeneration: 7, Phase: "Ready", Conditions: []metav1.Condition{
				{Type: "Ready", Status: metav1.ConditionTrue, Reason: "ReconcileSuccess", LastTransitionTime: at},
			}},
			want: `{"observedGeneration":7,"conditions":[{"type":"Ready","status":"True",` +
				`"lastTransitionTime":"2026-01-02T03:04:05Z","reason":"ReconcileSuccess","message":""}],"phase":"Ready"}`,
		},
	} {
		got, err := json.Marshal(status{tc.status})
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(tc.want, string(got)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}

package cluster

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
)

func TestEventOf(t *testing.T) {
	const (
		first, last = "2026-11-28T10:00:00Z", "2026-11-28T11:00:00Z"
		micro       = "2026-11-28T12:00:00.000000Z"
	)

	cases := map[string]struct {
		reason string
		fields map[string]any
		hour   int
		count  int32
	}{
		"Old": {
			"of the API group without a name", map[string]any{
				"firstTimestamp": first, "lastTimestamp": last, "count": int64(3), "eventTime": nil,
			}, 11, 3,
		},
		"New": {"of events.k8s.io", map[string]any{"eventTime": micro}, 12, 1},
		"Series": {"a repeated event of events.k8s.io", map[string]any{"eventTime": "2026-11-28T09:00:00.000000Z",
			"series": map[string]any{"count": int64(7), "lastObservedTime": micro}}, 12, 7},
		"Neither": {"only the object", map[string]any{"metadata": map[string]any{"creationTimestamp": first}}, 10, 1},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.fields["message"] = "two\nlines"

			got, ok := EventOf(object.Of(&unstructured.Unstructured{Object: tc.fields}))
			if !ok || got.Time.UTC() != time.Date(2026, 11, 28, tc.hour, 0, 0, 0, time.UTC) || got.Count != tc.count ||
				got.Message != "two lines" {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
		})
	}
}

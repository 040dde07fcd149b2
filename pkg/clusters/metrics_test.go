package clusters

import (
	"testing"

	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// TestRequestMetricsAreShared checks that all Clusters find the same hostMetrics, and that it exposes nothing.
func TestRequestMetricsAreShared(t *testing.T) {
	if first, second := requestMetrics(), requestMetrics(); first == nil || first != second {
		t.Errorf("two Clusters have %p and %p", first, second)
	}
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == hostsName {
			t.Errorf("%s is exposed", hostsName)
		}
	}
}

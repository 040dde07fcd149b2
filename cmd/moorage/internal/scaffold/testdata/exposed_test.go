package bucket_test

import (
	"context"
	"os"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"k8s.io/apimachinery/pkg/runtime"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"

	"example.org/provider-cloud/apis/v1alpha1"
	"example.org/provider-cloud/internal/controller/bucket"
)

// TestExposed prints the gauges and counters that a provider shows that has begun and has
// no objects.
func TestExposed(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}

	kube := ctrlfake.NewClientBuilder().WithScheme(scheme).Build()
	managed.NewReconciler(&fake.Manager{Client: kube, Scheme: scheme}, bucket.Kind(),
		append(bucket.Options(), managed.WithExternalConnecter(managed.ExternalConnectorFn(
			func(context.Context, resource.Managed) (managed.ExternalClient, error) { return nil, nil })))...)

	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "moorage_") || f.GetType() == dto.MetricType_HISTOGRAM {
			continue
		}

		if _, err := expfmt.MetricFamilyToText(os.Stdout, f); err != nil {
			t.Fatal(err)
		}
	}
}

package systemtest

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/test/wait"

	"example.org/provider-cloud/apis/v1alpha1"
	"example.org/provider-cloud/internal/testenv"
)

// TestConnected ends the API and its token: the ProviderConfig reports each failure once, and
// the objects are synced soon after the end of the failure.
func TestConnected(t *testing.T) {
	w := testenv.Start(t)

	mg := &v1alpha1.Bucket{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "bucket"},
		Spec:       v1alpha1.BucketSpec{ForProvider: v1alpha1.BucketParameters{Size: 40}},
	}
	must(t, w.Kube.Create(t.Context(), mg))
	w.Ready(t, mg)

	config := &v1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "default"}}
	becomes := func(want metav1.ConditionStatus, reason commonv1.ConditionReason) {
		t.Helper()
		wait.Until(t, "the condition Connected is "+string(want)+" "+string(reason), func() bool {
			must(t, w.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(config), config))
			got := config.GetCondition("Connected")

			return got.Status == want && got.Reason == reason
		})
	}

	mend, err := w.Fake.Break(t.Context())
	must(t, err)
	becomes(metav1.ConditionFalse, commonv1.ReasonConnectionUnavailable)
	must(t, mend(t.Context()))
	becomes(metav1.ConditionTrue, commonv1.ReasonConnectionAvailable)

	wait.Until(t, "one event for each change", func() bool {
		var events corev1.EventList
		must(t, w.Kube.List(t.Context(), &events, ctrlclient.InNamespace(w.Namespace)))

		reported := map[string]int{}
		for _, e := range events.Items {
			if e.InvolvedObject.Kind == "ProviderConfig" {
				reported[e.Reason]++
			}
		}

		return reported["ConnectionUnavailable"] == 1 && reported["Connected"] == 1
	})

	families, err := metrics.Registry.Gather()
	must(t, err)

	shown := map[string]bool{}
	for _, f := range families {
		shown[f.GetName()] = true
	}

	if !shown["moorage_connection_open"] {
		t.Errorf("there are no metrics of the connection: %v", shown)
	}

	must(t, w.Kube.Delete(context.Background(), mg))
	w.Gone(t, mg)
}

func must(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

package connect

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestUnauthorizedUserRereadsSecret verifies that the Secret is read at once when a
// server rejects the credentials of a user of the connection.
func TestUnauthorizedUserRereadsSecret(t *testing.T) {
	ns := namespace(t)
	cache := clusters.NewClusterCache(scheme, clusters.CacheOptions[*clusters.Cluster]{})
	t.Cleanup(cache.Close)
	start(t, cache, WithRecheckInterval(24*time.Hour), WithProbeInterval(24*time.Hour))
	c := newCluster(ns, "east")
	create(t, &corev1.Secret{
		ObjectMeta: c.ObjectMeta, Data: map[string][]byte{"kubeconfig": credentials(t, ns, "first")},
	}, c)
	waitForReason(t, c, commonv1.ReasonConnectionAvailable)
	before := c.Status.Revision
	rotate(t, ns, "east", credentials(t, ns, "second"))
	if err := api.Delete(t.Context(), &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "first"},
	}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "there is another connection", func() bool {
		if got, _, err := cache.Get(t.Context(), client.ObjectKeyFromObject(c)); err == nil {
			_ = got.Client().Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})
		}

		return waitForReason(t, c, commonv1.ReasonConnectionAvailable).Status.Revision != before
	})
}

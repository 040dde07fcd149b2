package systemtest

import (
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

const localAddress = "example.org/localhost"

// local returns the address of a server by another name.
func local(t *testing.T, p *plane) string {
	t.Helper()
	at, err := url.Parse(p.config.Host)
	if err != nil {
		t.Fatal(err)
	}

	return "https://localhost:" + at.Port()
}

// reached returns the cluster that the gardener was given last.
func (e *estate) reached(g *Garden, id string) *clusters.Cluster {
	e.gardener.mu.Lock()
	defer e.gardener.mu.Unlock()
	c, ok := e.gardener.given[g.Name].Cluster(id)
	if !ok {
		e.Fatalf("the gardener was not given the cluster %s", id)
	}

	return c
}

// TestLocalAccess: both clusters may be reached at other addresses, and prove there that they
// are the same: another server is not talked to.
func TestLocalAccess(t *testing.T) {
	e := newEstate(t, "local")
	e.workload, e.local = true, true
	e.grant()
	e.start()
	g := e.ready("g")
	for id, suffix := range map[string]string{
		serviceprovider.ClusterMCP: "mcp", serviceprovider.ClusterWorkload: "wl",
	} {
		t.Run(id, func(t *testing.T) {
			e.T = t
			ar := &clustersv1alpha1.AccessRequest{ObjectMeta: metav1.ObjectMeta{
				Namespace: e.request(g).Namespace, Name: e.ns + "--" + g.Name + "--" + suffix,
			}}
			at := func(address string) {
				t.Helper()
				wait.Until(t, "it is reached at "+address,
					func() bool { return e.reached(g, id).APIServerEndpoint() == address })
			}
			at(mcp.config.Host)
			for _, row := range []struct{ address, says string }{
				{"https://localhost:1", "connection refused"}, {local(t, onboarding), "failed to verify certificate"},
			} {
				merge(t, platform.api, ar, `{"metadata":{"annotations":{"`+localAddress+`":"`+row.address+`"}}}`)
				at(row.address)
				wait.Until(t, row.address+" is refused", func() bool {
					e.says(g, serviceprovider.ServiceProviderConditionReady, "Planting")

					return strings.Contains(meta.FindStatusCondition(g.Status.Conditions,
						serviceprovider.ServiceProviderConditionReady).Message, row.says)
				})
			}
			merge(t, platform.api, ar, `{"metadata":{"annotations":{"`+localAddress+`":"`+local(t, mcp)+`"}}}`)
			at(local(t, mcp))
			e.shows(g, serviceprovider.StatusPhaseReady, serviceprovider.ReasonReconcileSuccess)
			bed := newBed(g)
			config := e.reached(g, id).RESTConfig()
			was, err := url.Parse(mcp.config.Host)
			if err != nil || config.ServerName != was.Hostname() || config.Insecure || len(config.CAData) == 0 {
				t.Errorf("the server does not have to prove that it is %s: %+v, %v", was, config.TLSClientConfig, err)
			}
			if err := e.reached(g, id).Client().Get(t.Context(), client.ObjectKeyFromObject(bed), bed); err != nil {
				t.Error(err)
			}
			merge(t, platform.api, ar, `{"metadata":{"annotations":{"`+localAddress+`":null}}}`)
			at(mcp.config.Host)
			e.passes(3)
			e.shows(g, serviceprovider.StatusPhaseReady, serviceprovider.ReasonReconcileSuccess)
		})
	}
	e.T = t
}

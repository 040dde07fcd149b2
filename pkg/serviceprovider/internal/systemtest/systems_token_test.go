package systemtest

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// holder returns a client with the credentials that an object has now.
func (e *estate) holder(g *Garden) client.Client {
	e.Helper()
	ar := e.request(g)
	if gone(e.T, platform.api, ar) {
		e.Fatal("there is no AccessRequest")
	}
	secret := &corev1.Secret{}
	if err := platform.api.Get(e.Context(), serviceprovider.SecretKeyOf(ar), secret); err != nil {
		e.Fatal(err)
	}
	k, err := clusters.ParseKubeconfig(secret.Data["kubeconfig"], "")
	if err != nil {
		e.Fatal(err)
	}
	c, err := client.New(k.RESTConfig, client.Options{Scheme: scheme})
	if err != nil {
		e.Fatal(err)
	}

	return c
}

// ends waits until the control plane does not accept the credentials of a client any more.
func (e *estate) ends(what string, old client.Client, g *Garden) {
	e.Helper()
	bed := newBed(g)
	wait.Until(e.T, what, func() bool {
		return kerrors.IsUnauthorized(old.Get(e.Context(), client.ObjectKeyFromObject(bed), bed))
	})
}

// TestTokensEnd: after a rotation the old token is of no use, and the service goes on with
// the new one at once: since its Secret is watched, or, where the role does not allow that,
// since the control plane does not accept the old one. Nothing looks at Secrets by the clock.
func TestTokensEnd(t *testing.T) {
	t.Parallel() // it waits, most of the time: a server remembers for ten seconds that a token was good
	for name, modest := range map[string]bool{"watched": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEstate(t, "ends-"+name)
			e.recheck, e.modest = time.Hour, modest
			e.grantWithOthers("g")
			e.start()
			g := e.ready("g")
			old, before := e.holder(g), g.Status.Revision
			if err := old.Get(t.Context(), client.ObjectKeyFromObject(newBed(g)), newBed(g)); err != nil {
				t.Fatalf("the token is of no use before it was rotated: %v", err)
			}
			if err := e.granter.Rotate(t.Context(), client.ObjectKeyFromObject(e.request(g))); err != nil {
				t.Fatal(err)
			}
			wait.Until(t, "the service has another connection", func() bool {
				return !gone(t, onboarding.api, g) && g.Status.Phase == serviceprovider.StatusPhaseReady &&
					g.Status.Revision != before
			})
			e.ends("the old token is refused", old, g)
			e.passes(5)
			e.shows(g, serviceprovider.StatusPhaseReady, serviceprovider.ReasonReconcileSuccess)
			if n := e.builds.Load(); n != 2 {
				t.Errorf("want a connection for each token, got %d", n)
			}
			if _, refused := e.asked[platform].all(); modest != slices.Contains(refused, "/secrets watch") {
				t.Errorf("the provider may watch Secrets: %t; refused: %v", !modest, refused)
			}
		})
	}
}

package systemtest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// passes waits until the gardener has worked some more times.
func (e *estate) passes(more int) {
	e.Helper()
	before, _, _ := e.gardener.counts()
	wait.Until(e.T, "there are more passes", func() bool { n, _, _ := e.gardener.counts(); return n >= before+more })
}

func (e *estate) grows(g *Garden, plant string) {
	e.Helper()
	bed := newBed(g)
	wait.Until(e.T, "the garden has "+plant,
		func() bool { return !gone(e.T, mcp.api, bed) && bed.Data["plant"] == plant })
}

// TestLife: access is asked for and granted, the configuration fans out, a rotated Secret
// makes one new connection, a restart changes nothing, steady passes send nothing, a
// user's resource blocks the deletion, and in the end nothing is left.
func TestLife(t *testing.T) {
	e := newEstate(t, "life")
	e.grant()
	e.start()
	e.plane("g")
	g := e.create("g")
	e.says(g, "Ready", serviceprovider.ReasonReconcileSuccess)
	e.says(g, serviceprovider.ConditionClusterAccessReady, serviceprovider.ReasonGranted)
	own := e.account(g)
	if gone(t, mcp.api, own) {
		t.Error("access is granted without an account")
	}
	e.grows(g, "roses")

	e.ledger.Reset()
	e.passes(20)
	if sent := e.ledger.Objects(); len(sent) != 0 {
		t.Errorf("steady passes send to the onboarding cluster: %s", test.SummarizeRequests(sent))
	}
	if n := e.builds.Load(); n != 1 {
		t.Errorf("want one connection, got %d", n)
	}

	merge := client.RawPatch("application/merge-patch+json", []byte(`{"plant":"tulips"}`))
	if err := platform.api.Patch(t.Context(), e.config, merge); err != nil {
		t.Fatal(err)
	}
	e.grows(g, "tulips")

	before := g.Status.Revision
	if err := e.granter.Rotate(t.Context(), client.ObjectKeyFromObject(e.request(g))); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "there is a new revision",
		func() bool { _ = gone(t, onboarding.api, g); return g.Status.Revision != before })
	e.passes(5)
	if n := e.builds.Load(); n != 2 {
		t.Errorf("want one connection more, got %d", n)
	}

	_ = gone(t, onboarding.api, g)
	kept := g.DeepCopyObject()
	e.stop()
	e.start()
	e.passes(3)
	_ = gone(t, onboarding.api, g)
	if diff := cmp.Diff(kept, g.DeepCopyObject()); diff != "" {
		t.Errorf("a restart has changed the object: -before +after:\n%s", diff)
	}

	pot := newPot(g)
	if err := mcp.api.Create(t.Context(), pot); err != nil {
		t.Fatal(err)
	}
	e.delete(onboarding.api, g)
	wait.Until(t, "the deletion waits", func() bool { _, n, _ := e.gardener.counts(); return n > 3 })
	e.says(g, "Ready", serviceprovider.ReasonTerminating)
	e.delete(mcp.api, pot)
	wait.Until(t, "it is gone", func() bool { return gone(t, onboarding.api, g) })
	if !gone(t, mcp.api, newBed(g)) || !gone(t, platform.api, e.request(g)) {
		t.Error("something is left")
	}
	if !gone(t, mcp.api, own) {
		t.Error("the account is left")
	}
}

// account returns the one with which a garden has access to its control plane.
func (e *estate) account(g *Garden) *corev1.ServiceAccount {
	e.Helper()
	ar := e.request(g)
	if gone(e.T, platform.api, ar) || ar.Status.SecretRef == nil {
		e.Fatalf("there is no access: %+v", ar.Status)
	}

	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: "granted-access", Name: strings.TrimSuffix(ar.Status.SecretRef.Name, "-access"),
	}}
}

// TestDenied: it shows, nothing is made, and access that is granted later is noticed.
func TestDenied(t *testing.T) {
	e := newEstate(t, "denied")
	g := &Garden{ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: "g"}}
	e.denied.Store(e.request(g).Namespace, true)
	e.grant()
	e.start()
	e.plane("g")
	g = e.create("g")
	e.says(g, "Ready", serviceprovider.ReasonClusterAccessDenied)
	if n, _, _ := e.gardener.counts(); n != 0 {
		t.Error("the domain was called without access")
	}
	e.denied.Clear()
	touch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"asked":"again"}}}`))
	if err := platform.api.Patch(t.Context(), e.request(g), touch); err != nil {
		t.Fatal(err)
	}
	e.says(g, "Ready", serviceprovider.ReasonReconcileSuccess)
	e.delete(onboarding.api, g)
	wait.Until(t, "it is gone", func() bool { return gone(t, onboarding.api, g) })
}

// TestAccessGoneFirst: an administrator deletes the AccessRequest. It is made again for a service that is
// wanted; and before its deletion, for which the domain is called all the same.
func TestAccessGoneFirst(t *testing.T) {
	e := newEstate(t, "gone-first")
	e.grant()
	e.start()
	e.plane("g")
	g := e.create("g")
	e.says(g, "Ready", serviceprovider.ReasonReconcileSuccess)
	old := e.request(g)
	if gone(t, platform.api, old) {
		t.Fatal("there is no request")
	}
	e.delete(platform.api, e.request(g))
	wait.Until(t, "there is another request", func() bool {
		now := e.request(g)

		return !gone(t, platform.api, now) && now.UID != old.UID && now.Status.Phase == clustersv1alpha1.RequestGranted
	})
	e.says(g, "Ready", serviceprovider.ReasonReconcileSuccess)
	e.delete(platform.api, e.request(g))
	e.delete(onboarding.api, g)
	wait.Until(t, "it is gone", func() bool { return gone(t, onboarding.api, g) })
	if e.gardener.called("Delete", g.Name) == 0 {
		t.Error("it went without a call of Delete")
	}
	wait.Until(t, "the request is gone", func() bool { return gone(t, platform.api, e.request(g)) })
}

// TestControlPlaneGoneFirst: the deletion is blocked, and says so, or ends, as the policy
// says.
func TestControlPlaneGoneFirst(t *testing.T) {
	for policy, name := range map[serviceprovider.DeletionPolicy]string{
		serviceprovider.DeletionBlock: "blocks", serviceprovider.DeletionOrphan: "orphans",
	} {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, name)
			e.onGone = policy
			e.grant()
			e.start()
			cr := e.plane("g")
			g := e.create("g")
			e.says(g, "Ready", serviceprovider.ReasonReconcileSuccess)
			e.delete(platform.api, cr)
			wait.Until(t, "the control plane is gone", func() bool { return gone(t, platform.api, cr) })
			e.delete(onboarding.api, g)
			if policy == serviceprovider.DeletionOrphan {
				wait.Until(t, "it is gone", func() bool { return gone(t, onboarding.api, g) })

				return
			}
			e.says(g, serviceprovider.ConditionDeletionBlocked, serviceprovider.ReasonClusterGone)
			e.plane("g")
			wait.Until(t, "it is gone when the control plane is back",
				func() bool { return gone(t, onboarding.api, g) })
		})
	}
}

// TestExpiry: credentials that are good for a minute are renewed in time, and the
// service never notices that those before have ended. They are renewed when half of their
// time is over: a busy machine has the other half for it.
func TestExpiry(t *testing.T) {
	t.Parallel() // it waits, most of the time
	begin := time.Now()
	e := newEstate(t, "expiry")
	e.ttl = time.Minute
	e.grantWithOthers("g")
	e.start()
	e.plane("g")
	g := e.create("g")
	e.says(g, "Ready", serviceprovider.ReasonReconcileSuccess)
	first := e.holder(g)
	wait.Until(t, "there were several credentials", func() bool {
		_ = gone(t, onboarding.api, g)
		if g.Status.Phase != serviceprovider.StatusPhaseReady {
			t.Fatalf("the service is not ready any more: %+v", g.Status)
		}
		_, _, n := e.gardener.counts()

		return n >= 3
	})
	builds := e.builds.Load()
	if most := 2 + int32(2*time.Since(begin)/e.ttl); builds > most {
		t.Errorf("want a connection for each of the credentials, %d at most, got %d", most, builds)
	}
	e.ends("the first token has really expired", first, g)
}

// TestTwoProviders: two of them in one process do not disturb each other, also if both
// have their configurations sent.
func TestTwoProviders(t *testing.T) {
	one, two := newEstate(t, "one"), newEstate(t, "two")
	one.channel, two.channel = true, true
	one.grant()
	one.start()
	two.start()
	for _, e := range []*estate{one, two} {
		e.plane("g")
	}
	a, b := one.create("g"), two.create("g")
	one.says(a, "Ready", serviceprovider.ReasonReconcileSuccess)
	two.says(b, "Ready", serviceprovider.ReasonReconcileSuccess)
	if gone(t, platform.api, one.request(a)) || gone(t, platform.api, two.request(b)) {
		t.Error("want a request for each")
	}
}

package systemtest

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// awaitConfig waits until a condition holds for a configuration.
func (w *world) awaitConfig(pc providerconfig.Config, what string, holds func() bool) {
	w.Helper()
	wait.Until(w.T, pc.GetName()+" "+what, func() bool {
		must(w.T, kube.Get(w.Context(), client.ObjectKeyFromObject(pc), pc))
		w.guard("configurations", pc)

		return holds()
	})
}

// TestProviderConfigInUse: a ProviderConfig that is deleted stays until it has no users, and names them;
// new objects cannot use it meanwhile.
func TestProviderConfigInUse(t *testing.T) {
	runProvider(t, badPoll)

	w := newWorld(t)
	pc := w.providerConfig("")
	orders := &v1alpha1.Stream{ObjectMeta: w.meta("orders")}
	w.create(orders)
	w.awaitReady(orders)
	w.awaitConfig(pc, "counts its users", func() bool { return pc.Status.Users == 1 })

	w.delete(pc)
	w.awaitConfig(pc, "waits", func() bool {
		c := pc.GetCondition(commonv1.TypeTerminating)

		return c.Status == metav1.ConditionFalse && c.Reason == commonv1.ReasonInUse && strings.Contains(c.Message, "orders")
	})

	late := &v1alpha1.KeyValue{ObjectMeta: w.meta("late")}
	w.create(late)
	w.awaitSynced(late, "False/ReconcileError")

	if got := late.GetCondition(commonv1.TypeSynced).Message; !strings.Contains(got, "is being deleted") {
		t.Errorf("a new user reports: %s", got)
	}

	w.delete(late)
	w.awaitGone(late)

	// It exists for as long as it is needed.
	w.delete(orders)
	w.awaitGone(orders)
	wait.Until(t, "the ProviderConfig goes", func() bool {
		return apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(pc), pc))
	})

	if left := w.streams(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestClusterProviderConfig: objects of several namespaces use one connection, whose Secret is in another.
func TestClusterProviderConfig(t *testing.T) {
	runProvider(t, badPoll)

	w := newWorld(t)
	other, vault := namespace(t), namespace(t)

	pc := w.clusterConfig(vault)
	secret := w.secret(token)
	secret.Namespace = vault
	w.create(secret, pc)
	// A Secret of the same name in the object's own namespace is not used.
	w.setSecret(map[string]string{"token": canary + "-wrong"})
	t.Cleanup(func() { release(context.Background(), pc) })

	first, second := &v1alpha1.Stream{ObjectMeta: w.meta("first")}, &v1alpha1.Stream{ObjectMeta: w.meta("second")}
	second.Namespace = other

	for _, mg := range []*v1alpha1.Stream{first, second} {
		mg.Spec.ProviderConfigRef = v1alpha1.ProviderConfigReference{Kind: v1alpha1.ClusterProviderConfigKind, Name: pc.Name}
		w.create(mg)
		w.awaitReady(mg)
	}

	w.awaitConfig(pc, "counts its users", func() bool { return pc.Status.Users == 2 })
	w.delete(pc)

	for _, mg := range []*v1alpha1.Stream{first, second} {
		w.delete(mg)
		w.awaitGone(mg)
	}

	wait.Until(t, "the ClusterProviderConfig goes", func() bool {
		return apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(pc), pc))
	})
}

package systemtest

import (
	"context"
	"slices"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestCorrectedConfiguration: objects are reconciled as soon as their configuration is corrected or
// changed, without a poll: those that failed, and those that were up to date.
func TestCorrectedConfiguration(t *testing.T) {
	runProvider(t, never)

	const away = "False/ExternalSystemUnavailable"

	cases := map[string]func(w *world) (set func(url string), ref v1alpha1.ProviderConfigReference){
		"Namespaced": func(w *world) (func(string), v1alpha1.ProviderConfigReference) {
			pc := w.providerConfig(unreachable)
			pc.Name = "corrected"
			w.create(pc)
			w.Cleanup(func() { release(context.Background(), pc) })

			return func(url string) {
				w.patch(pc, func() { pc.Spec.Servers = []string{url} })
			}, v1alpha1.ProviderConfigReference{Name: pc.Name}
		},
		"Cluster": func(w *world) (func(string), v1alpha1.ProviderConfigReference) {
			pc := w.clusterConfig(w.ns)
			pc.Spec.Servers = []string{unreachable}
			w.create(pc)
			w.Cleanup(func() { release(context.Background(), pc) })

			return func(url string) { w.patch(pc, func() { pc.Spec.Servers = []string{url} }) },
				v1alpha1.ProviderConfigReference{Kind: v1alpha1.ClusterProviderConfigKind, Name: pc.Name}
		},
	}

	for name, prepare := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			setServer, ref := prepare(w) // wrong from the beginning: an object that was up to date does not report it

			orders, bucket := &v1alpha1.Stream{ObjectMeta: w.meta("orders")}, &v1alpha1.KeyValue{ObjectMeta: w.meta("sessions")}
			objects := &v1alpha1.ObjectStore{ObjectMeta: w.meta("invoices")}
			pull := w.consumer("billing", v1alpha1.ConsumerParameters{StreamRef: &commonv1.NamespacedReference{Name: "orders"}})
			orders.Spec.ProviderConfigRef, bucket.Spec.ProviderConfigRef = ref, ref
			objects.Spec.ProviderConfigRef, pull.Spec.ProviderConfigRef = ref, ref

			all := map[resource.Managed]string{
				orders: away, bucket: away, objects: away, pull: "False/ReferenceNotReady",
			}
			for mg := range all {
				w.create(mg)
			}

			for mg, failed := range all {
				w.awaitSynced(mg, failed)
			}

			setServer(w.nats.ClientURL())

			for mg := range all {
				w.awaitReady(mg)
			}

			other := natstest.Start(t, func(o *server.Options) { o.Authorization = token })
			setServer(other.ClientURL())
			awaitMove(t, other)
		})
	}
}

// awaitMove waits until the resources of TestCorrectedConfiguration exist in that NATS.
func awaitMove(t *testing.T, in *server.Server) {
	t.Helper()

	js, err := jetstream.New(natstest.Connect(t, in, nats.Token(token)), jetstream.WithDefaultTimeout(wait.Patience()))
	must(t, err)

	w := &world{T: t, js: js}

	wait.Until(t, "everything is where the configuration says", func() bool {
		return slices.Equal(w.streams(), []string{"KV_sessions", "OBJ_invoices", "orders"})
	})
	wait.Until(t, "the consumer is where its stream is", func() bool {
		_, err := js.Consumer(t.Context(), "orders", "billing")

		return err == nil
	})
}

// clusterConfig returns a ClusterProviderConfig whose Secret is in that namespace.
func (w *world) clusterConfig(vault string) *v1alpha1.ClusterProviderConfig {
	return &v1alpha1.ClusterProviderConfig{
		ObjectMeta: metav1.ObjectMeta{Name: w.ns}, // one of its own for each test
		Spec: v1alpha1.ClusterProviderConfigSpec{
			Servers: []string{w.nats.ClientURL()},
			Credentials: v1alpha1.ClusterCredentials{
				Source: v1alpha1.CredentialsSecret, Type: v1alpha1.CredentialsTypeToken,
				SecretRef: &v1alpha1.NamespacedSecretKeyReference{NamespacedSecretReference: v1alpha1.NamespacedSecretReference{
					Namespace: vault, Name: login,
				}},
			},
		},
	}
}

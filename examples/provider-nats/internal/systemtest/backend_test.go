package systemtest

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestAnotherNATS: a stream is observed only in the NATS in which it was created. When its configuration
// leads to another one, nothing is created there before its user has agreed.
func TestAnotherNATS(t *testing.T) {
	runProvider(t, badPoll)

	w := newWorld(t)
	orders := &v1alpha1.Stream{ObjectMeta: w.meta("orders")}
	w.create(orders)
	w.awaitReady(orders)

	if got := orders.GetAnnotations()[meta.AnnotationKeyBackendIdentity]; got != "/$G" {
		t.Errorf("the stream is in %q, want \"/$G\"", got)
	}

	other := natstest.Start(t, func(o *server.Options) { o.Authorization, o.JetStreamDomain = token, "hub" })
	js, err := jetstream.NewWithDomain(natstest.Connect(t, other, nats.Token(token)), "hub",
		jetstream.WithDefaultTimeout(wait.Patience()))
	must(t, err)

	pc := w.providerConfig(other.ClientURL())
	w.patch(pc, func() { pc.Spec.Servers, pc.Spec.Domain = []string{other.ClientURL()}, "hub" })
	w.awaitSynced(orders, "False/BackendChanged")

	if _, err := js.Stream(t.Context(), "orders"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the stream was made in another NATS: %v", err)
	}

	w.annotate(orders, meta.AnnotationKeyAllowBackendChange, "/$G/hub")
	wait.Until(t, "the stream is made where its user allowed it", func() bool {
		_, err := js.Stream(t.Context(), "orders")

		return err == nil
	})
	w.awaitReady(orders)
}

package systemtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// awaitConnection waits for the connection Secret of an object, and returns its contents. It belongs to the
// object, and contains nothing else.
func (w *world) awaitConnection(mg resource.Managed, name string) map[string]string {
	w.Helper()

	secret := &corev1.Secret{ObjectMeta: w.meta(name)}
	wait.Until(w.T, "the Secret "+name, func() bool {
		return kube.Get(w.Context(), client.ObjectKeyFromObject(secret), secret) == nil
	})

	if w.read(mg); !metav1.IsControlledBy(secret, mg) {
		w.Errorf("the Secret %s belongs to %v", name, secret.GetOwnerReferences())
	}

	out := map[string]string{}

	for key, value := range secret.Data {
		out[key] = string(value)

		if strings.Contains(string(value), canary) {
			w.Errorf("the Secret %s holds the provider's own credential under %s", name, key)
		}
	}

	return out
}

// TestConnectionSecrets: the Secret contains what an application needs to connect.
func TestConnectionSecrets(t *testing.T) {
	runProvider(t, badPoll)

	w := newWorld(t)
	url := w.nats.ClientURL()

	orders := &v1alpha1.Stream{ObjectMeta: w.meta("orders")}
	orders.Spec.ForProvider.Subjects = []string{"orders.>", "a.*"}
	pull := &v1alpha1.Consumer{ObjectMeta: w.meta("pull")}
	pull.Spec.ForProvider.Stream = new("orders")
	push := &v1alpha1.Consumer{ObjectMeta: w.meta("push")}
	push.Spec.ForProvider = v1alpha1.ConsumerParameters{
		Stream: new("orders"), Push: &v1alpha1.Push{DeliverSubject: "inbox.push", DeliverGroup: new("workers")},
	}

	all := map[resource.Managed]map[string]string{
		orders: {"servers": url, "stream": "orders", "subjects": "a.*,orders.>"},
		pull:   {"servers": url, "stream": "orders", "consumer": "pull"},
		push: {
			"servers": url, "stream": "orders", "consumer": "push", "deliverSubject": "inbox.push", "deliverGroup": "workers",
		},
		&v1alpha1.KeyValue{ObjectMeta: w.meta("sessions")}:    {"servers": url, "bucket": "sessions"},
		&v1alpha1.ObjectStore{ObjectMeta: w.meta("invoices")}: {"servers": url, "bucket": "invoices"},
	}

	for mg := range all {
		connect(mg, secretOf(mg.GetName()))
		w.create(mg)
	}

	for mg, want := range all {
		w.awaitReady(mg)

		if diff := cmp.Diff(want, w.awaitConnection(mg, secretOf(mg.GetName()))); diff != "" {
			t.Errorf("the Secret of %s: -want, +got:\n%s", mg.GetName(), diff)
		}
	}

	w.patch(orders, func() { orders.Spec.ForProvider.Subjects = []string{"orders.>"} })
	wait.Until(t, "the Secret follows the stream", func() bool {
		return w.awaitConnection(orders, secretOf("orders"))["subjects"] == "orders.>"
	})
}

// TestForeignSecret: the Secret of another owner is neither read out nor written, and the object is not
// Ready before that is corrected.
func TestForeignSecret(t *testing.T) {
	runProvider(t, badPoll)

	w := newWorld(t)
	theirs := &corev1.Secret{
		ObjectMeta: w.meta("theirs"), StringData: map[string]string{"password": canary + "-of-others"},
	}
	w.create(theirs)

	mg := &v1alpha1.Stream{ObjectMeta: w.meta("orders")}
	connect(mg, "theirs")
	w.create(mg)
	w.awaitSynced(mg, "False/ConnectionSecretNotOwned")

	if ready(mg) {
		t.Error("the object is Ready without its connection details")
	}

	version := theirs.GetResourceVersion()
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs))

	if theirs.GetResourceVersion() != version {
		t.Errorf("the Secret of another owner was written: %v", theirs.GetManagedFields())
	}

	w.patch(mg, func() { connect(mg, "ours") })
	w.awaitReady(mg)
	w.awaitConnection(mg, "ours")
}

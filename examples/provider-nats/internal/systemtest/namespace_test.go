package systemtest

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestNamespaceGoes: the deletion of a namespace removes its Secrets first, and then the ProviderConfig and
// the objects, which have finalizers. An established connection stays for objects that are being deleted,
// so that all of them are removed; other objects lose it.
func TestNamespaceGoes(t *testing.T) {
	runProviderWith(t, func(o *provider.Options) { o.PollInterval, o.WatchSecrets = badPoll, true })

	w := newWorld(t)
	w.letWatch()

	var all []resource.Managed

	for name, k := range kinds() {
		k.prepare(w)

		all = append(all, k.make(w, strings.ToLower(name)))
	}

	for _, mg := range all {
		w.create(mg)
	}

	for _, mg := range all {
		w.awaitReady(mg)
	}

	w.delete(w.secret(""))
	w.awaitMessage(all[0], "does not exist: create it")
	w.delete(w.providerConfig(""))
	w.delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}})
	w.awaitNamespaceGone()

	for _, mg := range all {
		if w.read(mg) {
			t.Errorf("%s is left", mg.GetName())
		}
	}

	if got := w.streams(); len(got) > 0 {
		t.Errorf("the streams %v are left", got)
	}
}

// TestNamespaceStays: a provider that was started after the deletion of the Secret has never been
// connected. It says what to do, and that helps.
func TestNamespaceStays(t *testing.T) {
	w := newWorld(t)
	mg := &v1alpha1.Stream{ObjectMeta: w.meta("orders")}

	t.Run("Before", func(t *testing.T) {
		runProvider(t, badPoll)
		w.create(mg)
		w.awaitReady(mg)
	})

	w.delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}})
	wait.Until(t, "the Secret is gone", func() bool {
		return apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(w.secret("")), &corev1.Secret{}))
	})

	t.Run("After", func(t *testing.T) {
		w := &world{T: t, ns: w.ns, nats: w.nats, nc: w.nc, js: w.js}
		runProvider(t, badPoll)
		w.awaitMessage(mg, "name a ClusterProviderConfig in spec.providerConfigRef")

		elsewhere := w.elsewhere()
		w.patch(mg, func() {
			mg.Spec.ProviderConfigRef = v1alpha1.ProviderConfigReference{
				Kind: v1alpha1.ClusterProviderConfigKind, Name: elsewhere.Name,
			}
		})
		w.awaitGone(mg)

		if got := w.streams(); len(got) > 0 {
			t.Errorf("the streams %v are left", got)
		}
	})
}

// elsewhere returns a configuration of the same NATS whose Secret is in another
// namespace.
func (w *world) elsewhere() *v1alpha1.ClusterProviderConfig {
	w.Helper()

	vault, own := namespace(w.T), w.providerConfig(w.nats.ClientURL())
	secret := w.secret(token)
	secret.Namespace = vault

	out := &v1alpha1.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}
	out.Spec.Servers = own.Spec.Servers
	out.Spec.Credentials = v1alpha1.ClusterCredentials{
		Source: v1alpha1.CredentialsSecret, Type: v1alpha1.CredentialsTypeToken,
		SecretRef: &v1alpha1.NamespacedSecretKeyReference{
			NamespacedSecretReference: v1alpha1.NamespacedSecretReference{Namespace: vault, Name: login},
		},
	}

	w.create(secret, out)
	w.Cleanup(func() { release(context.Background(), out) })

	return out
}

func (w *world) awaitMessage(mg resource.Managed, want string) {
	w.Helper()
	w.await(mg, "says: "+want, func() bool { return strings.Contains(mg.GetCondition(commonv1.TypeSynced).Message, want) })
}

func (w *world) awaitNamespaceGone() {
	w.Helper()

	ns := &corev1.Namespace{}
	gone := false

	defer func() {
		if !gone {
			w.Logf("conditions of the namespace: %+v", ns.Status.Conditions)
		}
	}()

	wait.Until(w.T, "the namespace is gone", func() bool {
		gone = apierrors.IsNotFound(kube.Get(w.Context(), client.ObjectKey{Name: w.ns}, ns))

		return gone
	})
}

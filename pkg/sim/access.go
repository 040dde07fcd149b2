package sim

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/credentials"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/internal/berth"
)

// Scenarios about what an object may use: credentials, what it refers to, the
// system it leads to, and whether what it holds may go with its namespace.
var accesses = []scenario{
	{
		name: "credentials", lag: 5 * time.Millisecond, single: true, config: lockedUp, harbor: func(h *harbour) { h.hangsUp = true },
		live: func(w *World) {
			w.users.must(w.users.client.Create(context.Background(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: firstKey.Namespace, Name: "credentials"},
				Data:       map[string][]byte{"token": []byte(canaryCredential)},
			}))
			w.users.create(newBerth("first"))
			w.settle()
			w.quiet()
			w.users.delete(firstKey)
			w.settle()
		},
	},
	{
		name: "reference", lag: 5 * time.Millisecond, single: true, only: []string{"token", "opaque"}, live: refer, expect: waiting,
		config: func(w *World) { w.config.Kind = berth.TenderKind },
	},
	{
		name: "referent", lag: 5 * time.Millisecond, single: true, only: []string{"token", "opaque"}, live: attend, expect: attending,
		config: func(w *World) {
			w.config.Kind, w.config.refers = berth.TenderKind, schema.GroupVersionKind(berth.Kind)
		},
	},
	{name: "backend", lag: 5 * time.Millisecond, single: true, only: []string{"named", "token", "opaque"}, harbor: func(h *harbour) { h.system = "north" }, expect: elsewhere, live: move},
	{
		name: "guard", lag: 5 * time.Millisecond, single: true, only: []string{"named", "opaque"}, config: guarded,
		live: func(w *World) { w.evict(corev1.SchemeGroupVersion.WithKind("Namespace").Kind) },
	},
	{
		name: "guard-kind", lag: 5 * time.Millisecond, single: true, only: []string{"named", "opaque"}, config: guarded,
		live: func(w *World) { w.evict(berth.DefinitionKind.Kind) },
	},
	{name: "immutable", lag: 5 * time.Millisecond, single: true, expect: immovable, live: tow},
}

// A locked connecter finds its credentials in a Secret in each pass.
type locked struct {
	managed.ExternalConnecter

	from *credentials.Extractor
}

// Connect connects with the credentials.
func (l locked) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	_, err := l.from.ExtractLocal(ctx, mg.GetNamespace(), commonv1.CredentialsSourceSecret, commonv1.LocalCredentialSelectors{
		SecretRef: &commonv1.LocalSecretKeySelector{LocalSecretReference: commonv1.LocalSecretReference{Name: "credentials"}, Key: "token"},
	})
	if err != nil {
		return nil, err
	}

	return l.ExternalConnecter.Connect(ctx, mg)
}

func lockedUp(w *World) {
	of := w.config.Connecter
	w.config.connects = func(r client.Reader) managed.ExternalConnecter { return locked{of, credentials.New(r)} }
}

// refer: a berth refers to one in its own namespace, and others to one in another
// namespace, which grants it later.
func refer(w *World) {
	w.users.create(seldom(newTender("pier")))
	selected := seldom(newTender("first"))
	selected.Spec.BesideSelector = &commonv1.NamespacedSelector{MatchLabels: map[string]string{"is": "pier"}}
	w.users.create(selected)
	vault := seldom(newTender("vault"))
	vault.Namespace = "other"
	w.users.create(vault)
	w.allowed["other"] = true // its name is in the spec of the next
	secret := newTender("second")
	secret.Spec.Beside = &commonv1.NamespacedReference{Name: "vault", Namespace: "other"}
	w.users.create(secret)
	w.run(w.now().Add(time.Minute))
	w.settle()
	w.users.annotate(keyOf(vault), keyAllowReferencesFrom, firstKey.Namespace)
	w.settle()
	w.quiet()
}

func newTender(name string) *berth.Tender {
	t := &berth.Tender{Berth: *newBerth(name)}
	t.Labels = map[string]string{"is": name}

	return t
}

// seldom lets an object be looked at seldom, while another waits for long.
func seldom(t *berth.Tender) *berth.Tender {
	annotate(t, keyPollInterval, "10m")

	return t
}

// granted says whether a berth may know what it refers to.
func (w *World) granted(to types.NamespacedName, from string) bool {
	if to.Namespace == from {
		return true
	}
	referent := w.users.see(to)

	return referent != nil && referent.GetAnnotations()[keyAllowReferencesFrom] == from
}

// waiting: an object whose reference is not granted says that it waits.
func waiting(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		if len(w.snatched) > 0 && conditionOf(mg, "Synced").Status == metav1.ConditionFalse {
			return "", true // what it refers to may be gone
		}
		t, ok := mg.(*berth.Tender)
		if !ok || isDeleted(mg) || isPaused(mg) || t.Spec.Beside == nil {
			return "", false
		}
		if w.granted(types.NamespacedName{Namespace: t.Spec.Beside.Namespace, Name: t.Spec.Beside.Name}, t.Namespace) || t.Spec.Beside.Namespace == "" {
			return "", false
		}
		if conditionOf(mg, "Synced").Status != metav1.ConditionFalse {
			return "it does not say that it may not use what it refers to", true
		}

		return "", true
	}
}

// move: the object is led to another system, in which its resource is not, and
// back; and then for good.
func move(w *World) {
	uid := w.users.create(newBerth("first"))
	w.settle()
	w.harbour.system = "south"
	w.untouched("although the connection leads elsewhere")
	w.settle()
	w.harbour.system = "north"
	w.settle()
	w.quiet()
	w.harbour.system = "south"
	w.users.left[uid] = true
	w.users.annotate(firstKey, keyAllowBackendChange, "south")
	w.settle()
	w.quiet()
}

// elsewhere: an object that is led to another system says so.
func elsewhere(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		if isPaused(mg) || !w.astray(mg) { // nor can it be deleted there
			return "", false
		}
		if conditionOf(mg, "Synced").Reason != "BackendChanged" {
			return "it does not say that it was led to another system", true
		}

		return "", true
	}
}

// astray says whether an object would be looked for in a system in which it is not,
// and where its user does not want it.
func (w *World) astray(mg resource.Managed) bool {
	if w.harbour == nil || w.harbour.system == "" {
		return false
	}
	annotations := mg.GetAnnotations()
	of := annotations[keyBackendIdentity]

	return of != "" && of != w.harbour.system && annotations[keyAllowBackendChange] != w.harbour.system
}

func guarded(w *World) {
	w.config.Options = append(w.config.Options, managed.WithDeletionGuard())
	w.users.must(w.users.client.Create(context.Background(), w.keeper("Namespace")))
	w.users.must(w.users.client.Create(context.Background(), w.keeper(berth.DefinitionKind.Kind)))
}

// keeper returns what objects are deleted with.
func (w *World) keeper(kind string) client.Object {
	if kind == "Namespace" {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: firstKey.Namespace, Finalizers: []string{"example.com/empty-first"}}}
	}

	return &berth.Definition{ObjectMeta: metav1.ObjectMeta{Name: "berths." + berth.GroupVersion.Group, Finalizers: []string{"example.com/empty-first"}}}
}

// evict deletes what the object is deleted with, and then the object. Its resource
// stays.
func (w *World) evict(kind string) {
	uid := w.users.create(newBerth("first"))
	w.settle()
	w.users.must(client.IgnoreNotFound(w.users.client.Delete(context.Background(), w.keeper(kind)))) // a restore may have taken it
	w.evicted, w.users.left[uid] = w.now(), true
	w.users.delete(firstKey)
	w.settle()
	if w.users.see(firstKey) == nil && len(w.outside.Of(uid)) == 0 && !w.users.acted {
		w.violate("S22", "the resource went with the "+kind)
	}
}

// tow: a user asks for what the external system refuses, and takes it back.
func tow(w *World) {
	w.users.create(newBerth("first"))
	w.settle()
	w.users.change(firstKey, func(mg resource.Managed) { mg.(*berth.Berth).Spec.Quay = "B" }) //nolint:forcetypeassert // of the kind
	w.untouched("although what is asked for is impossible")
	w.settle()
	w.users.change(firstKey, func(mg resource.Managed) { mg.(*berth.Berth).Spec.Quay = "" }) //nolint:forcetypeassert // of the kind
	w.settle()
	w.quiet()
}

// immovable: what cannot be changed is told.
func immovable(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		b, err := berthOf(mg)
		p := w.harbour.at(externalName(mg))
		if err != nil || p == nil || isDeleted(mg) || isPaused(mg) || p.Quay == b.Spec.Quay {
			return "", false
		}
		if conditionOf(mg, "Synced").Reason != "QuayIsImmutable" {
			return "it does not say that the quay cannot be changed", true
		}

		return "", true
	}
}

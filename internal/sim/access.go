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
	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/credentials"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// accessScenarios are the scenarios about what an object may use: credentials, referents (objects it refers to), the
// backend, and whether its resource may be deleted together with its namespace.
var accessScenarios = []scenario{
	{
		name: "credentials", lag: 5 * time.Millisecond, singleFaults: true, config: lockedUp,
		system: func(h *extSystem) { h.hangsUp = true },
		run: func(w *World) {
			w.users.must(w.users.client.Create(context.Background(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: firstKey.Namespace, Name: "credentials"},
				Data:       map[string][]byte{"token": []byte(canaryCredential)},
			}))
			w.users.create(newBucket("first"))
			w.settle()
			w.quiet()
			w.users.delete(firstKey)
			w.settle()
		},
	},
	{
		name: "reference", lag: 5 * time.Millisecond, singleFaults: true, only: []string{"token", "opaque"},
		run: referScenario, expect: waiting,
		config: func(w *World) { w.config.Kind = bucket.ReplicaKind },
	},
	{
		name: "referent", lag: 5 * time.Millisecond, singleFaults: true, only: []string{"token", "opaque"},
		run: waitForReferents, expect: expectWaiting,
		config: func(w *World) {
			w.config.Kind, w.config.refers = bucket.ReplicaKind, schema.GroupVersionKind(bucket.Kind)
		},
	},
	{name: "backend", lag: 5 * time.Millisecond, singleFaults: true, only: []string{"named", "token", "opaque"},
		system: func(h *extSystem) { h.backend = "north" }, expect: elsewhere, run: moveBackend},
	{
		name: "guard", lag: 5 * time.Millisecond, singleFaults: true, only: []string{"named", "opaque"},
		config: guarded,
		run:    func(w *World) { w.evict(corev1.SchemeGroupVersion.WithKind("Namespace").Kind) },
	},
	{
		name: "guard-kind", lag: 5 * time.Millisecond, singleFaults: true, only: []string{"named", "opaque"},
		config: guarded,
		run:    func(w *World) { w.evict(bucket.DefinitionKind.Kind) },
	},
	{name: "immutable", lag: 5 * time.Millisecond, singleFaults: true, expect: parentImmutable, run: changeParent},
}

// A locked is a connecter that reads its credentials from a Secret in each pass, that is, in each reconcile of an
// object.
type locked struct {
	managed.ExternalConnecter

	from *credentials.Extractor
}

// Connect reads the credentials, and then connects with the wrapped connecter. It returns an error if the credentials
// cannot be read.
func (l locked) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	_, err := l.from.ExtractLocal(ctx, mg.GetNamespace(), commonv1.CredentialsSourceSecret,
		commonv1.LocalCredentialSelectors{
			SecretRef: &commonv1.LocalSecretKeySelector{LocalSecretReference: commonv1.LocalSecretReference{Name: "credentials"},
				Key: "token"},
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

// referScenario is a scenario with references between buckets. One bucket refers to a bucket in its own namespace.
// Others refer to a bucket in another namespace, which grants the reference later.
func referScenario(w *World) {
	w.users.create(withLongPoll(newReplica("parent")))
	selected := withLongPoll(newReplica("first"))
	selected.Spec.ParentSelector = &commonv1.NamespacedSelector{MatchLabels: map[string]string{"is": "parent"}}
	w.users.create(selected)
	vault := withLongPoll(newReplica("vault"))
	vault.Namespace = "other"
	w.users.create(vault)
	w.allowed["other"] = true // its name is in the spec of the next
	secret := newReplica("second")
	secret.Spec.ParentRef = &commonv1.NamespacedReference{Name: "vault", Namespace: "other"}
	w.users.create(secret)
	w.run(w.now().Add(time.Minute))
	w.settle()
	w.users.annotate(keyOf(vault), keyAllowReferencesFrom, firstKey.Namespace)
	w.settle()
	w.quiet()
}

func newReplica(name string) *bucket.Replica {
	t := &bucket.Replica{Bucket: *newBucket(name)}
	t.Labels = map[string]string{"is": name}

	return t
}

// withLongPoll sets a long poll interval.
func withLongPoll(t *bucket.Replica) *bucket.Replica {
	annotate(t, keyPollInterval, "10m")

	return t
}

// granted returns whether an object may refer to another.
func (w *World) granted(to types.NamespacedName, from string) bool {
	if to.Namespace == from {
		return true
	}
	referent := w.users.see(to)

	return referent != nil && referent.GetAnnotations()[keyAllowReferencesFrom] == from
}

// waiting expects that an object whose reference is not granted reports that it waits.
func waiting(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		if len(w.exempt.raceDeleted) > 0 && conditionOf(mg, "Synced").Status == metav1.ConditionFalse {
			return "", true // what it refers to may be gone
		}
		t, ok := mg.(*bucket.Replica)
		if !ok || isDeleted(mg) || isPaused(mg) || t.Spec.ParentRef == nil {
			return "", false
		}
		if w.granted(types.NamespacedName{
			Namespace: t.Spec.ParentRef.Namespace, Name: t.Spec.ParentRef.Name,
		}, t.Namespace) ||
			t.Spec.ParentRef.Namespace == "" {
			return "", false
		}
		if conditionOf(mg, "Synced").Status != metav1.ConditionFalse {
			return "it does not say that it may not use what it refers to", true
		}

		return "", true
	}
}

// moveBackend is a scenario in which the connection changes to another backend that does not have the resource. It
// changes back, and then changes to the other backend for good.
func moveBackend(w *World) {
	uid := w.users.create(newBucket("first"))
	w.settle()
	w.system.backend = "south"
	w.untouched("although the connection leads elsewhere")
	w.settle()
	w.system.backend = "north"
	w.settle()
	w.quiet()
	w.system.backend = "south"
	w.users.left[uid] = true
	w.users.annotate(firstKey, keyAllowBackendChange, "south")
	w.settle()
	w.quiet()
}

// elsewhere expects that an object reports that its connection leads to another backend.
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

// astray returns whether the connection leads to a backend that does not have the resource of an object, unless the
// user of the object has accepted that.
func (w *World) astray(mg resource.Managed) bool {
	if w.system == nil || w.system.backend == "" {
		return false
	}
	annotations := mg.GetAnnotations()
	of := annotations[keyBackendIdentity]

	return of != "" && of != w.system.backend && annotations[keyAllowBackendChange] != w.system.backend
}

func guarded(w *World) {
	w.config.Options = append(w.config.Options, managed.WithDeletionGuard())
	w.users.must(w.users.client.Create(context.Background(), w.keeper("Namespace")))
	w.users.must(w.users.client.Create(context.Background(), w.keeper(bucket.DefinitionKind.Kind)))
}

// keeper returns the Namespace or CustomResourceDefinition whose deletion deletes the objects.
func (w *World) keeper(kind string) client.Object {
	if kind == "Namespace" {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: firstKey.Namespace,
			Finalizers: []string{"example.com/empty-first"}}}
	}

	return &bucket.Definition{ObjectMeta: metav1.ObjectMeta{Name: "buckets." + bucket.GroupVersion.Group,
		Finalizers: []string{"example.com/empty-first"}}}
}

// evict deletes the Namespace or CustomResourceDefinition of a managed object, and then the object. The external
// resource has to stay.
func (w *World) evict(kind string) {
	uid := w.users.create(newBucket("first"))
	w.settle()
	// a restore may have taken it
	w.users.must(client.IgnoreNotFound(w.users.client.Delete(context.Background(), w.keeper(kind))))
	w.evicted, w.users.left[uid] = w.now(), true
	w.users.delete(firstKey)
	w.settle()
	if w.users.see(firstKey) == nil && len(w.external.Of(uid)) == 0 && !w.users.acted {
		w.violate("S22", "the resource went with the "+kind)
	}
}

// changeParent is a scenario in which a user changes an immutable field, and changes it back.
func changeParent(w *World) {
	w.users.create(newBucket("first"))
	w.settle()
	w.users.change(firstKey, func(mg resource.Managed) { mg.(*bucket.Bucket).Spec.Parent = "B" })
	w.untouched("although what is asked for is impossible")
	w.settle()
	w.users.change(firstKey, func(mg resource.Managed) { mg.(*bucket.Bucket).Spec.Parent = "" })
	w.settle()
	w.quiet()
}

// parentImmutable expects that an object reports an impossible change.
func parentImmutable(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		b, err := bucketOf(mg)
		p := w.system.find(externalName(mg))
		if err != nil || p == nil || isDeleted(mg) || isPaused(mg) || p.Parent == b.Spec.Parent {
			return "", false
		}
		if conditionOf(mg, "Synced").Reason != "ParentIsImmutable" {
			return "it does not say that the parent cannot be changed", true
		}

		return "", true
	}
}

package systemtest

import (
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// objectMistakes are mistakes in the object itself.
func objectMistakes() map[string]mistake {
	named := func(annotation, value string) func(w *world) resource.Managed {
		return func(w *world) resource.Managed {
			mg := &v1alpha1.Stream{ObjectMeta: w.meta("bad")}
			mg.Annotations = map[string]string{annotation: value}

			return mg
		}
	}
	unset := func(annotation string) func(w *world, mg resource.Managed) {
		return func(w *world, mg resource.Managed) {
			w.patch(mg, func() { mg.SetAnnotations(without(mg.GetAnnotations(), annotation)) })
		}
	}
	rename := func(w *world, mg resource.Managed) { w.annotate(mg, meta.AnnotationKeyExternalName, "good") }

	return map[string]mistake{
		"StreamNameWithDots": {
			reason: "Kubernetes allows dots in a name, and NATS does not",
			make:   func(w *world) resource.Managed { return &v1alpha1.Stream{ObjectMeta: w.meta("orders.eu")} },
			synced: "False/InvalidName", words: []string{
				`"orders.eu" cannot be the name of a stream`, meta.AnnotationKeyExternalName,
			},
			mend: rename, right: []string{"good"},
		},
		"BucketNameWithDots": {
			reason: "nor in the name of a bucket",
			make:   func(w *world) resource.Managed { return &v1alpha1.KeyValue{ObjectMeta: w.meta("sessions.eu")} },
			synced: "False/InvalidName", words: []string{
				`"sessions.eu" cannot be the name of a bucket`, meta.AnnotationKeyExternalName,
			},
			mend: rename, right: []string{"KV_good"},
		},
		"UnknownPolicy": {
			reason: "a typing error must not silently switch everything off, nor on",
			make:   named(meta.AnnotationKeyManagementPolicy, "Observe"),
			synced: "False/InvalidManagementPolicy", words: []string{
				`unknown value "Observe"`, "allowed are", "observe-create-update",
			},
			mend: unset(meta.AnnotationKeyManagementPolicy), right: []string{"bad"},
		},
		"MalformedInterval": {
			reason: "a malformed interval is no reason to stop",
			make:   named(meta.AnnotationKeyPollInterval, "5 minutes"),
			synced: "True/ReconcileSuccess",
			words:  []string{meta.AnnotationKeyPollInterval, `"5 minutes"`, "must be a positive duration such as"},
			wrong:  []string{"bad"}, mend: unset(meta.AnnotationKeyPollInterval), right: []string{"bad"},
		},
		"SubjectsOverlap": {
			reason: "only NATS knows the subjects of other streams",
			spoil:  func(w *world) { w.store(jetstream.StreamConfig{Name: "taken", Subjects: []string{"orders"}}) },
			make:   func(w *world) resource.Managed { return withSubjects(w, "orders", "more") },
			synced: "False/SubjectsOverlap",
			words: []string{
				"another stream stores some of the subjects", "change spec.forProvider.subjects",
			}, wrong: []string{"taken"},
			mend: func(w *world, mg resource.Managed) { setSubjects(w, mg, "more") }, right: []string{"bad", "taken"},
		},
		"TooManyReplicas": {
			reason: "three replicas make sense, but not on a single server",
			make: func(w *world) resource.Managed {
				mg := withSubjects(w, "orders")
				mg.Spec.ForProvider.Replicas = new(int32(3))

				return mg
			},
			synced: "False/InvalidConfiguration", words: []string{
				"NATS does not accept spec.forProvider: correct it", "replicas > 1",
			},
			mend: func(w *world, mg resource.Managed) {
				w.patch(mg, func() { mg.(*v1alpha1.Stream).Spec.ForProvider.Replicas = new(int32(1)) }) // It was made here.
			},
			right: []string{"bad"},
		},
	}
}

func withSubjects(w *world, subjects ...string) *v1alpha1.Stream {
	mg := &v1alpha1.Stream{ObjectMeta: w.meta("bad")}
	mg.Spec.ForProvider.Subjects = subjects

	return mg
}

func setSubjects(w *world, mg resource.Managed, subjects ...string) {
	w.Helper()
	w.patch(mg, func() { mg.(*v1alpha1.Stream).Spec.ForProvider.Subjects = subjects }) // Only Streams have subjects.
}

// connectionMistakes are mistakes on the way to NATS.
func connectionMistakes() map[string]mistake {
	replace := func(obj func(w *world) client.Object) func(w *world, _ resource.Managed) {
		return func(w *world, _ resource.Managed) {
			w.Helper()
			must(w.T, client.IgnoreNotFound(kube.Delete(w.Context(), obj(w))))
			w.create(obj(w))
		}
	}
	remove := func(obj func(w *world) client.Object) func(w *world) {
		return func(w *world) { w.remove(obj(w)) }
	}
	secret := func(w *world) client.Object { return w.secret(token) }
	config := func(w *world) client.Object { return w.providerConfig(w.nats.ClientURL()) }

	return map[string]mistake{
		"Unreachable": {
			reason: "no server listens at the address of the ProviderConfig",
			server: unreachable,
			shared: true,
			synced: "False/ExternalSystemUnavailable", words: []string{
				"cannot reach NATS at nats://127.0.0.1:", "correct spec.servers of the ProviderConfig",
			},
			mend: func(w *world, _ resource.Managed) { w.setServer(w.nats.ClientURL()) }, right: []string{"bad"},
		},
		"WrongCredentials": {
			reason: "a corrected Secret is noticed without a watch",
			spoil:  func(w *world) { w.setSecret(map[string]string{"token": canary + "-wrong"}) },
			shared: true,
			synced: "False/Unauthorized", words: []string{
				"NATS refuses the credentials",
				"correct spec.credentials of the ProviderConfig, or the Secret it names", "Authorization Violation",
			},
			mend: func(w *world, _ resource.Managed) { w.setSecret(map[string]string{"token": token}) }, right: []string{"bad"},
		},
		"UnusableCredentials": {
			reason: "a malformed credentials file is not quoted",
			spoil: func(w *world) {
				w.setSecret(map[string]string{"user.creds": "-----BEGIN USER NKEY SEED-----\n" + canary + "\n"})
				w.setCredentials(v1alpha1.CredentialsTypeCreds)
			},
			synced: "False/ReconcileError", words: []string{
				`the Secret "login" holds no usable credentials file`, "put there what",
			},
			mend: func(w *world, _ resource.Managed) {
				w.setSecret(map[string]string{"token": token})
				w.setCredentials(v1alpha1.CredentialsTypeToken)
			},
			right: []string{"bad"},
		},
		"MissingSecret": {
			reason: "a Secret may be created after the reference to it",
			spoil:  remove(secret),
			synced: "False/ReconcileError", words: []string{
				`the Secret "login", which spec.credentials.secretRef names, does not exist: create it`,
			},
			mend: replace(secret), right: []string{"bad"},
		},
		"MissingKey": {
			reason: "a Secret may contain other keys",
			spoil:  func(w *world) { w.setSecret(map[string]string{"password": canary}) },
			synced: "False/ReconcileError", words: []string{`has no value under the key "token": add it`},
			mend: func(w *world, _ resource.Managed) { w.setSecret(map[string]string{"token": token}) }, right: []string{"bad"},
		},
		"MissingProviderConfig": {
			reason: "a ProviderConfig may be created after the reference to it",
			spoil:  remove(config),
			synced: "False/ReconcileError", words: []string{
				"create the configuration, or name another in spec.providerConfigRef", "/default does not exist",
			},
			mend: replace(config), right: []string{"bad"},
		},
	}
}

// streamMistakes are about streams that exist before the object.
func streamMistakes() map[string]mistake {
	stamped := func(stamp string) func(w *world) {
		return func(w *world) {
			w.store(jetstream.StreamConfig{Name: "bad", Metadata: map[string]string{managed.StampKey: stamp}})
		}
	}

	return map[string]mistake{
		"ImmutableField": {
			reason: "the stream is ours, but another client replaced it, and NATS does not change that",
			make: func(w *world) resource.Managed {
				mg := withSubjects(w, "bad.x")
				mg.Spec.ForProvider.Storage = new(v1alpha1.StorageFile)
				mg.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}

				return mg
			},
			stage: func(w *world, mg resource.Managed) {
				w.awaitSynced(mg, "False/ReconcilePaused")
				w.store(jetstream.StreamConfig{
					Name: "bad", Storage: jetstream.MemoryStorage,
					Metadata: map[string]string{managed.StampKey: string(stampOf(w, controller.StreamKind(), mg))},
				})
				w.resume(mg)
			},
			synced: "False/ImmutableField",
			words:  []string{`storage`, `"memory"`, `"file"`, "set it back", "delete this object and create it again"},
			wrong:  []string{"bad"}, mend: func(w *world, mg resource.Managed) {
				w.patch(mg, func() { mg.(*v1alpha1.Stream).Spec.ForProvider.Storage = nil }) // It was made here.
			},
			right: []string{"bad"},
		},
		"Unowned": {
			reason: "a stream without an owner is not taken over by default",
			spoil:  func(w *world) { w.store(jetstream.StreamConfig{Name: "bad", Subjects: []string{"bad"}}) },
			synced: "False/ExternalResourceNotOwned",
			words:  []string{"no mark of an owner", meta.AnnotationKeyAdoptionPolicy, meta.AdoptionPolicyIfUnowned},
			wrong:  []string{"bad"}, mend: func(w *world, mg resource.Managed) {
				w.annotate(mg, meta.AnnotationKeyAdoptionPolicy, meta.AdoptionPolicyIfUnowned)
			},
			right: []string{"bad"},
		},
		"OtherOwner": {
			reason: "a stream of another owner is not taken over",
			spoil:  stamped("another-cluster/nats.moorage.dev/Stream/ns/bad/another-uid"),
			synced: "False/ExternalResourceNotOwned",
			words: []string{
				"belongs to another owner",
				"choose another name", meta.AnnotationKeyExternalName,
			}, wrong: []string{"bad"},
			mend:  func(w *world, mg resource.Managed) { w.annotate(mg, meta.AnnotationKeyExternalName, "good") },
			right: []string{"bad", "good"},
		},
	}
}

// unreachable is an address on which no server listens on any system.
const unreachable = "nats://127.0.0.1:1"

func stampOf(w *world, k controller.Kind, mg resource.Managed) managed.Stamp {
	w.Helper()

	return managed.NewStamp(clusterUID(w), k.GroupVersionKind().GroupKind(), mg)
}

func clusterUID(w *world) types.UID {
	w.Helper()

	uid, err := managed.ClusterUID(w.Context(), kube)
	must(w.T, err)

	return uid
}

// setServer points the ProviderConfig to another server.
func (w *world) setServer(url string) {
	w.Helper()

	pc := w.providerConfig(url)
	w.patch(pc, func() { pc.Spec.Servers = []string{url} })
}

func (w *world) setCredentials(kind string) {
	w.Helper()

	pc := w.providerConfig("")
	w.patch(pc, func() { pc.Spec.Credentials.Type = kind })
}

// setSecret replaces the contents of the Secret.
func (w *world) setSecret(data map[string]string) {
	w.Helper()

	s := w.secret("")
	w.patch(s, func() { s.Data, s.StringData = nil, data })
}

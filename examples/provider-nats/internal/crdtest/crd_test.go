// Package crdtest checks the validation of the provider's kinds on a real API server.
package crdtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	manifests "github.com/moorage-dev/moorage/examples/provider-nats/package"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestMain starts, or joins, the control plane and installs the kinds.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 3*wait.Patience())
	defer cancel()

	cluster, err := devcluster.Join(ctx, devcluster.Options{Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)

		return 1
	}

	code := 1
	if kube, err = install(ctx, cluster); err == nil {
		code = m.Run()
	}

	if err := errors.Join(err, cluster.Stop()); err != nil {
		fmt.Fprintln(os.Stderr, err)

		return 1
	}

	return code
}

// kube is the client of all tests of this package.
var kube client.Client // TestMain has no other way to hand it on.

func install(ctx context.Context, cluster *devcluster.Cluster) (client.Client, error) {
	cfg, err := cluster.RESTConfig()
	if err != nil {
		return nil, err
	}

	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme),
		v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}

	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}

	return c, manifests.Install(ctx, c)
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()

	out := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &out.Object); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}

	out.SetAPIVersion(v1alpha1.GroupVersion().String())

	if out.SetNamespace("default"); out.GetKind() == v1alpha1.ClusterProviderConfigKind {
		out.SetNamespace("")
	}

	if out.GetName() == "" {
		out.SetGenerateName("crdtest-")
	}

	return out
}

// TestExamples: the examples for users are accepted without a warning.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no examples: %v", err)
	}

	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			image, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(image)))

			for {
				document, err := documents.Read()
				if errors.Is(err, io.EOF) {
					return
				}

				if err != nil {
					t.Fatal(err)
				}

				if err := dryRun(t, object(t, string(document))); err != nil {
					t.Errorf("%v\n%s", err, document)
				}
			}
		})
	}
}

// dryRun sends an object as kubectl apply does: unknown fields are errors.
func dryRun(t *testing.T, obj client.Object) error {
	t.Helper()

	strict := client.WithFieldValidation(kube, metav1.FieldValidationStrict)

	return strict.Create(t.Context(), obj, client.DryRunAll)
}

// A creation is a spec and the answer of the API server.
type creation struct {
	reason string
	kind   string
	spec   string

	// want is a part of the message; empty means that it is accepted.
	want string
}

func TestCreate(t *testing.T) {
	for name, tc := range creations() {
		t.Run(name, func(t *testing.T) {
			obj := object(t, "kind: "+tc.kind+"\nspec: "+tc.spec)
			check(t, tc.reason, dryRun(t, obj), tc.want)
		})
	}
}

func check(t *testing.T, reason string, err error, want string) {
	t.Helper()

	switch {
	case want == "" && err != nil:
		t.Errorf("\n%s\nwant it accepted, got: %v", reason, err)
	case want != "" && (!apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), want)):
		t.Errorf("\n%s\nwant it refused with %q, got: %v", reason, want, err)
	}
}

func creations() map[string]creation {
	const cluster = v1alpha1.ClusterProviderConfigKind

	const stream, bucket, objects, config = v1alpha1.StreamKind, v1alpha1.KeyValueKind, v1alpha1.ObjectStoreKind,
		v1alpha1.ProviderConfigKind

	return map[string]creation{
		"Empty":       {"everything has a default", stream, `{}`, ""},
		"EmptyBucket": {"everything has a default", bucket, `{}`, ""},
		"Storage":     {"enumerations", stream, `{forProvider: {storage: tape}}`, `Unsupported value: "tape"`},
		"Replicas":    {"NATS has at most five", stream, `{forProvider: {replicas: 6}}`, "should be less than or equal to 5"},
		"MaxMsgs":     {"-1 is the least", stream, `{forProvider: {maxMsgs: -2}}`, "should be greater than or equal to -1"},
		"Quantity":    {"a size is a quantity", stream, `{forProvider: {maxBytes: 5 apples}}`, "should match"},
		"Duration":    {"what Go cannot read must not be stored", stream, `{forProvider: {maxAge: 2 days}}`, "should match"},
		"Overflow": {
			"not even if it looks right",
			stream, `{forProvider: {consumerLimits: {inactiveThreshold: 99999999999999999999h}}}`, "inactiveThreshold",
		},
		"StartTime": {
			"a time needs a zone",
			stream, `{forProvider: {sources: [{name: a, optStartTime: "2026-01-02T03:04:05"}]}}`, "should match",
		},
		"TooShort": {
			"NATS counts from 100ms",
			stream, `{forProvider: {maxAge: 99ms}}`, "maxAge must be 0s or at least 100ms",
		},
		"Window": {
			"a window within the age",
			stream, `{forProvider: {maxAge: 1m, duplicateWindow: 2m}}`, "duplicateWindow must not be longer than maxAge",
		},
		"NoWindow": {
			"NATS has no such thing as no window",
			stream, `{forProvider: {duplicateWindow: 0s}}`, "duplicateWindow must be at least 100ms",
		},
		"EndlessAge": {"0s is for ever", stream, `{forProvider: {maxAge: 0s, duplicateWindow: 2m}}`, ""},
		"Mirror": {
			"a mirror has the subjects of its origin",
			stream, `{forProvider: {mirror: {name: a}, subjects: [b]}}`, "mirror and subjects exclude each other",
		},
		"TwoOrigins": {
			"either or", stream, `{forProvider: {mirror: {name: a}, sources: [{name: b}]}}`,
			"mirror and sources exclude each other",
		},
		"MirrorSeq": {
			"a mirror has the sequences of its origin",
			stream, `{forProvider: {mirror: {name: a}, firstSeq: 2}}`, "mirror and firstSeq exclude each other",
		},
		"MirrorAtomic": {
			"a mirror takes no messages", stream, `{forProvider: {mirror: {name: a}, allowAtomicPublish: true}}`,
			"a mirror cannot have allowMsgCounter, allowAtomicPublish, allowBatchPublish or allowMsgSchedules",
		},
		"MirrorMarkers": {
			"markers would be messages of its own",
			stream, `{forProvider: {mirror: {name: a}, subjectDeleteMarkerTTL: 1m}}`,
			"mirror and subjectDeleteMarkerTTL exclude each other",
		},
		"MirrorDirect": {"of a mirror only", stream, `{forProvider: {mirrorDirect: true}}`, "mirrorDirect needs mirror"},
		"Schedules": {
			"not with sources",
			stream, `{forProvider: {sources: [{name: a}], allowMsgSchedules: true}}`,
			"sources and allowMsgSchedules exclude each other",
		},
		"SchedulesNew": {
			"not with discard new",
			stream, `{forProvider: {discard: new, allowMsgSchedules: true}}`, "allowMsgSchedules needs discard old",
		},
		"DiscardPer": {
			"needs two others",
			stream, `{forProvider: {discardNewPerSubject: true, discard: new}}`,
			"discardNewPerSubject needs discard new and maxMsgsPerSubject above 0",
		},
		"DiscardPerOK": {
			"and has them",
			stream, `{forProvider: {discardNewPerSubject: true, discard: new, maxMsgsPerSubject: 1}}`, "",
		},
		"Purge": {
			"a roll-up purges",
			stream, `{forProvider: {denyPurge: true, allowRollup: true}}`,
			"denyPurge excludes allowRollup, allowMsgSchedules and subjectDeleteMarkerTTL",
		},
		"PurgeMarkers": {
			"so does a marker",
			stream, `{forProvider: {denyPurge: true, subjectDeleteMarkerTTL: 1s}}`,
			"denyPurge excludes allowRollup, allowMsgSchedules and subjectDeleteMarkerTTL",
		},
		"Rollup": {
			"a marker rolls up",
			stream, `{forProvider: {allowRollup: false, subjectDeleteMarkerTTL: 1s}}`, "need allowRollup",
		},
		"MarkerTTL": {
			"a marker has a TTL",
			stream, `{forProvider: {allowMsgTTL: false, subjectDeleteMarkerTTL: 1s}}`,
			"subjectDeleteMarkerTTL needs allowMsgTTL",
		},
		"MarkerShort": {
			"NATS counts in seconds",
			stream, `{forProvider: {subjectDeleteMarkerTTL: 10ms}}`, "subjectDeleteMarkerTTL must be 0s or at least 1s",
		},
		"Counter": {
			"counters add up all messages",
			stream, `{forProvider: {allowMsgCounter: true, allowMsgTTL: true}}`, "allowMsgCounter needs discard old",
		},
		"CounterQueue": {
			"and lose none",
			stream, `{forProvider: {allowMsgCounter: true, retention: workqueue}}`, "allowMsgCounter needs discard old",
		},
		"SealedCounter": {
			"sealing means discard new",
			stream, `{forProvider: {allowMsgCounter: true, sealed: true}}`,
			"sealed excludes allowMsgCounter and allowMsgSchedules",
		},
		"Async": {
			"on disk, once",
			stream, `{forProvider: {persistMode: async, storage: memory}}`,
			"persistMode async needs file storage, one replica and no atomic publish",
		},
		"Transform": {
			"to nowhere", stream, `{forProvider: {subjectTransform: {source: a}}}`, "subjectTransform needs a destination",
		},
		"Everything": {
			"NATS asks for it",
			stream, `{forProvider: {subjects: [">"]}}`, "the subject > needs noAck and one replica",
		},
		"Metadata": {"keys of the server", stream, `{forProvider: {metadata: {_nats.ver: "1"}}}`, "are reserved"},
		"Stamp": {
			"the owner's mark is reserved",
			stream, `{forProvider: {metadata: {moorage.dev/owner: me}}}`, "are reserved",
		},
		"SourceFilter": {
			"one way to filter",
			stream, `{forProvider: {sources: [{name: a, filterSubject: b, subjectTransforms: [{source: c}]}]}}`,
			"filterSubject and subjectTransforms exclude each other",
		},
		"SourceStart": {
			"one place to start",
			stream, `{forProvider: {sources: [{name: a, optStartSeq: 1, optStartTime: "2026-01-02T03:04:05Z"}]}}`,
			"optStartSeq and optStartTime exclude each other",
		},
		"SourceDomain": {
			"one place to be",
			stream, `{forProvider: {mirror: {name: a, domain: b, external: {apiPrefix: c}}}}`,
			"external and domain exclude each other",
		},
		"SourceConsumer": {
			"the consumer filters",
			stream, `{forProvider: {mirror: {name: a, filterSubject: b, consumer: {name: c, deliverSubject: d}}}}`,
			"consumer excludes filterSubject",
		},
		"Duplicate": {"subjects are a set", stream, `{forProvider: {subjects: [a, a]}}`, "Duplicate value"},

		"History": {
			"NATS keeps at most 64",
			bucket, `{forProvider: {history: 65}}`, "should be less than or equal to 64",
		},
		"BucketOrigins": {
			"either or", bucket, `{forProvider: {mirror: {name: a}, sources: [{name: b}]}}`,
			"mirror and sources exclude each other",
		},
		"BucketFilter": {
			"keys are renamed already",
			bucket, `{forProvider: {sources: [{name: a, filterSubject: b}]}}`, "filter by subjectTransforms",
		},
		"BucketMarkers": {
			"markers would be values of its own",
			bucket, `{forProvider: {mirror: {name: a}, limitMarkerTTL: 1m}}`, "mirror and limitMarkerTTL exclude each other",
		},
		"BucketShort": {
			"NATS counts in seconds",
			bucket, `{forProvider: {limitMarkerTTL: 10ms}}`, "limitMarkerTTL must be 0s or at least 1s",
		},
		"BucketTTL":      {"NATS counts from 100ms", bucket, `{forProvider: {ttl: 1ms}}`, "ttl must be 0s or at least 100ms"},
		"BucketMetadata": {"keys of the server", bucket, `{forProvider: {metadata: {_nats.ver: "1"}}}`, "are reserved"},

		"Objects":     {"everything has a default", objects, `{}`, ""},
		"ObjectsTTL":  {"NATS counts from 100ms", objects, `{forProvider: {ttl: 1ms}}`, "ttl must be 0s or at least 100ms"},
		"ObjectsMeta": {"keys of the server", objects, `{forProvider: {metadata: {_nats.ver: "1"}}}`, "are reserved"},

		"Servers":  {"there must be one", config, `{servers: []}`, "should have at least 1 items"},
		"Scheme":   {"it must be a URL", config, `{servers: ["localhost:4222"]}`, "should match"},
		"Password": {"no password in a URL", config, `{servers: ["nats://u:p@localhost:4222"]}`, "should match"},
		"TwoPlaces": {
			"one place to be",
			config, `{servers: ["nats://a"], domain: a, jsPrefix: b}`, "domain and jsPrefix exclude each other",
		},
		"NoSecret": {
			"which one?", config, `{servers: ["nats://a"], credentials: {source: Secret}}`, "source Secret needs secretRef",
		},
		"None": {
			"then why name one?",
			config, `{servers: ["nats://a"], credentials: {source: None, secretRef: {name: a}}}`,
			"source None excludes secretRef",
		},
		"Filesystem": {
			"only what the namespace holds",
			config, `{servers: ["nats://a"], credentials: {source: Filesystem}}`, "Unsupported value",
		},
		"Elsewhere": {
			"only its own namespace, and strict validation says so",
			config, `{servers: ["nats://a"], credentials: {source: Secret, secretRef: {name: a, namespace: b}}}`,
			`unknown field "spec.credentials.secretRef.namespace"`,
		},

		"ClusterOpen": {"no credentials", cluster, `{servers: ["nats://a"]}`, ""},
		"ClusterSecret": {
			"where it says",
			cluster, `{servers: ["nats://a"], credentials: {source: Secret, secretRef: {name: a, namespace: b}}}`, "",
		},
		"ClusterNowhere": {
			"in which namespace?",
			cluster, `{servers: ["nats://a"], credentials: {source: Secret, secretRef: {name: a}}}`, "namespace: Required value",
		},
		"ClusterCA": {
			"in which namespace?",
			cluster, `{servers: ["nats://a"], tls: {caSecretRef: {name: a}}}`, "namespace: Required value",
		},
		"ClusterNoSecret": {
			"which one?", cluster, `{servers: ["nats://a"], credentials: {source: Secret}}`, "source Secret needs secretRef",
		},
		"ClusterTwoPlaces": {
			"one place to be",
			cluster, `{servers: ["nats://a"], domain: a, jsPrefix: b}`, "domain and jsPrefix exclude each other",
		},

		"Open": {"no credentials", config, `{servers: ["nats://a", "tls://b:4222", "wss://c"]}`, ""},
	}
}

// TestUpdate: a field that NATS does not change cannot be changed.
func TestUpdate(t *testing.T) {
	cases := map[string]creation{
		"Storage": {"refused", "file -> memory", `storage: file -> storage: memory`, "storage cannot be changed"},
		"Queue": {
			"refused", "", `retention: limits -> retention: workqueue`, "retention cannot be changed to or from workqueue",
		},
		"Interest": {"allowed", "", `retention: limits -> retention: interest`, ""},
		"Unset":    {"an omitted field is not compared", "", `storage: file -> maxMsgs: 1`, ""},
		"MirrorNew": {
			"refused", "", `maxMsgs: 1 -> mirror: {name: a}`, "mirror can only be given at creation, and be removed",
		},
		"Mirror": {
			"refused", "", `mirror: {name: a} -> mirror: {name: b}`, "mirror can only be given at creation, and be removed",
		},
		"Promotion":  {"allowed", "", `mirror: {name: a} -> subjects: [b]`, ""},
		"FirstSeq":   {"refused", "", `firstSeq: 1 -> firstSeq: 2`, "firstSeq cannot be changed"},
		"Async":      {"refused", "", `persistMode: async -> persistMode: default`, "persistMode cannot be changed"},
		"Counter":    {"refused", "", `allowMsgCounter: true -> allowMsgCounter: false`, "allowMsgCounter cannot be changed"},
		"Sealed":     {"refused", "", `sealed: true -> sealed: false`, "sealed cannot be taken back"},
		"Seal":       {"allowed", "", `sealed: false -> sealed: true`, ""},
		"DenyDelete": {"refused", "", `denyDelete: true -> denyDelete: false`, "denyDelete cannot be taken back"},
		"DenyPurge":  {"refused", "", `denyPurge: true -> denyPurge: false`, "denyPurge cannot be taken back"},
		"MsgTTL":     {"refused", "", `allowMsgTTL: true -> allowMsgTTL: false`, "allowMsgTTL cannot be taken back"},
		"Schedules": {
			"refused", "", `allowMsgSchedules: true -> allowMsgSchedules: false`, "allowMsgSchedules cannot be taken back",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, after, _ := strings.Cut(tc.spec, " -> ")
			check(t, tc.reason, change(t, v1alpha1.StreamKind, before, after), tc.want)
		})
	}

	t.Run("BucketStorage", func(t *testing.T) {
		check(t, "refused", change(t, v1alpha1.KeyValueKind, "storage: file", "storage: memory"), "storage cannot be changed")
	})
	t.Run("ObjectsStorage", func(t *testing.T) {
		check(t, "refused", change(t, v1alpha1.ObjectStoreKind, "storage: file", "storage: memory"),
			"storage cannot be changed")
	})
	t.Run("ObjectsSealed", func(t *testing.T) {
		check(t, "refused", change(t, v1alpha1.ObjectStoreKind, "sealed: true", "sealed: false"),
			"sealed cannot be taken back")
	})
	t.Run("BucketMirror", func(t *testing.T) {
		check(t, "refused", change(t, v1alpha1.KeyValueKind, "mirror: {name: a}", "mirror: {name: b}"),
			"mirror can only be given at creation, and be removed")
	})
}

// change creates an object and changes its parameters.
func change(t *testing.T, kind, before, after string) error {
	t.Helper()

	obj := object(t, "kind: "+kind+"\nspec: {forProvider: {"+before+"}}")
	if err := kube.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := kube.Delete(context.WithoutCancel(t.Context()), obj); err != nil {
			t.Error(err)
		}
	})

	obj.Object["spec"] = object(t, "spec: {forProvider: {"+after+"}}").Object["spec"]

	return kube.Update(t.Context(), obj)
}

// TestStatusIsNeverRefused: validation rules apply to the spec, not to the observed state.
func TestStatusIsNeverRefused(t *testing.T) {
	cases := map[string]struct {
		asked    string
		observed []string
		path     []string // in the config, of the last write
		want     string
	}{
		v1alpha1.StreamKind: {
			"{storage: file}",
			[]string{
				`{storage: file, replicas: 1, metadata: {a: b}}`,
				`{storage: tape, replicas: 9, sealed: true, allowMsgCounter: true, mirror: {name: x}, subjects: [y]}`,
			},
			[]string{"storage"}, "tape",
		},
		v1alpha1.ObjectStoreKind: {
			"{storage: file}", []string{`{sealed: true}`, `{storage: tape, sealed: false, ttl: 1ns}`}, []string{"storage"},
			"tape",
		},
		v1alpha1.ConsumerKind: {
			"{stream: s}",
			[]string{
				`{ackPolicy: all}`,
				`{ackPolicy: maybe, maxAckPending: 0, push: {deliverSubject: "a.*", flowControl: true}, maxWaiting: 3}`,
			},
			[]string{"push", "deliverSubject"}, "a.*",
		},
	}

	for kind, tc := range cases {
		t.Run(kind, func(t *testing.T) {
			obj := object(t, "kind: "+kind+"\nspec: {forProvider: "+tc.asked+"}")
			if err := kube.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}

			t.Cleanup(func() {
				if err := kube.Delete(context.WithoutCancel(t.Context()), obj); err != nil {
					t.Error(err)
				}
			})

			for _, config := range tc.observed {
				obj.Object["status"] = object(t, "status: {atProvider: {config: "+config+"}}").Object["status"]

				if err := kube.Status().Update(t.Context(), obj); err != nil {
					t.Fatalf("%s: %v", config, err)
				}
			}

			got, _, err := unstructured.NestedString(obj.Object,
				append([]string{"status", "atProvider", "config"}, tc.path...)...)
			if err != nil || got != tc.want {
				t.Errorf("status.atProvider.config.%v is %q (%v), want the written value", tc.path, got, err)
			}
		})
	}
}

package apiserver_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

var (
	lists = flag.Int("lists", 150, "how many random lists of operations are compared with the real API server")
	first = flag.Uint64("first", 1, "the seed of the first of them")
)

var (
	scheme = runtime.NewScheme()
	config *rest.Config
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	flag.Parse()
	ctrllog.SetLogger(logr.Discard())
	cluster, err := devcluster.Join(context.Background(), devcluster.Options{Progress: os.Stderr})
	if err != nil {
		return 1, err
	}
	defer func() { _ = cluster.Stop() }()
	if config, err = cluster.RESTConfig(); err != nil {
		return 1, err
	}
	config.QPS, config.Burst = -1, -1
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, bucket.AddToScheme,
		apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	if _, err := envtest.InstallCRDs(config,
		envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition()}, Scheme: scheme,
			MaxTime: wait.Patience()}); err != nil {
		return 1, err
	}

	return m.Run(), nil
}

type props = apiextensionsv1.JSONSchemaProps

func definition() *apiextensionsv1.CustomResourceDefinition {
	text, number := props{Type: "string"}, props{Type: "integer", Format: "int64"}
	object := func(p map[string]props) props { return props{Type: "object", Properties: p} }
	condition := object(map[string]props{
		"type": text, "status": text, "reason": text, "message": text, "observedGeneration": number,
		"lastTransitionTime": {Type: "string", Format: "date-time"},
	})
	root := object(map[string]props{
		"spec": object(map[string]props{"size": number, "parent": text,
			"writeConnectionSecretToRef": object(map[string]props{"name": text})}),
		"status": object(map[string]props{
			"conditions": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &condition}},
			"id":         text, "size": number, "observedGeneration": number, "lastHandledReconcileAt": text,
		}),
	})

	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "buckets." + bucket.GroupVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: bucket.GroupVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Bucket", ListKind: "BucketList", Plural: "buckets",
				Singular: "bucket"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

// TestAgainstReal runs random lists of operations on the server in memory and on
// a real one: each must be answered alike.
func TestAgainstReal(t *testing.T) { compare(t, model, false) }

// TestStoreAgainstReal does the same with a client of a store.
func TestStoreAgainstReal(t *testing.T) { compare(t, stored, false) }

// TestApplyAgainstReal does the same with server-side apply, of status, too, and with UIDs and
// versions that are to be those of the object. A real server counts a change of who owns what
// as a write, in ways that are not copied, so that versions in answers are not compared.
func TestApplyAgainstReal(t *testing.T) { compare(t, model, true) }

func model(*testing.T) client.Client { return apiserver.New(scheme, clock.RealClock{}).Client() }

func stored(t *testing.T) client.Client {
	t.Helper()
	c, err := kube.NewClient(scheme, []kube.Kind{kube.Serve(memory.New[*kube.Envelope[*bucket.Bucket]]("buckets"))})
	if err != nil {
		t.Fatal(err)
	}
	// Revision 1 is one that no operation has seen.
	if err := c.Create(t.Context(),
		&bucket.Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "first"}}); err != nil {
		t.Fatal(err)
	}

	return c
}

func compare(t *testing.T, other func(*testing.T) client.Client, applies bool) {
	t.Helper()
	real, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "sim-"}}
	if err := real.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	count := uint64(*lists)
	type list struct {
		seed  uint64
		model client.Client
	}
	all := make(chan list)
	var bad atomic.Int64
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for l := range all {
				name := fmt.Sprintf("b%d", l.seed)
				model, server := &side{c: l.model, ns: ns.Name, name: name}, &side{c: real, ns: ns.Name, name: name}
				if bad.Load() < 5 && !compareList(t, l.seed, model, server, applies) {
					bad.Add(1)
				}
			}
		})
	}
	for seed := *first; seed < *first+count; seed++ {
		all <- list{seed, other(t)}
	}
	close(all)
	workers.Wait()
}

// So many lists are done at a time, each with an object of its own: a real server waits
// for its disk.
const atOnce = 24

// compareList returns whether all operations of a list are answered alike.
func compareList(t *testing.T, seed uint64, model, server *side, applies bool) bool {
	t.Helper()
	defer server.clean(t.Context())
	r := rand.New(rand.NewPCG(seed, 0))
	var done []string
	for i := range 14 {
		likely := ""
		if i == 0 {
			likely = "create"
		}
		op := randomOperation(r, likely, applies)
		done = append(done, op.String())
		got, want := op.do(t.Context(), model), op.do(t.Context(), server)
		if applies {
			for _, a := range []answer{got, want} {
				if a.Object != nil {
					a.Object.ResourceVersion = ""
				}
			}
		}
		// What is removed by a write is answered as it was given, with maps that have nothing in them.
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("seed %d: the answer differs (-real +model):\n%s\nafter\n  %s", seed, diff,
				strings.ReplaceAll(strings.Join(done, "\n  "), strings.Repeat("x", 256<<10), "xxx"))

			return false
		}
	}

	return true
}

// A side is one of the two servers, with what was learned from its answers.
type side struct {
	c        client.Client
	ns, name string
	versions []string // resourceVersions by the order in which they were seen
	uids     []string
}

func (s *side) clean(ctx context.Context) {
	o := s.object()
	_ = s.c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	_ = s.c.Delete(ctx, s.object())
}

func (s *side) object() *bucket.Bucket {
	return &bucket.Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: s.name}}
}

// An answer is what can be compared.
type answer struct {
	Code   int32
	Reason metav1.StatusReason
	Causes string
	Object *bucket.Bucket
}

func (s *side) answer(o *bucket.Bucket, err error) answer {
	if err != nil {
		var status kerrors.APIStatus
		if se, ok := err.(kerrors.APIStatus); ok {
			status = se
		} else {
			return answer{Reason: metav1.StatusReason("no answer: " + err.Error())}
		}
		a := answer{Code: status.Status().Code, Reason: status.Status().Reason}
		if d := status.Status().Details; d != nil {
			for _, c := range d.Causes {
				if strings.HasPrefix(c.Field, "metadata.") {
					a.Causes = string(c.Type) + " " + c.Field
				}
			}
		}

		return a
	}
	if o == nil {
		return answer{}
	}
	o.UID = types.UID(order(&s.uids, string(o.UID)))
	o.ResourceVersion = order(&s.versions, o.ResourceVersion)
	o.ManagedFields = nil
	o.CreationTimestamp = metav1.Time{}
	if o.DeletionTimestamp != nil {
		o.DeletionTimestamp = &metav1.Time{}
	}
	o.TypeMeta = metav1.TypeMeta{}

	return answer{Object: o}
}

func order(seen *[]string, value string) string {
	for i, s := range *seen {
		if s == value {
			return fmt.Sprint(i)
		}
	}
	*seen = append(*seen, value)

	return fmt.Sprint(len(*seen) - 1)
}

// pick returns what was seen n-th from the end, or something never seen.
func pick(seen []string, n int, strange string) string {
	if n >= len(seen) {
		return strange
	}

	return seen[len(seen)-1-n]
}

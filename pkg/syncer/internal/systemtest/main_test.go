package systemtest

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	poll "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// The two control planes, which the tests that are not parallel may take down.
var hostPlane, tenantPlane *plane

// A third one, which some tests need besides, is started for the first of them.
var third struct {
	sync.Mutex
	plane *plane
}

var scheme = syncertesting.NewScheme()

// A plane is a control plane and a client with every permission, not counted.
type plane struct {
	*devcluster.Cluster

	config *rest.Config
	api    client.Client
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctrllog.SetLogger(logr.Discard())
	flag.Parse()
	// Parallel tests of this package wait most of the time: for back-offs, mostly.
	if err := flag.Set("test.parallel", "32"); err != nil {
		return 1, err
	}
	for _, p := range []**plane{&hostPlane, &tenantPlane} {
		if *p, err = start(context.Background()); err != nil {
			return 1, err
		}
		defer func() { _ = (*p).Stop() }()
	}
	defer func() {
		if third.plane != nil {
			_ = third.plane.Stop()
		}
	}()
	if err := hostPlane.api.Create(context.Background(), boatCRD()); err != nil {
		return 1, err
	}
	// A syncer of a kind that the host does not serve yet ends.
	err = poll.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, wait.Patience(), true, func(context.Context) (bool, error) {
		served, err := translate.KindExists(hostPlane.config, boatKind)
		return served && err == nil, nil
	})
	if err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func start(ctx context.Context) (*plane, error) {
	c, err := devcluster.Start(ctx, devcluster.Options{Own: true, Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	p := &plane{Cluster: c}
	if p.config, err = c.RESTConfig(); err == nil {
		p.api, err = client.New(p.config, client.Options{Scheme: scheme})
	}
	return p, err
}

// A fleet is a target namespace on the host, a namespace in the tenant, and a syncer
// of boats between them.
type fleet struct {
	*testing.T

	host, tenant         *test.Ledger
	target, ns           string
	name                 string
	options              syncer.Options
	syncer               func(*synccontext.RegisterContext, syncer.Options) syncer.Syncer
	hostConf, tenantConf *rest.Config
	unguarded            bool // it listens to whoever answers for the tenant
	reg                  *synccontext.RegisterContext

	stop  context.CancelFunc
	ended chan error
}

func newFleet(t *testing.T, name string, o syncer.Options) *fleet {
	t.Helper()
	f := &fleet{T: t, host: &test.Ledger{}, tenant: &test.Ledger{}, name: name, options: o, syncer: newBoatSyncer}
	f.target, f.ns = namespace(t, hostPlane.api), namespace(t, tenantPlane.api)
	f.sweep(f.ns)
	f.hostConf, f.tenantConf = counted(hostPlane.config, f.host), counted(tenantPlane.config, f.tenant)
	return f
}

// other returns the third control plane.
func other(t *testing.T) *plane {
	t.Helper()
	third.Lock()
	defer third.Unlock()
	if third.plane == nil {
		var err error
		if third.plane, err = start(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	return third.plane
}

// alone shows the fleet's syncer no boats of the tenant but those of its own namespace, so
// that fleets of parallel tests do not meet.
func (f *fleet) alone() {
	f.tenantConf.Wrap(func(next http.RoundTripper) http.RoundTripper { return within{next, f.ns} })
}

// within is a transport to a tenant whose boats are listed and watched in one namespace.
type within struct {
	next      http.RoundTripper
	namespace string
}

func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
	all := "/" + boatKind.Version + "/boats"
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, all) {
		return w.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.URL.Path = strings.TrimSuffix(r.URL.Path, "/boats") + "/namespaces/" + w.namespace + "/boats"
	return w.next.RoundTrip(r)
}

func counted(c *rest.Config, l *test.Ledger) *rest.Config {
	c = rest.CopyConfig(c)
	c.Wrap(l.Wrap)
	return c
}

// sail starts the syncer and waits until it is ready.
func (f *fleet) sail() {
	f.Helper()
	reg, err := syncer.NewRegisterContext(f.Context(), syncer.RegisterOptions{
		Virtual: f.tenantConf, Physical: f.hostConf, Scheme: scheme, Name: f.name, TargetNamespace: f.target,
	})
	if err != nil {
		f.Fatal(err)
	}
	if f.unguarded {
		if reg.VirtualManager, err = newPlainManager(f.tenantConf); err != nil {
			f.Fatal(err)
		}
	}
	f.reg = reg
	r := syncer.NewRunner(reg)
	if err := r.Register(f.syncer(reg, f.options)); err != nil {
		f.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stop, f.ended = stop, make(chan error, 1)
	go func() { f.ended <- r.Start(ctx) }()
	f.Cleanup(f.moor)
	select {
	case <-r.Ready():
	case err := <-f.ended:
		f.ended <- err
		f.Fatalf("the runner ended before it was ready: %v", err)
	}
}

// moor stops the syncer. Mooring twice is no error.
func (f *fleet) moor() {
	if f.stop == nil {
		return
	}
	f.stop()
	f.stop = nil
	if err := <-f.ended; err != nil {
		f.Errorf("the runner ended with an error: %v", err)
	}
}

// sweep takes all boats of a namespace from the tenant when the test has ended, however
// it did, and the syncer with it: tenants are synced whole, and the next fleet would
// sync what is left as well.
func (f *fleet) sweep(ns string) {
	t := f.T // which another one may take the place of
	t.Cleanup(func() {
		wait.Until(t, "nothing is left in the tenant", func() bool { return swept(context.WithoutCancel(t.Context()), ns) })
	})
}

// swept tells whether a namespace of the tenant has no boats, and deletes them if it has.
// The syncer that would remove its finalizer has stopped.
func swept(ctx context.Context, ns string) bool {
	left := boatList()
	err := tenantPlane.api.List(ctx, left, client.InNamespace(ns))
	if apierrors.IsNotFound(err) { // nor is the kind served
		return true
	}
	if err != nil || tenantPlane.api.DeleteAllOf(ctx, emptyBoat(), client.InNamespace(ns)) != nil {
		return false
	}
	for i := range left.Items {
		if b := &left.Items[i]; len(b.GetFinalizers()) > 0 {
			_ = tenantPlane.api.Patch(ctx, b, merge(`{"metadata":{"finalizers":null}}`)) // the next look tells
		}
	}
	return len(left.Items) == 0
}

// deleteBoats deletes all boats of a namespace. It is asked for until it is done: one
// request of a server on a busy machine may take longer than a request may take.
func deleteBoats(t *testing.T, p *plane, ns string) {
	t.Helper()
	wait.Until(t, "the boats are deleted", func() bool {
		return p.api.DeleteAllOf(t.Context(), emptyBoat(), client.InNamespace(ns)) == nil
	})
}

func namespace(t *testing.T, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "syncer-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

func exists(t *testing.T, c client.Client, obj client.Object) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// figure prints a figure alone on its line.
func figure(name string, value any) { fmt.Printf("%s: %v\n", name, value) }

func boatCRD() *apiextensionsv1.CustomResourceDefinition {
	anything := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "boats.harbour.example.org"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: boatKind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "boats", Singular: "boat", Kind: "Boat", ListKind: "BoatList"},
			// A conversion webhook of the host, which a tenant could not reach.
			Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/convert")},
					ConversionReviewVersions: []string{"v1"},
				},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
							"length": {Type: "integer", Minimum: new(1.0)}, "cargo": {Type: "string"}, "parts": anything,
						}},
						"status": anything,
					},
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

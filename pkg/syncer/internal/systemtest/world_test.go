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
	"k8s.io/apimachinery/pkg/api/meta"
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
var hostPlane, tenantPlane *controlPlane

// A third one, which some tests need besides, is started for the first of them.
var third struct {
	sync.Mutex
	plane *controlPlane
}

var scheme = syncertesting.NewScheme()

// A controlPlane is a control plane with an administrative client whose requests are not
// counted.
type controlPlane struct {
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
	for _, p := range []**controlPlane{&hostPlane, &tenantPlane} {
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
	if err := hostPlane.api.Create(context.Background(), widgetCRD()); err != nil {
		return 1, err
	}
	// A syncer of a kind that the host does not serve yet ends.
	err = poll.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, wait.Patience(), true, func(
		context.Context,
	) (bool, error) {
		served, err := translate.KindExists(hostPlane.config, widgetKind)
		return served && err == nil, nil
	})
	if err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func start(ctx context.Context) (*controlPlane, error) {
	c, err := devcluster.Start(ctx, devcluster.Options{Own: true, Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	p := &controlPlane{Cluster: c}
	if p.config, err = c.RESTConfig(); err == nil {
		p.api, err = client.New(p.config, client.Options{Scheme: scheme})
	}
	return p, err
}

// A testSyncer is a syncer of widgets with its own namespaces in both clusters.
type testSyncer struct {
	*testing.T

	host, tenant         *test.Ledger
	target, ns           string
	name                 string
	options              syncer.Options
	syncer               func(*synccontext.RegisterContext, syncer.Options) syncer.Syncer
	hostConf, tenantConf *rest.Config
	unguarded            bool // without Guard
	reg                  *synccontext.RegisterContext

	stop  context.CancelFunc
	ended chan error
}

func newTestSyncer(t *testing.T, name string, o syncer.Options) *testSyncer {
	t.Helper()
	f := &testSyncer{T: t, host: &test.Ledger{}, tenant: &test.Ledger{}, name: name, options: o, syncer: newWidgetSyncer}
	f.target, f.ns = namespace(t, hostPlane.api), namespace(t, tenantPlane.api)
	f.cleanUp(f.ns)
	f.hostConf, f.tenantConf = counted(hostPlane.config, f.host), counted(tenantPlane.config, f.tenant)
	return f
}

// other returns the third control plane.
func other(t *testing.T) *controlPlane {
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

// limitToNamespace limits the tenant's widgets that the syncer sees to its own namespace,
// so that parallel tests do not affect each other.
func (f *testSyncer) limitToNamespace() {
	f.tenantConf.Wrap(func(next http.RoundTripper) http.RoundTripper { return namespaceTransport{next, f.ns} })
}

// A namespaceTransport lists and watches the tenant's widgets in one namespace only.
type namespaceTransport struct {
	next      http.RoundTripper
	namespace string
}

func (w namespaceTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	all := "/" + widgetKind.Version + "/widgets"
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, all) {
		return w.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.URL.Path = strings.TrimSuffix(r.URL.Path, "/widgets") + "/namespaces/" + w.namespace + "/widgets"
	return w.next.RoundTrip(r)
}

func counted(c *rest.Config, l *test.Ledger) *rest.Config {
	c = rest.CopyConfig(c)
	c.Wrap(l.Wrap)
	return c
}

// start starts the syncer and waits until it is ready.
func (f *testSyncer) start() {
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
	f.Cleanup(f.shutDown)
	select {
	case <-r.Ready():
	case err := <-f.ended:
		f.ended <- err
		f.Fatalf("the runner ended before it was ready: %v", err)
	}
}

// shutDown stops the syncer. A second call does nothing.
func (f *testSyncer) shutDown() {
	if f.stop == nil {
		return
	}
	f.stop()
	f.stop = nil
	if err := <-f.ended; err != nil {
		f.Errorf("the runner ended with an error: %v", err)
	}
}

// cleanUp stops the syncer after the test and deletes all widgets of a namespace of the
// tenant. The syncer syncs all namespaces, so the next test would sync leftovers.
func (f *testSyncer) cleanUp(ns string) {
	t := f.T // which another one may take the place of
	t.Cleanup(func() {
		wait.Until(t, "nothing is left in the tenant", func() bool {
			return deleteLeftovers(context.WithoutCancel(t.Context()), ns)
		})
	})
}

// deleteLeftovers reports whether a namespace of the tenant has no widgets, and deletes
// them otherwise. The syncer that would remove its finalizer has stopped.
func deleteLeftovers(ctx context.Context, ns string) bool {
	left := widgetList()
	err := tenantPlane.api.List(ctx, left, client.InNamespace(ns))
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) { // the kind is not served
		return true
	}
	if err != nil || tenantPlane.api.DeleteAllOf(ctx, emptyWidget(), client.InNamespace(ns)) != nil {
		return false
	}
	for i := range left.Items {
		if b := &left.Items[i]; len(b.GetFinalizers()) > 0 {
			_ = tenantPlane.api.Patch(ctx, b, merge(`{"metadata":{"finalizers":null}}`)) // the next call lists what is left
		}
	}
	return len(left.Items) == 0
}

// deleteWidgets deletes all widgets of a namespace. It retries, because a request to a
// busy server may time out.
func deleteWidgets(t *testing.T, p *controlPlane, ns string) {
	t.Helper()
	wait.Until(t, "the widgets are deleted", func() bool {
		return p.api.DeleteAllOf(t.Context(), emptyWidget(), client.InNamespace(ns)) == nil
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

// figure prints a figure on a line of its own.
func figure(name string, value any) { fmt.Printf("%s: %v\n", name, value) }

func widgetCRD() *apiextensionsv1.CustomResourceDefinition {
	anything := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.widgets.example.org"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: widgetKind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList",
			},
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
							"length": {Type: "integer", Minimum: new(1.0)}, "payload": {Type: "string"}, "parts": anything,
						}},
						"status": anything,
					},
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				},
			}},
		},
	}
}

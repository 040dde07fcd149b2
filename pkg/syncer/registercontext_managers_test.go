package syncer_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
)

// A smallAPIServer is an API server with a few read-only objects, whose UIDs are its
// name.
type smallAPIServer struct {
	*httptest.Server

	name string

	mu    sync.Mutex
	reads []string // for objects
}

func newSmallAPIServer(t *testing.T, name string) *smallAPIServer {
	s := &smallAPIServer{name: name}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *smallAPIServer) config() *rest.Config { return &rest.Config{Host: s.URL} }

func (s *smallAPIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	object := func(kind, namespace, name string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reads = append(s.reads, kind+" "+namespace+"/"+name)
		_, _ = fmt.Fprintf(
			w, `{"kind":%q,"apiVersion":"v1","metadata":{"namespace":%q,"name":%q,"uid":%q}}`, kind, namespace, name, s.name)
	}
	switch r.URL.Path {
	case "/api":
		_, _ = fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case "/apis":
		_, _ = fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
	case "/api/v1":
		_, _ = fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[`+
			`{"name":"services","kind":"Service","namespaced":true,"verbs":["get"]},`+
			`{"name":"configmaps","kind":"ConfigMap","namespaced":true,"verbs":["get"]}]}`)
	case "/api/v1/namespaces/kube-system":
		object("Namespace", "", "kube-system")
	case "/api/v1/namespaces/home/services/front":
		object("Service", "home", "front")
	case "/api/v1/namespaces/home/configmaps/a":
		object("ConfigMap", "home", "a")
	default:
		http.NotFound(w, r)
	}
}

// TestRegisterContext verifies the settings, names and owner of the context and the
// options of its managers. Only the owner is read from the host.
func TestRegisterContext(t *testing.T) {
	own := syncertesting.NewScheme()
	cases := map[string]struct {
		reason  string
		o       syncer.RegisterOptions
		options synccontext.VirtualClusterOptions
		current string // namespace
		scheme  *runtime.Scheme
		owner   string
		asked   []string // of the host
	}{
		"Defaults": {
			"Only required options.", syncer.RegisterOptions{Name: "red", TargetNamespace: "host-ns"},
			synccontext.VirtualClusterOptions{Name: "red", TargetNamespace: "host-ns"},
			"host-ns", clientgoscheme.Scheme, "", nil,
		},
		"All": {
			"All options.", syncer.RegisterOptions{
				Name: "red", TargetNamespace: "host-ns", Scheme: own, CurrentNamespace: "home", ServiceName: "front",
				SetOwner: true,
			},
			synccontext.VirtualClusterOptions{
				Name: "red", TargetNamespace: "host-ns", ServiceName: "front", SetOwner: true,
			}, "home", own, "home/front host", []string{"Service home/front"},
		},
		"NoOwner": {
			"A service without SetOwner.", syncer.RegisterOptions{Name: "red", TargetNamespace: "home", ServiceName: "front"},
			synccontext.VirtualClusterOptions{
				Name: "red", TargetNamespace: "home", ServiceName: "front",
			}, "home", clientgoscheme.Scheme, "", nil,
		},
		"NoService": {
			"SetOwner without a service.", syncer.RegisterOptions{Name: "red", TargetNamespace: "home", SetOwner: true},
			synccontext.VirtualClusterOptions{
				Name: "red", TargetNamespace: "home", SetOwner: true,
			}, "home", clientgoscheme.Scheme, "", nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			virtual, host := newSmallAPIServer(t, "virtual"), newSmallAPIServer(t, "host")
			tc.o.Virtual, tc.o.Physical = virtual.config(), host.config()
			reg, err := syncer.NewRegisterContext(t.Context(), tc.o)
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if tc.o.Virtual.WrapTransport != nil || tc.o.Physical.WrapTransport != nil {
				t.Errorf("%s\nthe given configurations were changed", tc.reason)
			}
			if diff := cmp.Diff(&tc.options, reg.Options); diff != "" {
				t.Errorf("%s\noptions: -want, +got:\n%s", tc.reason, diff)
			}
			owner := ""
			if o := reg.Names.Owner; o != nil {
				owner = o.GetNamespace() + "/" + o.GetName() + " " + string(o.GetUID())
			}
			if reg.Names.Suffix != "red" || reg.Names.Cluster != "virtual" || owner != tc.owner ||
				!cmp.Equal(host.reads, tc.asked) {
				t.Errorf(
					"%s\nnames %v, owner %q, want %q; reads of the host: %q", tc.reason, reg.Names, owner, tc.owner, host.reads)
			}
			if reg.TargetNamespace != tc.o.TargetNamespace || reg.CurrentNamespace != tc.current || reg.Context != t.Context() {
				t.Errorf("%s\nnamespaces %q and %q", tc.reason, reg.TargetNamespace, reg.CurrentNamespace)
			}
			for server, m := range map[*smallAPIServer]interface {
				GetConfig() *rest.Config
				GetScheme() *runtime.Scheme
				GetClient() client.Client
				AddMetricsServerExtraHandler(path string, handler http.Handler) error
			}{virtual: reg.VirtualManager, host: reg.PhysicalManager} {
				untyped := &unstructured.Unstructured{}
				untyped.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
				var unread *cache.ErrCacheNotStarted
				if err := m.GetClient().Get(t.Context(), client.ObjectKey{
					Namespace: tc.o.TargetNamespace, Name: "a",
				}, untyped); !errors.As(err, &unread) {
					t.Errorf("%s\n%s is not read from its cache: %v", tc.reason, server.name, err)
				}
				for range 2 { // a server would refuse the second one
					if err := m.AddMetricsServerExtraHandler("/path", http.NotFoundHandler()); err != nil {
						t.Errorf("%s\nthe manager of %s serves metrics: %v", tc.reason, server.name, err)
					}
				}
				if m.GetConfig().Host != server.URL || m.GetScheme() != tc.scheme {
					t.Errorf("%s\nthe manager of %s has the host %s, or another scheme", tc.reason, server.name, m.GetConfig().Host)
				}
			}
			if !ptr.Deref(reg.VirtualManager.GetControllerOptions().SkipNameValidation, false) {
				t.Errorf("%s\nSkipNameValidation is not set", tc.reason)
			}
			shared := reg.CurrentNamespaceClient == reg.PhysicalManager.GetClient()
			if shared != (tc.current == tc.o.TargetNamespace) {
				t.Errorf("%s\nthe current namespace is read from the cache of the host: %t", tc.reason, shared)
			} else if shared {
				return
			}
			if err := reg.CurrentNamespaceClient.Get(
				t.Context(), client.ObjectKey{Namespace: "home", Name: "a"}, &corev1.ConfigMap{}); err != nil {
				t.Errorf("%s\nthe current namespace cannot be read: %v", tc.reason, err)
			}
		})
	}
}

// TestRegisterContextErrors verifies that errors name the cluster.
func TestRegisterContextErrors(t *testing.T) {
	virtual, host := newSmallAPIServer(t, "virtual").config(), newSmallAPIServer(t, "host").config()
	broken := rest.CopyConfig(host)
	broken.CAData = []byte("no certificate")
	cases := map[string]struct {
		reason            string
		virtual, physical *rest.Config
		service           string
		want              string
	}{
		"Virtual": {
			"The client of the virtual cluster cannot be created.", broken, host, "",
			"cannot create a client for the virtual cluster: ",
		},
		"Host": {
			"The manager of the host cannot be created.", virtual, broken, "",
			"cannot create a manager for the physical cluster: ",
		},
		"Owner": {
			"The client for the owner cannot be created.", virtual, broken, "front",
			"cannot create a client for the physical cluster: ",
		},
		"Missing": {
			"The service does not exist.", virtual, host, "back", "cannot read the service that owns the host objects: ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := syncer.RegisterOptions{
				Virtual: tc.virtual, Physical: tc.physical, Name: "red", TargetNamespace: "home", ServiceName: tc.service,
				SetOwner: true,
			}
			if reg, err := syncer.NewRegisterContext(t.Context(), o); reg != nil || err == nil ||
				!strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// A closeCountingTransport counts the closed bodies of lists.
type closeCountingTransport struct {
	http.RoundTripper

	closed *int
}

// RoundTrip wraps the bodies of lists.
func (c closeCountingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/pods") {
		answer.Body = closeCountingBody{answer.Body, c.closed}
	}
	return answer, err
}

type closeCountingBody struct {
	io.ReadCloser

	closed *int
}

func (b closeCountingBody) Close() error {
	*b.closed++
	return b.ReadCloser.Close()
}

// TestGuardClosesBody verifies that the body of another cluster's list is closed, and
// that the identity is not read again once the original cluster is back.
func TestGuardClosesBody(t *testing.T) {
	server, closed := newFakeAPIServer(t), 0
	config := &rest.Config{Host: server.URL + "/base"}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return closeCountingTransport{next, &closed} })
	config, _, err := syncer.Guard(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	server.identity.Store("second")
	closed = 0
	if _, err := send(t, c, server.URL, "GET /base/api/v1/pods"); !errors.Is(err, syncer.ErrVirtualClusterReplaced) ||
		closed != 1 {
		t.Errorf("got error %v, closed %d bodies", err, closed)
	}
	server.identity.Store("first")
	for _, asked := range []int32{1, 0, 0} {
		server.identityReads.Store(0)
		if _, err := send(t, c, server.URL, "PATCH /base/api/v1/namespaces/a/pods/b"); err != nil ||
			server.identityReads.Load() != asked {
			t.Errorf("got error %v, %d reads of the identity, want %d", err, server.identityReads.Load(), asked)
		}
	}
}

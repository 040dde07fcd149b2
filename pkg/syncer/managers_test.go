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

// small is an API server that has a few objects, whose UIDs are its name, and no more.
type small struct {
	*httptest.Server

	name string

	mu    sync.Mutex
	asked []string // for objects
}

func newSmall(t *testing.T, name string) *small {
	s := &small{name: name}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *small) config() *rest.Config { return &rest.Config{Host: s.URL} }

func (s *small) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	object := func(kind, namespace, name string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, kind+" "+namespace+"/"+name)
		_, _ = fmt.Fprintf(w, `{"kind":%q,"apiVersion":"v1","metadata":{"namespace":%q,"name":%q,"uid":%q}}`, kind, namespace, name, s.name)
	}
	switch r.URL.Path {
	case "/api":
		_, _ = fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case "/apis":
		_, _ = fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
	case "/api/v1":
		_, _ = fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"services","kind":"Service","namespaced":true,"verbs":["get"]},`+
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

// TestRegisterContext: the context of a process says which clusters it is between, under which names, and who owns host objects. Its managers read from
// caches, and serve no metrics. Only an owner is asked for on the host.
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
			"What is required is enough.", syncer.RegisterOptions{Name: "red", TargetNamespace: "quay"},
			synccontext.VirtualClusterOptions{Name: "red", TargetNamespace: "quay"}, "quay", clientgoscheme.Scheme, "", nil,
		},
		"All": {
			"Everything is said.", syncer.RegisterOptions{Name: "red", TargetNamespace: "quay", Scheme: own, CurrentNamespace: "home", ServiceName: "front", SetOwner: true},
			synccontext.VirtualClusterOptions{Name: "red", TargetNamespace: "quay", ServiceName: "front", SetOwner: true}, "home", own, "home/front host", []string{"Service home/front"},
		},
		"NoOwner": {
			"A service need not be the owner.", syncer.RegisterOptions{Name: "red", TargetNamespace: "home", ServiceName: "front"},
			synccontext.VirtualClusterOptions{Name: "red", TargetNamespace: "home", ServiceName: "front"}, "home", clientgoscheme.Scheme, "", nil,
		},
		"NoService": {
			"Without a service there is no owner.", syncer.RegisterOptions{Name: "red", TargetNamespace: "home", SetOwner: true},
			synccontext.VirtualClusterOptions{Name: "red", TargetNamespace: "home", SetOwner: true}, "home", clientgoscheme.Scheme, "", nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			virtual, host := newSmall(t, "virtual"), newSmall(t, "host")
			tc.o.Virtual, tc.o.Physical = virtual.config(), host.config()
			reg, err := syncer.NewRegisterContext(t.Context(), tc.o)
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if tc.o.Virtual.WrapTransport != nil || tc.o.Physical.WrapTransport != nil {
				t.Errorf("%s\nwho else uses the configurations asks with what watches for a restore", tc.reason)
			}
			if diff := cmp.Diff(&tc.options, reg.Options); diff != "" {
				t.Errorf("%s\noptions: -want, +got:\n%s", tc.reason, diff)
			}
			owner := ""
			if o := reg.Names.Owner; o != nil {
				owner = o.GetNamespace() + "/" + o.GetName() + " " + string(o.GetUID())
			}
			if reg.Names.Suffix != "red" || reg.Names.Cluster != "virtual" || owner != tc.owner || !cmp.Equal(host.asked, tc.asked) {
				t.Errorf("%s\nnames %v, owner %q, want %q; the host was asked for %q", tc.reason, reg.Names, owner, tc.owner, host.asked)
			}
			if reg.TargetNamespace != tc.o.TargetNamespace || reg.CurrentNamespace != tc.current || reg.Context != t.Context() {
				t.Errorf("%s\nnamespaces %q and %q", tc.reason, reg.TargetNamespace, reg.CurrentNamespace)
			}
			for server, m := range map[*small]interface {
				GetConfig() *rest.Config
				GetScheme() *runtime.Scheme
				GetClient() client.Client
				AddMetricsServerExtraHandler(path string, handler http.Handler) error
			}{virtual: reg.VirtualManager, host: reg.PhysicalManager} {
				untyped := &unstructured.Unstructured{}
				untyped.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
				var unread *cache.ErrCacheNotStarted
				if err := m.GetClient().Get(t.Context(), client.ObjectKey{Namespace: tc.o.TargetNamespace, Name: "a"}, untyped); !errors.As(err, &unread) {
					t.Errorf("%s\n%s is read without its cache: %v", tc.reason, server.name, err)
				}
				for range 2 { // a server would refuse the second one
					if err := m.AddMetricsServerExtraHandler("/path", http.NotFoundHandler()); err != nil {
						t.Errorf("%s\nthe manager of %s serves metrics: %v", tc.reason, server.name, err)
					}
				}
				if m.GetConfig().Host != server.URL || m.GetScheme() != tc.scheme {
					t.Errorf("%s\nthe manager of %s is that of %s, or has another scheme", tc.reason, server.name, m.GetConfig().Host)
				}
			}
			if !ptr.Deref(reg.VirtualManager.GetControllerOptions().SkipNameValidation, false) {
				t.Errorf("%s\ntwo contexts cannot have syncers of one name", tc.reason)
			}
			if shared := reg.CurrentNamespaceClient == reg.PhysicalManager.GetClient(); shared != (tc.current == tc.o.TargetNamespace) {
				t.Errorf("%s\nthe current namespace is read through the cache of the target namespace: %t", tc.reason, shared)
			} else if shared {
				return
			}
			if err := reg.CurrentNamespaceClient.Get(t.Context(), client.ObjectKey{Namespace: "home", Name: "a"}, &corev1.ConfigMap{}); err != nil {
				t.Errorf("%s\nthe current namespace cannot be read: %v", tc.reason, err)
			}
		})
	}
}

// TestRegisterContextFails: it is said of which cluster it could not be made.
func TestRegisterContextFails(t *testing.T) {
	virtual, host := newSmall(t, "virtual").config(), newSmall(t, "host").config()
	broken := rest.CopyConfig(host)
	broken.CAData = []byte("no certificate")
	cases := map[string]struct {
		reason            string
		virtual, physical *rest.Config
		service           string
		want              string
	}{
		"Virtual": {"There is no client for it.", broken, host, "", "cannot make a client for the virtual cluster: "},
		"Host":    {"There is no manager for it.", virtual, broken, "", "cannot make a manager for the physical cluster: "},
		"Owner":   {"There is no client to ask for the owner with.", virtual, broken, "front", "cannot make a client for the physical cluster: "},
		"Missing": {"There is no such service.", virtual, host, "back", "cannot read the service that owns the host objects: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := syncer.RegisterOptions{Virtual: tc.virtual, Physical: tc.physical, Name: "red", TargetNamespace: "home", ServiceName: tc.service, SetOwner: true}
			if reg, err := syncer.NewRegisterContext(t.Context(), o); reg != nil || err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// closing notes that the body of an answer is closed.
type closing struct {
	http.RoundTripper

	closed *int
}

// RoundTrip counts the answers to lists.
func (c closing) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/pods") {
		answer.Body = closingBody{answer.Body, c.closed}
	}
	return answer, err
}

type closingBody struct {
	io.ReadCloser

	closed *int
}

func (b closingBody) Close() error {
	*b.closed++
	return b.ReadCloser.Close()
}

// TestGuardReadsNothing: what another cluster lists is not read, and its connection is free for others; and once the right one is back it is asked no more.
func TestGuardReadsNothing(t *testing.T) {
	server, closed := newImpostor(t), 0
	config := &rest.Config{Host: server.URL + "/base"}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return closing{next, &closed} })
	config, _, err := syncer.Guard(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	server.who.Store("second")
	closed = 0
	if _, err := send(t, c, server.URL, "GET /base/api/v1/pods"); !errors.Is(err, syncer.ErrVirtualClusterReplaced) || closed != 1 {
		t.Errorf("got error %v, closed %d lists", err, closed)
	}
	server.who.Store("first")
	for _, asked := range []int32{1, 0, 0} {
		server.asked.Store(0)
		if _, err := send(t, c, server.URL, "PATCH /base/api/v1/namespaces/a/pods/b"); err != nil || server.asked.Load() != asked {
			t.Errorf("got error %v, asked %d times who it is, want %d", err, server.asked.Load(), asked)
		}
	}
}

package controller_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	resourcefake "github.com/moorage-dev/moorage/pkg/resource/fake"
)

// acquirer gives every object the same NATS, and remembers what it was asked for.
type acquirer struct {
	nats  *fake
	err   error
	asked kube.ObjectKey
}

func (a *acquirer) Acquire(_ context.Context, key kube.ObjectKey) (controller.Streams, func(), error) {
	a.asked = key

	return a.nats, func() { a.nats.released++ }, a.err
}

func TestConnect(t *testing.T) {
	boom := errors.New("boom")

	cases := map[string]struct {
		reason string
		mg     resource.Managed
		err    error
		asked  kube.ObjectKey
		want   string
	}{
		"Default": {"no name means default", stream(), nil, kube.ObjectKey{Namespace: "ns", Name: "default"}, ""},
		"Named": {
			"the one that is named, of the object's own namespace",
			stream(func(s *v1alpha1.Stream) { s.Spec.ProviderConfigRef.Name = "other" }), nil, kube.ObjectKey{Namespace: "ns", Name: "other"}, "",
		},
		"Failed":    {"no connection, no client", stream(), boom, kube.ObjectKey{Namespace: "ns", Name: "default"}, "boom"},
		"OtherKind": {"what names no ProviderConfig is not ours", &resourcefake.Managed{}, nil, kube.ObjectKey{}, "this controller was given a *fake.Managed, which is not of its kind"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := &acquirer{nats: &fake{}, err: tc.err}
			c, err := controller.NewConnecter(a, controller.StreamKind(), cluster).Connect(t.Context(), tc.mg)

			if diff := cmp.Diff(tc.want, text(err)); diff != "" {
				t.Fatalf("\n%s\nConnect(...): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.asked, a.asked); diff != "" {
				t.Errorf("\n%s\nProviderConfig: -want, +got:\n%s", tc.reason, diff)
			}

			if err != nil {
				return
			}

			d, ok := c.(managed.ExternalDisconnecter)
			if !ok {
				t.Fatalf("\n%s\na %T cannot disconnect", tc.reason, c)
			}

			must(t, d.Disconnect(t.Context()))

			if a.nats.released != 1 {
				t.Errorf("\n%s\nthe connection was given back %d times, want once", tc.reason, a.nats.released)
			}
		})
	}
}

// A desk is a cluster with the given objects that counts how often Secrets are
// read.
type desk struct {
	kube.Client
	secrets int

	// fail is what the API server says when a Secret is read.
	fail error
}

func newDesk(t *testing.T, objects ...kube.Object) *desk {
	t.Helper()

	scheme := runtime.NewScheme()
	must(t, corev1.AddToScheme(scheme))
	must(t, v1alpha1.AddToScheme(scheme))

	d := &desk{}
	d.Client = kubefake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c kube.WithWatch, key kube.ObjectKey, obj kube.Object, opts ...kube.GetOption) error {
			if _, ok := obj.(*corev1.Secret); ok {
				d.secrets++

				if d.fail != nil {
					return d.fail
				}
			}

			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()

	return d
}

func providerConfig(url string) *v1alpha1.ProviderConfig {
	return &v1alpha1.ProviderConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "default", UID: "uid-of-config", Generation: 1},
		Spec: v1alpha1.ProviderConfigSpec{
			Servers: []string{url},
			Credentials: v1alpha1.Credentials{
				Source: v1alpha1.CredentialsSecret, Type: v1alpha1.CredentialsTypeToken, SecretRef: &v1alpha1.SecretKeyReference{Name: "login"},
			},
		},
	}
}

func secret(token string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "login", UID: "uid-of-secret"}, Data: map[string][]byte{"token": []byte(token)}}
}

func key() kube.ObjectKey { return kube.ObjectKey{Namespace: "ns", Name: "default"} }

// TestSharedConnection: a hundred objects are one connection and one look at its
// Secret, until the ProviderConfig changes.
func TestSharedConnection(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.Authorization = "right" })
	pc := providerConfig(s.ClientURL())
	d := newDesk(t, pc, secret("right"))
	connections := controller.NewConnections(d, d)
	t.Cleanup(connections.Close)

	for range 100 {
		streams, release, err := connections.Acquire(t.Context(), key())
		must(t, err)

		_, err = streams.Info(t.Context(), "orders")
		if err == nil {
			t.Fatal("there is a stream that nobody created")
		}

		release()
	}

	if d.secrets != 1 || s.NumClients() != 1 {
		t.Errorf("%d reads of the Secret and %d connections, want one of each", d.secrets, s.NumClients())
	}

	pc.Generation++
	pc.Spec.Domain = "elsewhere"
	must(t, d.Update(t.Context(), pc))

	_, release, err := connections.Acquire(t.Context(), key())
	must(t, err)
	release()

	if d.secrets != 2 {
		t.Errorf("%d reads of the Secret after a change of the ProviderConfig, want two", d.secrets)
	}
}

// A watch shows the time that it was set to.
type watch struct{ now time.Time }

func (w *watch) Now() time.Time                  { return w.now }
func (w *watch) Since(t time.Time) time.Duration { return w.now.Sub(t) }

// TestHiccup: an API server that is busy for a moment takes no connection away,
// one that says that the Secret is gone does.
func TestHiccup(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.Authorization = "right" })
	d := newDesk(t, providerConfig(s.ClientURL()), secret("right"))
	clock := &watch{now: time.Unix(0, 0)}
	connections := controller.NewConnections(d, d, connection.WithClock(clock))
	t.Cleanup(connections.Close)

	acquire := func(pass time.Duration) error {
		clock.now = clock.now.Add(pass)

		_, release, err := connections.Acquire(t.Context(), key())
		if err == nil {
			release()
		}

		return err
	}
	must(t, acquire(0))

	d.fail = apierrors.NewTooManyRequests("later", 1)
	must(t, acquire(time.Minute))
	must(t, acquire(5*time.Second))

	if d.secrets != 3 || s.NumClients() != 1 {
		t.Errorf("%d reads of the Secret and %d connections, want three and one", d.secrets, s.NumClients())
	}

	d.fail = nil
	must(t, d.Delete(t.Context(), secret("right")))

	if err := acquire(5 * time.Second); !strings.Contains(text(err), "does not exist: create it") {
		t.Errorf("without the Secret: %v", err)
	}
}

// TestAcquireErrors: each says what to do, and none tells a secret.
func TestAcquireErrors(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.Authorization = "right" })

	cases := map[string]struct {
		reason  string
		objects []kube.Object
		want    []string
	}{
		"NoProviderConfig": {"nobody created it", nil, []string{`there is no ProviderConfig "default" in the namespace "ns": create it`}},
		"NoSecret":         {"nobody created it", []kube.Object{providerConfig(s.ClientURL())}, []string{`as ProviderConfig "default" says`, `the Secret "login"`, "does not exist: create it"}},
		"WrongToken":       {"NATS knows better", []kube.Object{providerConfig(s.ClientURL()), secret("wr0ng")}, []string{"NATS refuses the credentials it was given: correct spec.credentials"}},
		"Unreachable":      {"nobody listens", []kube.Object{providerConfig("nats://127.0.0.1:1"), secret("x")}, []string{"cannot reach NATS at nats://127.0.0.1:1: correct spec.servers"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, tc.objects...)
			connections := controller.NewConnections(d, d)
			t.Cleanup(connections.Close)

			_, _, err := connections.Acquire(t.Context(), key())

			for _, want := range tc.want {
				if !strings.Contains(text(err), want) {
					t.Errorf("\n%s\nAcquire(...): want an error with %q, got: %v", tc.reason, want, err)
				}
			}

			if strings.Contains(text(err), "wr0ng") {
				t.Errorf("\n%s\nthe error tells a secret: %v", tc.reason, err)
			}
		})
	}
}

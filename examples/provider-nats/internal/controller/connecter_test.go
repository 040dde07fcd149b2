package controller_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// acquirer gives every object the same NATS.
type acquirer struct {
	nats *fake
	err  error
}

func (a *acquirer) Acquire(context.Context, resource.Managed) (*controller.Link, error) {
	return &controller.Link{
		JetStream: a.nats, Connection: managed.Connection{Name: "ProviderConfig/ns/default", Revision: "7"},
		Release: func() { a.nats.released++ },
	}, a.err
}

func TestConnect(t *testing.T) {
	boom := errors.New("boom")

	cases := map[string]struct {
		reason string
		a      *acquirer
		want   string
	}{
		"Connected": {"a client that can be disconnected", &acquirer{nats: &fake{}}, ""},
		"Failed":    {"no connection, no client", &acquirer{nats: &fake{}, err: boom}, "boom"},
		"Unidentified": {
			"a client without an identity releases the connection",
			&acquirer{nats: &fake{identity: boom}}, "boom",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := tc.a
			c, err := controller.NewConnecter(a, controller.StreamKind(), cluster).Connect(t.Context(), stream())

			if diff := cmp.Diff(tc.want, text(err)); diff != "" {
				t.Fatalf("\n%s\nConnect(...): -want, +got:\n%s", tc.reason, diff)
			}

			if err != nil {
				if want := map[bool]int{true: 1}[a.err == nil]; a.nats.released != want {
					t.Errorf("\n%s\nthe connection was given back %d times, want %d", tc.reason, a.nats.released, want)
				}

				return
			}

			if b, ok := c.(managed.BackendIdentifier); !ok || b.Identity() != "north/SALES" {
				t.Errorf("\n%s\na %T does not report the NATS it is connected to", tc.reason, c)
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

// A desk is a cluster with the given objects that counts the reads of Secrets.
type desk struct {
	kube.Client
	secrets int

	// fail is the answer of the API server to a read of a Secret.
	fail error

	// early are the results of the first reads of the ProviderConfig.
	early looks
}

func newDesk(t *testing.T, objects ...kube.Object) *desk {
	t.Helper()

	scheme := runtime.NewScheme()
	must(t, corev1.AddToScheme(scheme))
	must(t, v1alpha1.AddToScheme(scheme))

	d := &desk{}
	client := kubefake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
	d.Client = client.WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c kube.WithWatch, key kube.ObjectKey, obj kube.Object, opts ...kube.GetOption) error {
			if _, ok := obj.(*corev1.Secret); ok {
				d.secrets++

				if d.fail != nil {
					return d.fail
				}
			}

			if err := c.Get(ctx, key, obj, opts...); err != nil {
				return err
			}

			return d.look(obj)
		},
	}).Build()

	return d
}

// look returns the result of a read of an object.
func (d *desk) look(obj kube.Object) error {
	pc, ok := obj.(*v1alpha1.ProviderConfig)
	if !ok || len(d.early) == 0 {
		return nil
	}

	first := d.early[0]
	d.early = d.early[1:]

	if first == nil {
		return nil
	}

	return first(pc)
}

func providerConfig(url string) *v1alpha1.ProviderConfig {
	return &v1alpha1.ProviderConfig{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "default", UID: "uid-of-config", Generation: 1,
			Finalizers: []string{providerconfig.FinalizerName},
		},
		Spec: v1alpha1.ProviderConfigSpec{
			Servers: []string{url},
			Credentials: v1alpha1.Credentials{
				Source: v1alpha1.CredentialsSecret, Type: v1alpha1.CredentialsTypeToken,
				SecretRef: &v1alpha1.SecretKeyReference{Name: "login"},
			},
		},
	}
}

func secret(token string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "login", UID: "uid-of-secret"},
		Data:       map[string][]byte{"token": []byte(token)},
	}
}

// TestSharedConnection serves a hundred objects by one connection and one read of its Secret, until the
// ProviderConfig changes.
func TestSharedConnection(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.Authorization = "right" })
	pc := providerConfig(s.ClientURL())
	d := newDesk(t, pc, secret("right"))
	connections := controller.NewConnections(d, d)
	t.Cleanup(connections.Close)

	for range 100 {
		link, err := connections.Acquire(t.Context(), stream())
		must(t, err)

		_, err = link.Info(t.Context(), "orders")
		if err == nil {
			t.Fatal("there is a stream that was not created")
		}

		link.Release()
	}

	if d.secrets != 1 || s.NumClients() != 1 {
		t.Errorf("%d reads of the Secret and %d connections, want one of each", d.secrets, s.NumClients())
	}

	pc.Generation++
	pc.Spec.Domain = "elsewhere"
	must(t, d.Update(t.Context(), pc))

	link, err := connections.Acquire(t.Context(), stream())
	must(t, err)
	link.Release()

	if d.secrets != 2 {
		t.Errorf("%d reads of the Secret after a change of the ProviderConfig, want two", d.secrets)
	}
}

// A watch is a clock that is set by the test.
type watch struct{ now time.Time }

func (w *watch) Now() time.Time                  { return w.now }
func (w *watch) Since(t time.Time) time.Duration { return w.now.Sub(t) }

// TestBusyAPIServerKeepsConnection: an API server that is busy for a moment removes no connection, the
// answer that the Secret is gone does.
func TestBusyAPIServerKeepsConnection(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.Authorization = "right" })
	d := newDesk(t, providerConfig(s.ClientURL()), secret("right"))
	clock := &watch{now: time.Unix(0, 0)}
	connections := controller.NewConnections(d, d, connection.WithClock(clock))
	t.Cleanup(connections.Close)

	acquire := func(pass time.Duration) error {
		clock.now = clock.now.Add(pass)

		link, err := connections.Acquire(t.Context(), stream())
		if err == nil {
			link.Release()
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

// TestSecretGoesFirst deletes a namespace, whose Secrets go before its objects. An object that is being
// deleted keeps the connection, whether its ProviderConfig is deleted as well or not. No other object does.
func TestSecretGoesFirst(t *testing.T) {
	live := func(s *v1alpha1.Stream) { s.Name, s.Finalizers = "live", []string{managed.FinalizerName} }
	deleted := func(s *v1alpha1.Stream) { s.Name, s.Finalizers = "deleted", []string{managed.FinalizerName} }

	cases := map[string]struct {
		reason string
		then   func(t *testing.T, d *desk, pc *v1alpha1.ProviderConfig)
		err    string // of the object that is being deleted, if it is not connected
	}{
		"Gone":   {"only the Secret is gone", func(*testing.T, *desk, *v1alpha1.ProviderConfig) {}, ""},
		"Config": {"a deletion raises the generation", leave, ""},
		"Edited": {"the configuration names another NATS now", edit, "does not exist: create it"},
		"Replaced": {
			"a Secret without contents ends the connection for all objects",
			func(t *testing.T, d *desk, _ *v1alpha1.ProviderConfig) {
				must(t, d.Create(t.Context(), secret("")))
			}, `has no value under the key "token"`,
		},
		"Forced": {
			"without its configuration, the NATS of an object is unknown",
			func(t *testing.T, d *desk, pc *v1alpha1.ProviderConfig) {
				pc.Finalizers = nil
				must(t, d.Update(t.Context(), pc))
				must(t, d.Delete(t.Context(), pc))
			}, "create the configuration",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := natstest.Start(t, func(o *server.Options) { o.Authorization = "right" })
			pc := providerConfig(s.ClientURL())
			d := newDesk(t, pc, secret("right"), stream(live), stream(deleted))
			clock := &watch{now: time.Unix(0, 0)}
			connections := controller.NewConnections(d, d, connection.WithClock(clock))
			t.Cleanup(connections.Close)

			acquire := func(pass time.Duration, mg *v1alpha1.Stream) error {
				must(t, d.Get(t.Context(), kube.ObjectKeyFromObject(mg), mg))

				clock.now = clock.now.Add(pass)

				link, err := connections.Acquire(t.Context(), mg)
				if err == nil {
					link.Release()
				}

				return err
			}
			must(t, acquire(0, stream(live)))
			must(t, d.Delete(t.Context(), secret("right")))
			must(t, d.Delete(t.Context(), stream(deleted)))
			must(t, acquire(time.Minute, stream(deleted)))
			tc.then(t, d, pc)

			for range 2 {
				if err := acquire(5*time.Second, stream(live)); err == nil {
					t.Errorf("\n%s\nan object that is not being deleted is connected", tc.reason)
				}

				if err := acquire(0, stream(deleted)); !strings.Contains(text(err), tc.err) || err != nil && tc.err == "" {
					t.Errorf("\n%s\nan object that is being deleted: want %q, got %v", tc.reason, tc.err, err)
				}
			}

			if tc.err == "" && s.NumClients() != 1 {
				t.Errorf("\n%s\n%d connections, want the one from before", tc.reason, s.NumClients())
			}
		})
	}
}

// leave deletes a configuration that is in use, as an API server does.
func leave(t *testing.T, d *desk, pc *v1alpha1.ProviderConfig) {
	t.Helper()

	pc.Generation++
	must(t, d.Update(t.Context(), pc))
	must(t, d.Delete(t.Context(), pc))
}

func edit(t *testing.T, d *desk, pc *v1alpha1.ProviderConfig) {
	t.Helper()

	pc.Generation++
	pc.Spec.Domain = "elsewhere"
	must(t, d.Update(t.Context(), pc))
}

// TestSecretGoneBefore: a process without an earlier connection has none to keep, and says what to do where
// a Secret cannot be created any more.
func TestSecretGoneBefore(t *testing.T) {
	d := newDesk(t, providerConfig("nats://127.0.0.1:1"))
	connections := controller.NewConnections(d, d)
	t.Cleanup(connections.Close)

	deleted := stream(func(s *v1alpha1.Stream) {
		s.Finalizers, s.DeletionTimestamp = []string{managed.FinalizerName}, &metav1.Time{Time: time.Unix(1, 0)}
	})

	_, err := connections.Acquire(t.Context(), deleted)
	for _, want := range []string{
		`the Secret "login"`, `create it in the namespace "ns"`,
		"name a ClusterProviderConfig in spec.providerConfigRef", meta.AnnotationKeyDeletionPolicy + ` to "orphan"`,
	} {
		if !strings.Contains(text(err), want) {
			t.Errorf("want an error with %q, got: %v", want, err)
		}
	}
}

// A notifier is a Follower that is triggered by the test.
type notifier map[types.NamespacedName]func()

func (b notifier) Follow(secret types.NamespacedName, version string, changed func()) func() {
	b[types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name + "@" + version}] = changed

	return func() { clear(b) }
}

// TestRotation: a notification of a new version of a Secret makes the next Acquire read it at once, and
// follow that version.
func TestRotation(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.Authorization = "right" })
	d := newDesk(t, providerConfig(s.ClientURL()), secret("right"))
	connections := controller.NewConnections(d, d)
	t.Cleanup(connections.Close)

	followed := notifier{}
	connections.Follow(followed)

	link, err := connections.Acquire(t.Context(), stream())
	must(t, err)
	link.Release()

	rotated := &corev1.Secret{}
	must(t, d.Get(t.Context(), kube.ObjectKeyFromObject(secret("")), rotated))
	before := types.NamespacedName{Namespace: "ns", Name: "login@" + rotated.ResourceVersion}

	rotated.Data["token"] = []byte("wr0ng")
	must(t, d.Update(t.Context(), rotated))

	if _, err := connections.Acquire(t.Context(), stream()); err != nil {
		t.Errorf("a change without a notification was noticed: %v", err)
	}

	if followed[before] == nil || len(followed) != 1 {
		t.Fatalf("the Secret that was read is not followed, but %v", followed)
	}

	followed[before]()

	if _, err := connections.Acquire(t.Context(), stream()); !external.IsUnauthorized(err) {
		t.Errorf("the new token is wrong: %v", err)
	}
}

// TestWhichConfiguration: an object gets the connection of the configuration that it names, namespaced or
// cluster-scoped, and two configurations never share one.
func TestWhichConfiguration(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.Authorization = "right" })

	own := providerConfig(s.ClientURL())
	named := providerConfig(s.ClientURL())
	named.Name, named.UID = "other", "another"

	// The same UID cannot be, but were it so, it would not matter.
	whole := &v1alpha1.ClusterProviderConfig{
		ObjectMeta: metav1.ObjectMeta{
			Name: "default", UID: own.UID, Generation: 1, Finalizers: []string{providerconfig.FinalizerName},
		},
		Spec: v1alpha1.ClusterProviderConfigSpec{
			Servers: []string{s.ClientURL() + "/"},
			Credentials: v1alpha1.ClusterCredentials{
				Source: v1alpha1.CredentialsSecret, Type: v1alpha1.CredentialsTypeToken,
				SecretRef: &v1alpha1.NamespacedSecretKeyReference{
					NamespacedSecretReference: v1alpha1.NamespacedSecretReference{Namespace: "vault", Name: "login"}, Key: "secret",
				},
			},
		},
	}
	elsewhere := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "vault", Name: "login", UID: "x"},
		Data:       map[string][]byte{"secret": []byte("right")},
	}

	d := newDesk(t, own, named, whole, secret("right"), elsewhere)
	connections := controller.NewConnections(d, d)
	t.Cleanup(connections.Close)

	ref := func(kind, name string) *v1alpha1.Stream {
		return stream(func(s *v1alpha1.Stream) {
			s.Spec.ProviderConfigRef = v1alpha1.ProviderConfigReference{Kind: kind, Name: name}
		})
	}

	seen := map[controller.JetStream]bool{}

	for _, mg := range []*v1alpha1.Stream{
		ref("", ""), ref("", "default"), ref("ProviderConfig", "default"), // one
		ref("", "other"),                        // another
		ref("ClusterProviderConfig", "default"), // and one more
	} {
		link, err := connections.Acquire(t.Context(), mg)
		must(t, err)
		link.Release()

		seen[link.JetStream] = true
	}

	if len(seen) != 3 {
		t.Errorf("%d connections for three configurations", len(seen))
	}

	for name, mg := range map[string]*v1alpha1.Stream{
		"OtherNamespace": stream(func(s *v1alpha1.Stream) { s.Namespace = "elsewhere" }),
		"NoSuchCluster":  ref("ClusterProviderConfig", "other"),
		"NoSuchKind":     ref("Secret", "default"),
	} {
		if _, err := connections.Acquire(t.Context(), mg); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

// TestLeaving: an object that does not use a configuration yet does not begin to use one that is being
// deleted, although every object has an external name; an object that uses it goes on.
func TestLeaving(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.Authorization = "right" })
	pc := providerConfig(s.ClientURL())
	pc.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	d := newDesk(t, pc, secret("right"))
	connections := controller.NewConnections(d, d)
	t.Cleanup(connections.Close)

	if _, err := connections.Acquire(t.Context(), stream()); !providerconfig.IsLeaving(err) {
		t.Errorf("a new object: %v", err)
	}

	link, err := connections.Acquire(t.Context(),
		stream(func(s *v1alpha1.Stream) { s.Finalizers = []string{managed.FinalizerName} }))
	must(t, err)
	link.Release()
}

// TestJustCreated: a configuration that the cache does not have yet is read from the API server, and one
// that is not protected yet is waited for, but not for long: it wakes the object when it is.
func TestJustCreated(t *testing.T) {
	unknown := func(*v1alpha1.ProviderConfig) error { return errUnknown() }

	cases := map[string]struct {
		reason   string
		early    looks
		notReady bool
		unseen   int // of the early reads
	}{
		"Unknown":     {"the API server knows more than the cache", looks{unknown, nil}, false, 0},
		"Unprotected": {"its finalizer is about to be added", slices.Repeat(looks{unprotected}, 3), false, 0},
		"Both": {
			"it was created this moment",
			append(looks{unknown}, slices.Repeat(looks{unprotected}, 3)...), false, 0,
		},
		"Forgotten": {"a worker is not held up for long", slices.Repeat(looks{unprotected}, 20), true, 13},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := natstest.Start(t, func(o *server.Options) { o.Authorization = "right" })
			d := newDesk(t, providerConfig(s.ClientURL()), secret("right"))
			d.early = tc.early

			connections := controller.NewConnections(d, d)
			t.Cleanup(connections.Close)

			link, err := connections.Acquire(t.Context(), stream())
			if got := providerconfig.IsNotReady(err); got != tc.notReady || len(d.early) != tc.unseen {
				t.Errorf("\n%s\nAcquire(...): not ready: %t, with %d reads left, want %t and %d: %v",
					tc.reason, got, len(d.early), tc.notReady, tc.unseen, err)
			}

			if tc.notReady {
				return
			}

			must(t, err)
			link.Release()
		})
	}
}

func errUnknown() error {
	return apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.Group, Resource: "providerconfigs"}, "default")
}

// TestAcquireErrors: each error says what to do, and none contains a secret.
func TestAcquireErrors(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) { o.Authorization = "right" })

	cases := map[string]struct {
		reason  string
		objects []kube.Object
		want    []string
	}{
		"NoProviderConfig": {
			"it was not created",
			nil,
			[]string{
				`create the configuration, or name another in spec.providerConfigRef: ProviderConfig ns/default does not exist`,
			},
		},
		"NoSecret": {
			"it was not created",
			[]kube.Object{providerConfig(s.ClientURL())},
			[]string{`as ProviderConfig "default" says`, `the Secret "login"`, "does not exist: create it"},
		},
		"WrongToken": {
			"NATS knows better",
			[]kube.Object{providerConfig(s.ClientURL()), secret("wr0ng")},
			[]string{"NATS refuses the credentials it was given: correct spec.credentials"},
		},
		"Unreachable": {
			"no server listens",
			[]kube.Object{providerConfig("nats://127.0.0.1:1"), secret("x")},
			[]string{"cannot reach NATS at nats://127.0.0.1:1: correct spec.servers"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, tc.objects...)
			connections := controller.NewConnections(d, d)
			t.Cleanup(connections.Close)

			_, err := connections.Acquire(t.Context(), stream())

			for _, want := range tc.want {
				if !strings.Contains(text(err), want) {
					t.Errorf("\n%s\nAcquire(...): want an error with %q, got: %v", tc.reason, want, err)
				}
			}

			if strings.Contains(text(err), "wr0ng") {
				t.Errorf("\n%s\nthe error contains a secret: %v", tc.reason, err)
			}
		})
	}
}

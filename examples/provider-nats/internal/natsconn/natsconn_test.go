package natsconn_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/test/port"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// store contains the Secrets of a namespace, by name and key.
type store map[string]map[string][]byte

func (s store) read(_ context.Context, secret types.NamespacedName) (*corev1.Secret, error) {
	data, ok := s[secret.Name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, secret.Name)
	}

	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secret.Name, UID: "uid-of-" + "x", ResourceVersion: "7"}, Data: data,
	}, nil
}

func login(kind string) v1alpha1.Credentials {
	return v1alpha1.Credentials{
		Source: v1alpha1.CredentialsSecret, Type: kind, SecretRef: &v1alpha1.SecretKeyReference{Name: "login"},
	}
}

func userSeed(t *testing.T) (public string, seed []byte) {
	t.Helper()

	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}

	if public, err = pair.PublicKey(); err != nil {
		t.Fatal(err)
	}

	if seed, err = pair.Seed(); err != nil {
		t.Fatal(err)
	}

	return public, seed
}

func TestRevision(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   v1alpha1.ProviderConfigSpec
		want   string
	}{
		"None": {"nothing was read", v1alpha1.ProviderConfigSpec{}, ""},
		"Once": {"one Secret is read once", v1alpha1.ProviderConfigSpec{Credentials: login("UserPassword")}, "uid-of-x@7"},
		"Both": {
			"every Secret counts",
			v1alpha1.ProviderConfigSpec{
				Credentials: login("UserPassword"), TLS: &v1alpha1.TLS{CASecretRef: &v1alpha1.SecretKeyReference{Name: "ca"}},
			},
			"uid-of-x@7,uid-of-x@7",
		},
	}

	secrets := store{
		"login": {"username": []byte("u"), "password": []byte("p")},
		"ca":    {"ca.crt": natstest.NewCA(t).PEM},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := natsconn.Resolve(t.Context(), natsconn.FromProviderConfig(&v1alpha1.ProviderConfig{Spec: tc.spec}),
				secrets.read)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tc.want, got.Revision); diff != "" {
				t.Errorf("\n%s\nResolve(...).Revision: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUnsure: only an error that proves nothing about the Secret keeps a connection in use.
func TestUnsure(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	holding := func(data map[string][]byte) natsconn.SecretReader { return store{"login": data}.read }
	failing := func(err error) natsconn.SecretReader {
		return func(context.Context, types.NamespacedName) (*corev1.Secret, error) { return nil, err }
	}

	cases := map[string]struct {
		reason string
		read   natsconn.SecretReader
		want   bool
	}{
		"NotFound": {"the Secret was deleted", store{}.read, false},
		"Page": {
			"a proxy answers for the API server",
			failing(apierrors.NewGenericServerResponse(404, "get", secrets, "login", "", 0, true)), true,
		},
		"Forbidden":       {"the permission was revoked", failing(apierrors.NewForbidden(secrets, "login", nil)), false},
		"MissingKey":      {"the Secret was read, and lacks it", holding(nil), false},
		"Empty":           {"the Secret was read, and is empty", holding(map[string][]byte{"seed": {}}), false},
		"Malformed":       {"the Secret was read, and is invalid", holding(map[string][]byte{"seed": []byte("x")}), false},
		"TooManyRequests": {"the API server is busy", failing(apierrors.NewTooManyRequests("later", 1)), true},
		"Unavailable":     {"the API server is away", failing(apierrors.NewServiceUnavailable("away")), true},
		"ServerTimeout":   {"the API server is slow", failing(apierrors.NewServerTimeout(secrets, "get", 1)), true},
		"Timeout":         {"the API server does not answer", failing(context.DeadlineExceeded), true},
		"Unknown":         {"an unknown error proves nothing", failing(errors.New("connection refused")), true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pc := &v1alpha1.ProviderConfig{Spec: v1alpha1.ProviderConfigSpec{Credentials: login("NKey")}}
			_, err := natsconn.Resolve(t.Context(), natsconn.FromProviderConfig(pc), tc.read)
			if got := connection.IsUnsure(err); err == nil || got != tc.want {
				t.Errorf("\n%s\nResolve(...): unsure is %t, want %t; error: %v", tc.reason, got, tc.want, err)
			}

			if got := connection.IsMissing(err); got != (name == "NotFound") {
				t.Errorf("\n%s\nResolve(...): missing is %t; error: %v", tc.reason, got, err)
			}
		})
	}
}

// TestUnreachable: no server listens, or it never answers.
func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = silent.Close() })

	ended, cancel := context.WithCancel(t.Context())
	cancel()

	cases := map[string]struct {
		reason string
		over   bool // the context has ended
		server string
	}{
		"Refused": {"no server listens", false, "nats://127.0.0.1:1"},
		"Ended":   {"the pass is over", true, "nats://" + silent.Addr().String()},
		"Silent":  {"five seconds are enough", false, "nats://" + silent.Addr().String()},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx := wait.Context(t)
			if tc.over {
				ctx = ended
			}

			pc := &v1alpha1.ProviderConfig{Spec: v1alpha1.ProviderConfigSpec{Servers: []string{tc.server}}}
			settings, err := natsconn.Resolve(ctx, natsconn.FromProviderConfig(pc), store{}.read)
			if err != nil {
				t.Fatal(err)
			}

			start := time.Now()
			_, err = natsconn.Dial(ctx, settings, nil)

			if want := "cannot reach NATS at " + tc.server + ": correct spec.servers"; err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("\n%s\nDial(...): want an error with %q, got: %v", tc.reason, want, err)
			}

			if got, want := class(err), map[bool]string{false: "unavailable"}[tc.over]; got != want {
				t.Errorf("\n%s\nDial(...): the error is of the class %q, want %q", tc.reason, got, want)
			}

			t.Logf("Dial(...) took %s", time.Since(start))

			if !tc.over && ctx.Err() != nil {
				t.Errorf("\n%s\nDial(...) did not end in time", tc.reason)
			}
		})
	}
}

// TestDisconnected: without a connection requests fail at once, and succeed again when NATS is back.
func TestDisconnected(t *testing.T) {
	port := port.Free(t)
	s := natstest.Start(t, func(o *server.Options) { o.Port = port })

	pc := &v1alpha1.ProviderConfig{Spec: v1alpha1.ProviderConfigSpec{Servers: []string{s.ClientURL()}}}
	settings, err := natsconn.Resolve(t.Context(), natsconn.FromProviderConfig(pc), store{}.read)
	if err != nil {
		t.Fatal(err)
	}

	c, err := natsconn.Dial(t.Context(), settings, nil)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(c.Close)

	s.Shutdown()
	s.WaitForShutdown()

	wait.Until(t, "the connection is lost", func() bool {
		_, err = c.Info(t.Context(), "s")

		return class(err) == "unavailable" &&
			strings.Contains(err.Error(), "the connection is lost, and is retried every second: cannot reach NATS at")
	})

	natstest.Start(t, func(o *server.Options) { o.Port = port })

	wait.Until(t, "the connection is restored", func() bool {
		_, err = c.Info(t.Context(), "s")

		return errors.Is(err, jetstream.ErrStreamNotFound)
	})
}

// TestUnauthorizedLater: when NATS stops accepting the credentials, a callback is called, so that the
// Secret is read again.
func TestUnauthorizedLater(t *testing.T) {
	port := port.Free(t)
	s := natstest.Start(t, func(o *server.Options) { o.Port, o.Authorization = port, "old" })
	pc := &v1alpha1.ProviderConfig{Spec: v1alpha1.ProviderConfigSpec{
		Servers: []string{s.ClientURL()}, Credentials: login("Token"),
	}}

	settings, err := natsconn.Resolve(t.Context(), natsconn.FromProviderConfig(pc),
		store{"login": {"token": []byte("old")}}.read)
	if err != nil {
		t.Fatal(err)
	}

	notified := make(chan struct{}, 100)

	c, err := natsconn.Dial(t.Context(), settings, func() { notified <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(c.Close)

	s.Shutdown()
	s.WaitForShutdown()
	natstest.Start(t, func(o *server.Options) { o.Port, o.Authorization = port, "new" })

	select {
	case <-notified:
	case <-wait.Context(t).Done():
		t.Fatal("the callback was not called")
	}

	wait.Until(t, "the error explains it", func() bool {
		_, err := c.Info(t.Context(), "s")

		return class(err) == "unauthorized" && strings.Contains(err.Error(), "NATS refuses the credentials")
	})
}

// class returns the class of an error about the connection as a whole.
func class(err error) string {
	switch {
	case external.IsUnauthorized(err):
		return "unauthorized"
	case external.IsUnavailable(err):
		return "unavailable"
	default:
		return ""
	}
}

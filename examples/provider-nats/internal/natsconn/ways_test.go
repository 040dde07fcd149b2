package natsconn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	corev1 "k8s.io/api/core/v1"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A way is one combination of the settings of NATS and those of the user.
type way struct {
	reason string

	// options of the server; spec and secrets are the user's for it.
	options func(t *testing.T, o *server.Options, s store)
	spec    v1alpha1.ProviderConfigSpec

	// want is a part of the error; empty means success. class is the class of the error about the connection
	// as a whole.
	want, class string

	// secret must not be in any error.
	secret string
}

func ways() map[string]way {
	const password = "Xyzzy-42"

	exactly := func(user, password string, stored map[string][]byte) func(*testing.T, *server.Options, store) {
		return func(_ *testing.T, o *server.Options, s store) {
			o.Username, o.Password = user, password
			s["login"] = stored
		}
	}

	withPassword := func(stored map[string][]byte) func(*testing.T, *server.Options, store) {
		return exactly("moorage", password, stored)
	}

	withTLS := func(
		mutual bool, fill func(t *testing.T, ca *natstest.CA, s store),
	) func(*testing.T, *server.Options, store) {
		return func(t *testing.T, o *server.Options, s store) {
			t.Helper()

			ca := natstest.NewCA(t)
			o.TLSConfig, o.TLSVerify = ca.Server(t, mutual), mutual
			fill(t, ca, s)
		}
	}

	trust := func(_ *testing.T, ca *natstest.CA, s store) { s["ca"] = map[string][]byte{"ca.crt": ca.PEM} }

	return map[string]way{
		"Open": {reason: "no credentials, no TLS"},
		"UserPassword": {
			reason:  "right password",
			options: withPassword(map[string][]byte{"username": []byte("moorage"), "password": []byte(password)}),
			spec:    v1alpha1.ProviderConfigSpec{Credentials: login("UserPassword")},
		},
		"UserPasswordFromFiles": {
			reason: "a line break at the end of a file is no part of it, all else is",
			options: exactly("moorage", " Xyzzy-42\n", map[string][]byte{
				"username": []byte("moorage\r\n"), "password": []byte(" Xyzzy-42\n\n"),
			}),
			spec: v1alpha1.ProviderConfigSpec{Credentials: login("UserPassword")},
		},
		"EmptyPassword": {
			reason:  "a line break alone is no password",
			options: exactly("moorage", "x", map[string][]byte{"username": []byte("moorage"), "password": []byte("\n")}),
			spec:    v1alpha1.ProviderConfigSpec{Credentials: login("UserPassword")},
			want:    `the Secret "login", which spec.credentials.secretRef names, has no value under the key "password": add it`,
		},
		"WrongPassword": {
			reason: "wrong password", options: withPassword(map[string][]byte{
				"username": []byte("moorage"), "password": []byte("guess-it"),
			}),
			spec: v1alpha1.ProviderConfigSpec{Credentials: login("UserPassword")}, class: "unauthorized",
			want: "NATS refuses the credentials it was given: correct spec.credentials", secret: "guess-it",
		},
		"NoCredentials": {
			reason: "NATS requires credentials, and there are none", options: withPassword(nil), class: "unauthorized",
			want: "NATS refuses the credentials it was given: correct spec.credentials",
		},
		"MissingKey": {
			reason: "a Secret without the password", options: withPassword(map[string][]byte{"username": []byte("moorage")}),
			spec: v1alpha1.ProviderConfigSpec{Credentials: login("UserPassword")},
			want: `the Secret "login", which spec.credentials.secretRef names, has no value under the key "password": add it`,
		},
		"MissingSecret": {
			reason: "no Secret at all", spec: v1alpha1.ProviderConfigSpec{Credentials: login("Token")},
			want: `the Secret "login", which spec.credentials.secretRef names, does not exist: create it`,
		},
		"Token": {
			reason: "right token, with the line break of an editor",
			spec:   v1alpha1.ProviderConfigSpec{Credentials: login("Token")},
			options: func(_ *testing.T, o *server.Options, s store) {
				o.Authorization = "t0ken"
				s["login"] = map[string][]byte{"token": []byte("t0ken\n")}
			},
		},
		"NKey": {
			reason: "right seed", spec: v1alpha1.ProviderConfigSpec{Credentials: login("NKey")},
			options: func(t *testing.T, o *server.Options, s store) {
				t.Helper()

				public, seed := userSeed(t)
				o.Nkeys = []*server.NkeyUser{{Nkey: public}}
				s["login"] = map[string][]byte{"seed": append(seed, '\n')}
			},
		},
		"MalformedSeed": {
			reason: "something else", spec: v1alpha1.ProviderConfigSpec{Credentials: login("NKey")},
			options: func(_ *testing.T, _ *server.Options, s store) {
				s["login"] = map[string][]byte{"seed": []byte("SUNOTASEED")}
			},
			want: `the Secret "login" holds no seed of an nkey`, secret: "SUNOTASEED",
		},
		"Creds": {
			reason: "a credentials file is the default", spec: v1alpha1.ProviderConfigSpec{Credentials: login("")},
			options: func(t *testing.T, o *server.Options, s store) {
				t.Helper()

				s["login"] = map[string][]byte{"user.creds": natstest.Operator(t, o)}
			},
		},
		"ForeignCreds": {
			reason: "a file of another operator", spec: v1alpha1.ProviderConfigSpec{Credentials: login("Creds")},
			options: func(t *testing.T, o *server.Options, s store) {
				t.Helper()

				natstest.Operator(t, o)
				s["login"] = map[string][]byte{"user.creds": natstest.Operator(t, &server.Options{})}
			},
			class: "unauthorized", want: "NATS refuses the credentials it was given: correct spec.credentials",
		},
		"MalformedCreds": {
			reason: "something else", spec: v1alpha1.ProviderConfigSpec{Credentials: login("Creds")},
			options: func(_ *testing.T, _ *server.Options, s store) {
				s["login"] = map[string][]byte{"user.creds": []byte("-----BEGIN SECRET THING-----")}
			},
			want: `the Secret "login" holds no usable credentials file of NATS`, secret: "SECRET THING",
		},
		"TLS": {
			reason: "the authority is trusted", options: withTLS(false, trust),
			spec: v1alpha1.ProviderConfigSpec{TLS: &v1alpha1.TLS{CASecretRef: &v1alpha1.SecretKeyReference{Name: "ca"}}},
		},
		"UnknownAuthority": {
			reason: "its authority is not trusted", options: withTLS(false, trust),
			class: "unavailable", want: "cannot agree with NATS on TLS: correct spec.tls",
		},
		"Insecure": {
			reason: "the certificate is not verified", options: withTLS(false, trust),
			spec: v1alpha1.ProviderConfigSpec{TLS: &v1alpha1.TLS{InsecureSkipVerify: true}},
		},
		"Mutual": {
			reason: "both ends show a certificate",
			options: withTLS(true, func(t *testing.T, ca *natstest.CA, s store) {
				t.Helper()
				trust(t, ca, s)

				cert, key := ca.Issue(t)
				s["own"] = map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key}
			}),
			spec: v1alpha1.ProviderConfigSpec{TLS: &v1alpha1.TLS{
				CASecretRef: &v1alpha1.SecretKeyReference{Name: "ca"}, CertSecretRef: &v1alpha1.SecretReference{Name: "own"},
			}},
		},
		"NoClientCertificate": {
			reason: "one end shows none", options: withTLS(true, trust),
			spec:  v1alpha1.ProviderConfigSpec{TLS: &v1alpha1.TLS{CASecretRef: &v1alpha1.SecretKeyReference{Name: "ca"}}},
			class: "unavailable", want: "cannot agree with NATS on TLS: correct spec.tls",
		},
		"MalformedCA": {
			reason: "no certificate in it", options: func(_ *testing.T, _ *server.Options, s store) {
				s["ca"] = map[string][]byte{"ca.crt": []byte("x")}
			},
			spec: v1alpha1.ProviderConfigSpec{TLS: &v1alpha1.TLS{CASecretRef: &v1alpha1.SecretKeyReference{Name: "ca"}}},
			want: `the Secret "ca", which spec.tls.caSecretRef names, holds no certificate in PEM`,
		},
		"MalformedCertificate": {
			reason: "no key in it",
			options: func(_ *testing.T, _ *server.Options, s store) {
				s["own"] = map[string][]byte{corev1.TLSCertKey: []byte("x"), corev1.TLSPrivateKeyKey: []byte("PRIVATE")}
			},
			spec:   v1alpha1.ProviderConfigSpec{TLS: &v1alpha1.TLS{CertSecretRef: &v1alpha1.SecretReference{Name: "own"}}},
			want:   `the Secret "own", which spec.tls.certSecretRef names, holds no certificate with its key in PEM`,
			secret: "PRIVATE",
		},
		"TLSNotOffered": {
			reason: "the user wants TLS, NATS has none", spec: v1alpha1.ProviderConfigSpec{TLS: &v1alpha1.TLS{}},
			class: "unavailable", want: "NATS offers no TLS: remove spec.tls",
		},
		"JetStreamOff": {
			reason: "a server without JetStream", options: func(_ *testing.T, o *server.Options, _ store) {
				o.JetStream = false
			},
			class: "unavailable", want: "there is no JetStream for the user that the ProviderConfig logs in as",
		},
		"UnknownDomain": {
			reason: "a domain that does not exist", spec: v1alpha1.ProviderConfigSpec{Domain: "moon"},
			class: "unavailable", want: "correct spec.domain and spec.jsPrefix",
		},
		"Domain": {
			reason: "the domain of the server", options: func(_ *testing.T, o *server.Options, _ store) {
				o.JetStreamDomain = "hub"
			},
			spec: v1alpha1.ProviderConfigSpec{Domain: "hub"},
		},
		"Prefix": {
			reason: "the same domain by its prefix", options: func(_ *testing.T, o *server.Options, _ store) {
				o.JetStreamDomain = "hub"
			},
			spec: v1alpha1.ProviderConfigSpec{JSPrefix: "$JS.hub.API"},
		},
		"LeastPermissions": {
			reason: "what the README says is enough", spec: v1alpha1.ProviderConfigSpec{Credentials: login("UserPassword")},
			options: func(_ *testing.T, o *server.Options, s store) {
				o.Users = []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{
					Publish: &server.SubjectPermission{Allow: []string{
						"$JS.API.STREAM.INFO.>", "$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.STREAM.DELETE.>",
						"$JS.API.CONSUMER.INFO.>", "$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.PAUSE.>", "$JS.API.CONSUMER.DELETE.>",
					}},
					Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
				}}}
				s["login"] = map[string][]byte{"username": []byte("u"), "password": []byte("p")}
			},
		},
		"Forbidden": {
			reason: "the user may not do everything", spec: v1alpha1.ProviderConfigSpec{Credentials: login("UserPassword")},
			options: func(_ *testing.T, o *server.Options, s store) {
				o.Users = []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{
					Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.CREATE.>"}},
				}}}
				s["login"] = map[string][]byte{"username": []byte("u"), "password": []byte("p")}
			},
			want: "may not do STREAM.CREATE.s: permit it in NATS",
		},
		"ForbiddenConsumer": {
			reason: "the user may not do everything", spec: v1alpha1.ProviderConfigSpec{Credentials: login("UserPassword")},
			options: func(_ *testing.T, o *server.Options, s store) {
				o.Users = []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{
					Publish: &server.SubjectPermission{Deny: []string{"$JS.API.CONSUMER.CREATE.>"}},
				}}}
				s["login"] = map[string][]byte{"username": []byte("u"), "password": []byte("p")}
			},
			want: "may not do CONSUMER.CREATE.s.c: permit it in NATS",
		},
	}
}

// TestWays dials, and creates, updates and deletes a stream and a consumer.
func TestWays(t *testing.T) {
	for name, w := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			secrets := store{}
			s := natstest.Start(t, func(o *server.Options) {
				if w.options != nil {
					w.options(t, o, secrets)
				}
			})

			w.spec.Servers = []string{s.ClientURL()}
			err := use(t, &v1alpha1.ProviderConfig{Spec: w.spec}, secrets)

			switch {
			case w.want == "" && err != nil:
				t.Errorf("\n%s\nwant no error, got: %v", w.reason, err)
			case w.want != "" && (err == nil || !strings.Contains(err.Error(), w.want)):
				t.Errorf("\n%s\nwant an error with %q, got: %v", w.reason, w.want, err)
			case w.secret != "" && strings.Contains(err.Error(), w.secret):
				t.Errorf("\n%s\nthe error contains a secret: %v", w.reason, err)
			}

			if got := class(err); got != w.class {
				t.Errorf("\n%s\nthe error is of the class %q, want %q: %v", w.reason, got, w.class, err)
			}
		})
	}
}

func use(t *testing.T, pc *v1alpha1.ProviderConfig, secrets store) error {
	t.Helper()

	settings, err := natsconn.Resolve(t.Context(), natsconn.FromProviderConfig(pc), secrets.read)
	if err != nil {
		return err
	}

	c, err := natsconn.Dial(t.Context(), settings, nil)
	if err != nil {
		return err
	}

	t.Cleanup(c.Close)

	if err := c.Create(t.Context(), jetstream.StreamConfig{Name: "s"}); err != nil {
		return err
	}

	if _, err := c.Info(t.Context(), "s"); err != nil {
		return err
	}

	if err := c.Update(t.Context(), jetstream.StreamConfig{Name: "s", MaxMsgs: 1}); err != nil {
		return err
	}

	if err := useConsumer(t, c); err != nil {
		return err
	}

	return c.Delete(t.Context(), "s")
}

func useConsumer(t *testing.T, c *natsconn.Conn) error {
	t.Helper()

	cfg := jetstream.ConsumerConfig{Name: "c", Durable: "c", AckPolicy: jetstream.AckExplicitPolicy}
	if err := c.CreateConsumer(t.Context(), "s", cfg); err != nil {
		return err
	}

	cfg.Description = "changed"
	if err := c.UpdateConsumer(t.Context(), "s", cfg); err != nil {
		return err
	}

	if err := c.PauseConsumer(t.Context(), "s", "c", time.Now().Add(time.Hour)); err != nil {
		return err
	}

	info, err := c.ConsumerInfo(t.Context(), "s", "c")
	if err != nil {
		return err
	}

	if info.Stream != "s" || info.Config.Description != "changed" || !info.Paused {
		t.Errorf("the consumer is %+v", info)
	}

	return c.DeleteConsumer(t.Context(), "s", "c")
}

// TestConsumerErrors: the errors for consumers that do not exist, or exist already, are those of the client
// of NATS.
func TestConsumerErrors(t *testing.T) {
	s := natstest.Start(t)

	pc := &v1alpha1.ProviderConfig{Spec: v1alpha1.ProviderConfigSpec{Servers: []string{s.ClientURL()}}}
	settings, err := natsconn.Resolve(t.Context(), natsconn.FromProviderConfig(pc), nil)
	if err != nil {
		t.Fatal(err)
	}

	c, err := natsconn.Dial(t.Context(), settings, nil)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(c.Close)

	pull := jetstream.ConsumerConfig{Name: "there", Durable: "there"}
	push := jetstream.ConsumerConfig{Name: "push", Durable: "push", DeliverSubject: "inbox"}

	for _, err := range []error{
		c.Create(t.Context(), jetstream.StreamConfig{Name: "s"}),
		c.CreateConsumer(t.Context(), "s", pull),
		c.CreateConsumer(t.Context(), "s", push),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	other := pull
	other.Description = "another"

	info := func(stream, name string) error {
		_, err := c.ConsumerInfo(t.Context(), stream, name)

		return err
	}

	cases := map[string]struct {
		reason    string
		got, want error
	}{
		"Info":         {"it is there", info("s", "there"), nil},
		"InfoPush":     {"whatever kind it is", info("s", "push"), nil},
		"InfoMissing":  {"there is none", info("s", "missing"), jetstream.ErrConsumerNotFound},
		"InfoNoStream": {"not even a stream", info("none", "there"), jetstream.ErrStreamNotFound},
		"CreateAgain":  {"the answer may have been lost", c.CreateConsumer(t.Context(), "s", pull), nil},
		"CreateOther":  {"the name is taken", c.CreateConsumer(t.Context(), "s", other), jetstream.ErrConsumerExists},
		"CreateNoStream": {
			"not even a stream", c.CreateConsumer(t.Context(), "none", pull), jetstream.ErrStreamNotFound,
		},
		"UpdateMissing": {
			"there is none", c.UpdateConsumer(t.Context(), "s", jetstream.ConsumerConfig{Name: "missing", Durable: "missing"}),
			jetstream.ErrConsumerDoesNotExist,
		},
		"PauseMissing": {
			"there is none",
			c.PauseConsumer(t.Context(), "s", "missing", time.Now()), jetstream.ErrConsumerNotFound,
		},
		"DeleteMissing":  {"there is none", c.DeleteConsumer(t.Context(), "s", "missing"), jetstream.ErrConsumerNotFound},
		"DeleteNoStream": {"not even a stream", c.DeleteConsumer(t.Context(), "none", "there"), jetstream.ErrStreamNotFound},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if !errors.Is(tc.got, tc.want) {
				t.Errorf("\n%s\nwant %v, got %v", tc.reason, tc.want, tc.got)
			}
		})
	}
}

package natsconn_test

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

func connected(t *testing.T, s *server.Server, change func(*v1alpha1.ProviderConfigSpec)) *natsconn.Conn {
	t.Helper()

	pc := &v1alpha1.ProviderConfig{Spec: v1alpha1.ProviderConfigSpec{Servers: []string{s.ClientURL()}}}
	if change != nil {
		change(&pc.Spec)
	}

	settings, err := natsconn.Resolve(t.Context(), natsconn.FromProviderConfig(pc), nil)
	if err != nil {
		t.Fatal(err)
	}

	conn, err := natsconn.Dial(t.Context(), settings, nil)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(conn.Close)

	return conn
}

func TestIdentity(t *testing.T) {
	forbidding := func(o *server.Options) {
		account := server.NewAccount("SHY")
		o.Accounts = []*server.Account{account}
		o.Users = []*server.User{{Username: "shy", Password: "x", Account: account, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"$SYS.>"}},
		}}}
		o.NoAuthUser = "shy"
	}

	cases := map[string]struct {
		reason string
		server func(*server.Options)
		change func(*v1alpha1.ProviderConfigSpec)
		want   string
	}{
		"Default": {"a single server has an account, and no cluster", func(*server.Options) {}, nil, "/$G"},
		"Account": {
			"the account is that of the user", func(o *server.Options) {
				account := server.NewAccount("SALES")
				o.Accounts = []*server.Account{account}
				o.Users = []*server.User{{Username: "sales", Password: "x", Account: account}}
				o.NoAuthUser = "sales"
			}, nil, "/SALES",
		},
		"Cluster": {
			"the cluster has its name", func(o *server.Options) {
				// JetStream waits for other servers of a cluster, and is not needed.
				o.JetStream = false
				o.Cluster = server.ClusterOpts{Name: "north", Host: "127.0.0.1", Port: server.RANDOM_PORT}
			},
			nil, "north/$G",
		},
		"Domain": {
			"another domain is another JetStream", func(o *server.Options) { o.JetStreamDomain = "hub" },
			func(s *v1alpha1.ProviderConfigSpec) { s.Domain = "hub" }, "/$G/hub",
		},
		"Forbidden": {"a forbidden request has no answer, and does not wait", forbidding, nil, ""},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := natstest.Start(t, tc.server)

			wait.Until(t, "NATS answers", func() bool {
				conn := connected(t, s, tc.change)

				for range 2 {
					got, err := conn.Identity(t.Context())
					if class(err) == "unavailable" { // on a busy machine five seconds may be too few
						t.Log(err)

						return false
					}

					if err != nil || got != tc.want {
						t.Fatalf("\n%s\nIdentity(...): got %q, %v, want %q", tc.reason, got, err, tc.want)
					}
				}

				return true
			})
		})
	}
}

// TestIdentityUnknown: without a connection the identity is unknown.
func TestIdentityUnknown(t *testing.T) {
	s := natstest.Start(t)
	conn := connected(t, s, nil)

	s.Shutdown()
	s.WaitForShutdown()

	for {
		got, err := conn.Identity(t.Context())
		if err != nil && got == "" && strings.Contains(err.Error(), "which account") {
			return
		}

		if wait.Budget(t) == 0 {
			t.Fatalf("Identity(...): %q, %v, want an error", got, err)
		}
	}
}

// TestIdentityIsAskedOnce: callers share one request to a server that does not answer, at once and a moment
// later.
func TestIdentityIsAskedOnce(t *testing.T) {
	mute, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = mute.Close() })

	var asked atomic.Int64

	go func() {
		for {
			conn, err := mute.Accept()
			if err != nil {
				return
			}

			go answerPings(conn, &asked)
		}
	}()

	pc := &v1alpha1.ProviderConfig{Spec: v1alpha1.ProviderConfigSpec{Servers: []string{"nats://" + mute.Addr().String()}}}

	settings, err := natsconn.Resolve(t.Context(), natsconn.FromProviderConfig(pc), nil)
	if err != nil {
		t.Fatal(err)
	}

	conn, err := natsconn.Dial(t.Context(), settings, nil)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(conn.Close)

	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if got, err := conn.Identity(t.Context()); got != "" || class(err) != "unavailable" {
				t.Errorf("Identity(...): %q, %v, want that NATS does not answer", got, err)
			}
		})
	}

	all.Wait()

	if n := asked.Load(); n != 1 {
		t.Errorf("NATS was asked %d times, want once", n)
	}
}

// answerPings is a minimal server of NATS that counts the requests for the account.
func answerPings(conn net.Conn, asked *atomic.Int64) {
	defer conn.Close()

	say := func(line string) { _, _ = conn.Write([]byte(line + "\r\n")) } // the other end may be gone
	say(`INFO {"server_id":"MUTE","version":"2.15.2","max_payload":1048576,"headers":true}`)

	for lines := bufio.NewScanner(conn); lines.Scan(); {
		switch line := lines.Text(); {
		case line == "PING":
			say("PONG")
		case strings.Contains(line, "PUB $SYS.REQ.USER.INFO"):
			asked.Add(1)
		}
	}
}

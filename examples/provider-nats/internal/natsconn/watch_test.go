package natsconn_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
)

// A journal records the notifications of a Watcher.
type journal chan string

func (j journal) Changed(stream string) { j <- "changed " + stream }
func (j journal) Interrupted()          { j <- "interrupted" }
func (j journal) Resumed()              { j <- "resumed" }

func dialPlain(t *testing.T, s *server.Server) *natsconn.Conn {
	t.Helper()

	pc := &v1alpha1.ProviderConfig{Spec: v1alpha1.ProviderConfigSpec{Servers: []string{s.ClientURL()}}}

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

// TestWatch: changes by other clients are notified, those by the connection itself are not, and the loss of
// the connection is.
func TestWatch(t *testing.T) {
	s := natstest.Start(t)
	conn, js := dialPlain(t, s), natstest.JetStream(t, s)
	notified := make(journal, 100)

	stop, err := conn.Watch(t.Context(), notified)
	if err != nil {
		t.Fatal(err)
	}

	expect := func(want ...string) {
		t.Helper()

		var got []string
		for range want {
			got = append(got, <-notified)
		}

		if len(want) > 2 { // the advisories of several streams have no order
			slices.Sort(got)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("notifications: -want, +got:\n%s", diff)
		}
	}

	cfg := jetstream.StreamConfig{
		Name: "mine", Subjects: []string{"mine"}, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxMsgsPerSubject: -1,
		MaxConsumers: -1, Replicas: 1,
	}
	if err := conn.Create(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}

	if err := conn.Create(t.Context(), jetstream.StreamConfig{Name: "overlaps", Subjects: []string{"mine"}}); err == nil {
		t.Fatal("two streams store the same subject")
	}

	for _, name := range []string{"theirs", "overlaps"} {
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name}}); err != nil {
			t.Fatal(err)
		}
	}

	cfg.Description = "corrected"
	if err := conn.Update(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}

	cfg.Description = "changed"
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}

	if err := conn.Delete(t.Context(), "mine"); err != nil {
		t.Fatal(err)
	}

	if err := js.DeleteStream(t.Context(), "theirs"); err != nil {
		t.Fatal(err)
	}

	expect("changed mine", "changed overlaps", "changed theirs", "changed theirs")

	for _, c := range clients(t, s, "provider-nats") {
		if err := s.DisconnectClientByID(c); err != nil {
			t.Fatal(err)
		}
	}

	expect("interrupted", "resumed")
	stop()

	if err := js.DeleteStream(t.Context(), "overlaps"); err != nil {
		t.Fatal(err)
	}

	if _, _, err := conn.List(t.Context(), "", 0); err != nil { // earlier notifications have arrived
		t.Fatal(err)
	}

	if len(notified) > 0 {
		t.Errorf("notification after the end: %s", <-notified)
	}
}

// clients returns the connections of a name.
func clients(t *testing.T, s *server.Server, name string) (ids []uint64) {
	t.Helper()

	state, err := s.Connz(&server.ConnzOptions{})
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range state.Conns {
		if c.Name == name {
			ids = append(ids, c.Cid)
		}
	}

	return ids
}

// TestWatchThatIsForbidden: a watch without the permission is interrupted from the beginning, and behind a
// domain there is none.
func TestWatchThatIsForbidden(t *testing.T) {
	s := natstest.Start(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "provider", Password: "p", Permissions: &server.Permissions{
			Subscribe: &server.SubjectPermission{Deny: []string{"$JS.EVENT.>"}},
		}}}
		o.NoAuthUser = "provider"
	})
	notified := make(journal, 100)

	stop, err := dialPlain(t, s).Watch(t.Context(), notified)
	if err != nil {
		t.Fatal(err)
	}

	defer stop()

	if got := <-notified; got != "interrupted" {
		t.Errorf("notified of %q, want an interruption", got)
	}
}

// TestList: a list has pages, and those of buckets only on request.
func TestList(t *testing.T) {
	s := natstest.Start(t)
	conn, js := dialPlain(t, s), natstest.JetStream(t, s)

	for _, bucket := range []string{"a", "b"} {
		if _, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: bucket}); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "orders", Subjects: []string{"orders"},
	}); err != nil {
		t.Fatal(err)
	}

	for subject, want := range map[string][]string{"": {"KV_b", "orders"}, "$KV.>": {"KV_b"}, "$O.>": nil} {
		page, total, err := conn.List(t.Context(), subject, 1)
		if err != nil {
			t.Fatal(err)
		}

		var got []string
		for _, info := range page {
			got = append(got, info.Config.Name)
		}

		if diff := cmp.Diff(want, got); diff != "" || subject == "" && total != 3 {
			t.Errorf("List(%q) of %d: -want, +got:\n%s", subject, total, diff)
		}
	}
}

package natsproc

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

func TestMain(m *testing.M) {
	Main()
	m.Run()
}

// TestPortIsTaken: a node does not start while another process listens at its port, although that responds. It starts
// when the port is free again, and once more after it was killed.
func TestPortIsTaken(t *testing.T) {
	nodes, err := Cluster(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	n := nodes[0]
	other, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(n.Port))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err == nil || !strings.Contains(err.Error(), "ended before it listened") {
		t.Errorf("a node started on the port of another: %v", err)
	}
	if err := n.Kill(); err != nil {
		t.Errorf("killing what did not start: %v", err)
	}
	t.Cleanup(func() { _ = n.Kill() })
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
		nc, err := nats.Connect(n.URL(), nats.Timeout(wait.Patience()))
		if err != nil {
			t.Fatal(err)
		}
		if name := nc.ConnectedServerName(); name != n.Name {
			t.Errorf("connected to %q, want %q", name, n.Name)
		}
		nc.Close()
		if err := n.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}

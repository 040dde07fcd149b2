package devcluster

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLoopbackOnly reads from the kernel what the process listens on: nothing
// but one port on 127.0.0.1, and no abstract unix socket, which has no file
// whose folder would keep other users out.
func TestLoopbackOnly(t *testing.T) {
	built(t)
	c := started(t, Options{Own: true})
	pid := c.server.(*serve).process.cmd.Process.Pid
	port, err := os.ReadFile(filepath.Join(c.Dir, "port"))
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(strings.TrimSpace(string(port)))
	if err != nil {
		t.Fatal(err)
	}
	const listening, loopback = "0A", "0100007F"
	inodes := sockets(t, pid)
	got := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		for _, f := range netTable(t, pid, table) {
			// UDP has no listening state: a bound socket receives.
			if inodes[f[9]] && (f[3] == listening || strings.HasPrefix(table, "udp")) {
				got[table+" "+f[1]] = true
			}
		}
	}
	if diff := cmp.Diff(map[string]bool{fmt.Sprintf("tcp %s:%04X", loopback, number): true}, got); diff != "" {
		t.Errorf("network sockets: -want, +got:\n%s", diff)
	}
	gotUnix := map[string]bool{}
	for _, f := range netTable(t, pid, "unix") {
		const accepting = "00010000"
		if inodes[f[6]] && f[3] == accepting {
			gotUnix[strings.Join(f[7:], " ")] = true
		}
	}
	wantUnix := map[string]bool{filepath.Join(c.Dir, "client.sock"): true, filepath.Join(c.Dir, "peer.sock"): true}
	if diff := cmp.Diff(wantUnix, gotUnix); diff != "" {
		t.Errorf("unix sockets: -want, +got:\n%s", diff)
	}
}

// sockets returns the inodes of the sockets that a process has open.
func sockets(t *testing.T, pid int) map[string]bool {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	out := map[string]bool{}
	for _, fd := range names(t, dir) {
		target, err := os.Readlink(filepath.Join(dir, fd))
		if err != nil {
			continue // closed meanwhile
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			out[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return out
}

func netTable(t *testing.T, pid int, name string) [][]string {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, name))
	if os.IsNotExist(err) {
		return nil // a kernel without IPv6
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows [][]string
	s := bufio.NewScanner(f)
	for s.Scan(); s.Scan(); { // the first line is a heading
		rows = append(rows, strings.Fields(s.Text()))
	}
	return rows
}

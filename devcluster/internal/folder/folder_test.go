package folder

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moorage-dev/moorage/devcluster/internal/pki"
)

func opened(t *testing.T, dir string) Folder {
	t.Helper()
	f, lock, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	return f
}

func TestOpenRefusesLiveFolder(t *testing.T) {
	dir := t.TempDir()
	f, lock, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = Open(dir)
	for _, want := range []string{"in use", "process " + strconv.Itoa(os.Getpid()), f.Kubeconfig()} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	opened(t, dir)
}

func TestOpenRefuses(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "mine.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		dir    string
		want   string
	}{
		"NotEmpty":   {"somebody's folder would be mixed up with the data", root, "was not made by devcluster"},
		"File":       {"a file is in its place", filepath.Join(root, "mine.txt"), "cannot write to folder"},
		"Unwritable": {"the kernel's folders take no others", "/proc/devcluster", "cannot write to folder"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := Open(c.dir)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--dir") {
				t.Errorf("%s: error %v, want %q and what to do", c.reason, err, c.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(root, "lock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused folder was written to: %v", err)
	}
}

func TestOpenClosesFolderToOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	f := opened(t, dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.check(); err != nil {
		t.Fatal(err)
	}
	existing := t.TempDir()
	if err := os.Chmod(existing, 0o755); err != nil {
		t.Fatal(err)
	}
	g := opened(t, existing)
	for _, path := range []string{string(g), g.PKI(), g.Etcd()} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("mode of %s is %o, want 700", path, got)
		}
	}
}

func TestListenRemembersPort(t *testing.T) {
	f := opened(t, t.TempDir())
	first, err := f.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	port := first.Addr().(*net.TCPAddr).Port
	if !first.Addr().(*net.TCPAddr).IP.Equal(net.IPv4(127, 0, 0, 1)) {
		t.Errorf("listens on %s, want loopback only", first.Addr())
	}
	if port < firstPort || port >= lastPort {
		t.Errorf("listens on port %d, which the system may give to somebody else while it is down", port)
	}

	_, err = f.Listen(0)
	for _, want := range []string{"port " + strconv.Itoa(port), "taken", "--port"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("remembered port is taken: error %v, want %q in it", err, want)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := f.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got := second.Addr().(*net.TCPAddr).Port; got != port {
		t.Errorf("port %d the second time, want %d", got, port)
	}
	if got, err := f.Port(); err != nil || got != port {
		t.Errorf("remembered port is %d, %v, want %d", got, err, port)
	}
}

func TestPortFile(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		content string
	}{
		"Text":     {"it was edited", "eighty"},
		"TooLarge": {"no such port exists", "65536"},
		"Empty":    {"a disk was full", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := opened(t, t.TempDir())
			if err := os.WriteFile(f.path("port"), []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Listen(0); err == nil || !strings.Contains(err.Error(), "remove it") {
				t.Errorf("%s: error %v, want what to do", c.reason, err)
			}
		})
	}
}

func TestSockets(t *testing.T) {
	root, err := os.MkdirTemp("/tmp", "f-") // t.TempDir is too long for the short case
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	cases := map[string]struct {
		reason string
		sub    string
		own    bool
	}{
		"Short": {"sockets lie beside the data", "short", true},
		"Long":  {"a path may be longer than a socket's", strings.Repeat("x", 120), false},
		"Space": {"a space does not survive in a URL", "my data", false},
		"Comma": {"etcd splits lists at commas", "a,b", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := opened(t, filepath.Join(root, c.sub))
			dir, remove, err := f.Sockets()
			if err != nil {
				t.Fatal(err)
			}
			if (dir == string(f)) != c.own {
				t.Errorf("%s: sockets in %s, want the folder itself: %t", c.reason, dir, c.own)
			}
			l, err := net.Listen("unix", filepath.Join(dir, longestSocketName))
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			_ = l.Close()
			if c.own {
				return
			}
			// A process that was killed did not remove it: the next one does.
			next, removeNext, err := f.Sockets()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: the folder of a killed process: %v, want none", c.reason, err)
			}
			if err := removeNext(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(next); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: after a clean end: %v, want none", c.reason, err)
			}
			_ = remove
		})
	}
}

func TestAwaitIdle(t *testing.T) {
	f := opened(t, t.TempDir())
	if err := f.MakeHeartbeat(); err != nil {
		t.Fatal(err)
	}
	const ttl = 5 * time.Second // a busy machine must not pass for an idle user
	idle := make(chan error, 1)
	go func() { idle <- f.AwaitIdle(t.Context(), ttl) }()

	tick := time.NewTicker(ttl / 500)
	defer tick.Stop()
	begin := time.Now()
	for beats := 0; time.Since(begin) < ttl+ttl/4; beats++ {
		select {
		case err := <-idle:
			t.Fatalf("idle after %d beats: %v", beats, err)
		case now := <-tick.C:
			if err := os.Chtimes(f.Heartbeat(), now, now); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-idle; err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := os.Chtimes(f.Heartbeat(), now, now); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a beat that comes too late: %v, want fs.ErrNotExist", err)
	}
}

func TestTakeAwayGivesBack(t *testing.T) {
	f := opened(t, t.TempDir())
	if err := f.MakeHeartbeat(); err != nil {
		t.Fatal(err)
	}
	if idle, err := f.claimHeartbeat(time.Now().Add(-time.Minute)); idle || err != nil {
		t.Errorf("idle %t, %v, though a user has beaten meanwhile", idle, err)
	}
	if _, err := os.Stat(f.Heartbeat()); err != nil {
		t.Errorf("the heartbeat was not given back: %v", err)
	}
}

func TestAwaitIdleEnds(t *testing.T) {
	f := opened(t, t.TempDir())
	if err := f.AwaitIdle(t.Context(), time.Hour); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a heartbeat: %v, want fs.ErrNotExist", err)
	}
	if err := f.MakeHeartbeat(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.AwaitIdle(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

func TestKubeconfig(t *testing.T) {
	f := opened(t, t.TempDir())
	authority, err := pki.Open(f.PKI(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Client("jane", nil, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteKubeconfig(Config(6443, authority.Certificate(), "jane", pair)); err != nil {
		t.Fatal(err)
	}
	got, err := clientcmd.BuildConfigFromFlags("", f.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"https://127.0.0.1:6443", string(authority.Certificate()), string(pair.Certificate), string(pair.Key)}
	if diff := cmp.Diff(want,
		[]string{got.Host, string(got.CAData), string(got.CertData), string(got.KeyData)}); diff != "" {
		t.Errorf("server, authority, certificate and key: -want, +got:\n%s", diff)
	}
	info, err := os.Stat(f.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode %o, want 600: it is a secret", mode)
	}
}

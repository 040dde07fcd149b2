package devcluster

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

func TestRunKey(t *testing.T) {
	t.Setenv(EnvRun, "")
	parent := runKey("/bin/a")
	if runKey("/bin/a") != parent {
		t.Error("the key changes within a process")
	}
	if runKey("/bin/b") == parent {
		t.Error("another binary has the same key")
	}
	t.Setenv(EnvRun, "nightly")
	named := runKey("/bin/a")
	if named == parent {
		t.Errorf("%s is ignored", EnvRun)
	}
	t.Setenv(EnvRun, "nightly 2")
	if runKey("/bin/a") == named {
		t.Error("another run has the same key")
	}
}

func TestBeat(t *testing.T) {
	dir := t.TempDir()
	if err := beat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a beat for a control plane that has ended: %v, want fs.ErrNotExist", err)
	}
	write(t, dir, map[string]string{"heartbeat": ""})
	path := filepath.Join(dir, "heartbeat")
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	if err := beat(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !info.ModTime().After(long.Add(time.Minute)) {
		t.Errorf("the beat is not seen: last change %s", info.ModTime())
	}
}

// TestJoinBusy joins a control plane that does not answer at once if it is alive, and replaces it if it is not.
func TestJoinBusy(t *testing.T) {
	for name, lives := range map[string]bool{"Lives": true, "Dead": false} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) < 3 {
					w.WriteHeader(http.StatusInternalServerError)
				}
			}))
			defer server.Close()
			r := run{folder: t.TempDir(), binary: filepath.Join(t.TempDir(), "nothing to start"), ttl: wait.Budget(t),
				timeout: wait.Budget(t)}
			dir := filepath.Join(r.folder, "cluster-1")
			write(t, r.folder, map[string]string{"current": "cluster-1\n", "cluster-1/heartbeat": ""})
			write(t, dir, map[string]string{"kubeconfig": strings.Replace(kubeconfig, "https://cluster.example:6443", server.URL,
				1)})
			if lives {
				lock, err := tryAcquire(filepath.Join(dir, "lock"))
				if err != nil || lock == nil {
					t.Fatal(lock, err)
				}
				defer lock.Close()
			}
			c, err := r.join(t.Context(), Options{})
			if (err == nil) != lives {
				t.Fatalf("joined with error %v after it was asked %d times", err, asked.Load())
			}
			if c == nil {
				return
			}
			if c.Dir != dir {
				t.Errorf("joined %s, want %s", c.Dir, dir)
			}
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSweep(t *testing.T) {
	runs := t.TempDir()
	r := run{folder: filepath.Join(runs, "mine")}
	for _, file := range []string{
		"mine/cluster-dead/lock", "mine/cluster-live/lock",
		"old/cluster-dead/lock", "old-but-live/cluster-live/lock", "old-but-live/cluster-dead/lock",
		"old-but-starting/lock", "recent/cluster-dead/lock",
	} {
		write(t, runs, map[string]string{file: ""})
	}
	for _, held := range []string{"mine/cluster-live/lock", "old-but-live/cluster-live/lock", "old-but-starting/lock"} {
		lock, err := tryAcquire(filepath.Join(runs, held))
		if err != nil || lock == nil {
			t.Fatal(lock, err)
		}
		defer lock.Close()
	}
	hours := time.Now().Add(-2 * time.Hour)
	for _, old := range []string{"old", "old-but-live", "old-but-starting"} {
		if err := os.Chtimes(filepath.Join(runs, old), hours, hours); err != nil {
			t.Fatal(err)
		}
	}
	r.sweep()
	got := map[string][]string{}
	for _, name := range names(t, runs) {
		got[name], _ = filepath.Glob(filepath.Join(runs, name, "cluster-*"))
		for i := range got[name] {
			got[name][i] = filepath.Base(got[name][i])
		}
	}
	want := map[string][]string{
		"mine":             {"cluster-live"},
		"old-but-live":     {"cluster-live"},
		"old-but-starting": nil,
		"recent":           {"cluster-dead"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is left: -want, +got:\n%s", diff)
	}
}

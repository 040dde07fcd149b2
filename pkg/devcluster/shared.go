package devcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// TB is the part of testing.TB that [Shared] needs.
type TB interface {
	Helper()
	Cleanup(func())
	Context() context.Context
	Fatalf(format string, args ...any)
}

// Shared returns the control plane that all packages of a test run share, and calls Cluster.Stop when the test ends. If
// there is no control plane, the test fails. Shared never skips a test. All packages see all objects of the control
// plane, so each package needs its own namespace and API group.
//
// Install objects that a package needs once, such as its CRDs, in TestMain, and call [Join] there. Without Join, the
// control plane may expire between two tests, and the second test gets a new one.
func Shared(t TB) *Cluster {
	t.Helper()
	c, err := Join(t.Context(), Options{Progress: os.Stderr})
	if err != nil {
		t.Fatalf("no control plane to test against: %v", err)
		return nil
	}
	t.Cleanup(func() { _ = c.Stop() })
	return c
}

// Join returns the control plane that the processes of one test run share, and starts it if it does not run yet. See
// EnvRun for what a test run is. Two test runs do not share a control plane. The control plane runs at least until the
// caller calls Stop. It ends one minute after its last user has called Stop or was killed. Its folder is then removed.
//
// If EnvKubeconfig names an existing cluster, Join returns the existing cluster instead. If the folder in EnvAssets
// contains only kube-apiserver and etcd, Join starts a control plane for the caller alone, because these programs
// cannot end by themselves. In this case Stop ends the control plane.
func Join(ctx context.Context, o Options) (*Cluster, error) {
	if c, err := existing(); c != nil || err != nil {
		return c, err
	}
	programs, err := find(ctx, o)
	if err != nil {
		return nil, err
	}
	if programs.devcluster == "" {
		return Start(ctx, Options{Progress: o.Progress, StartTimeout: o.StartTimeout})
	}
	cache, err := cacheFolder()
	if err != nil {
		return nil, err
	}
	r := run{
		folder:  filepath.Join(cache, "runs", runKey(programs.devcluster)),
		binary:  programs.devcluster,
		ttl:     sharedTTL,
		timeout: o.startTimeout(),
	}
	c, err := r.join(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("cannot share a devcluster: %w", err)
	}
	return c, nil
}

// runKey returns the key of a test run. It depends on the binary, so that different versions of the program do not
// share a control plane.
func runKey(binary string) string {
	name := os.Getenv(EnvRun)
	if name == "" {
		name = "parent " + strconv.Itoa(os.Getppid())
	}
	sum := sha256.Sum256([]byte(name + "\x00" + binary))
	return hex.EncodeToString(sum[:8])
}

// run is the folder that the processes of one test run share. It contains a lock, the folders of the control planes of
// the run, and the name of the current control plane.
type run struct {
	folder  string
	binary  string
	ttl     time.Duration
	timeout time.Duration
}

func (r run) join(ctx context.Context, o Options) (*Cluster, error) {
	lock, err := acquire(ctx, filepath.Join(r.folder, "lock"), func(elapsed time.Duration) {
		if elapsed > time.Second {
			fmt.Fprintf(o.progress(), "devcluster: waiting for another process to start it (%.0f s)\n", elapsed.Seconds())
		}
	})
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	dir := r.current()
	if dir == "" || r.reach(ctx, dir) != nil {
		r.sweep()
		if dir, err = r.startDetached(ctx); err != nil {
			return nil, err
		}
	}
	return &Cluster{
		Dir:        dir,
		Kubeconfig: filepath.Join(dir, "kubeconfig"),
		mint:       mintWith(r.binary, dir),
		release:    keepBeating(dir, r.ttl/beats),
	}, nil
}

// current returns the folder of the last started control plane, or "" if there is none.
func (r run) current() string {
	name, err := os.ReadFile(filepath.Join(r.folder, "current"))
	if err != nil {
		return ""
	}
	return filepath.Join(r.folder, strings.TrimSpace(string(name)))
}

// reach waits until the API server in dir responds, for at most the start timeout, because a busy machine may delay the
// response. It returns an error at once if the control plane has ended or is about to end.
func (r run) reach(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		if err := beat(dir); err != nil {
			return err
		}
		err := healthy(ctx, dir)
		if err == nil || !running(dir) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// running reports whether the control plane in dir is running. A running control plane holds the lock of its folder.
func running(dir string) bool {
	lock, err := tryAcquire(filepath.Join(dir, "lock"))
	if lock != nil {
		_ = lock.Close()
	}
	return lock == nil && err == nil
}

// startDetached starts a control plane that continues after this process has ended.
func (r run) startDetached(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp(r.folder, "cluster-")
	if err != nil {
		return "", fmt.Errorf("cannot make a folder: %w", err)
	}
	err = runDetached(ctx, r.timeout, r.binary, "serve", "--dir", dir, "--idle-exit", r.ttl.String(),
		"--discard-abandoned")
	if err == nil {
		err = os.WriteFile(filepath.Join(r.folder, "current"), []byte(filepath.Base(dir)), 0o600)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// sweep removes the folders of killed control planes of this run, and the folders of runs that were not used for an
// hour. If it cannot remove a folder, the next process tries again.
func (r run) sweep() {
	removeDead(r.folder)
	runs, _ := os.ReadDir(filepath.Dir(r.folder))
	for _, entry := range runs {
		folder := filepath.Join(filepath.Dir(r.folder), entry.Name())
		info, err := entry.Info()
		if err != nil || folder == r.folder || time.Since(info.ModTime()) < time.Hour {
			continue
		}
		lock, err := tryAcquire(filepath.Join(folder, "lock"))
		if err != nil || lock == nil {
			continue
		}
		if removeDead(folder) {
			_ = os.RemoveAll(folder)
		}
		_ = lock.Close()
	}
}

// removeDead removes the folders of control planes that do not run, and reports whether none is left. A running control
// plane holds the lock of its folder.
func removeDead(folder string) bool {
	clusters, _ := filepath.Glob(filepath.Join(folder, "cluster-*"))
	dead := 0
	for _, dir := range clusters {
		lock, err := tryAcquire(filepath.Join(dir, "lock"))
		if err != nil || lock == nil {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Close()
		dead++
	}
	return dead == len(clusters)
}

// beat updates the heartbeat file of the control plane in dir. It returns an error if the control plane has ended or is
// about to end, because the control plane then has removed the file.
func beat(dir string) error {
	now := time.Now()
	return os.Chtimes(filepath.Join(dir, "heartbeat"), now, now)
}

// keepBeating calls beat at each interval until the returned function is called.
func keepBeating(dir string, interval time.Duration) (stop func() error) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				if err := beat(dir); errors.Is(err, fs.ErrNotExist) {
					return // it is gone, and will not come back
				}
			}
		}
	}()
	return sync.OnceValue(func() error {
		close(quit)
		<-ended
		return nil
	})
}

// healthy returns nil if the API server in dir is ready.
func healthy(ctx context.Context, dir string) error {
	config, err := (&Cluster{Kubeconfig: filepath.Join(dir, "kubeconfig")}).RESTConfig()
	if err != nil {
		return err
	}
	return ready(ctx, config)
}

func ready(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("API server is not ready: %s", response.Status)
	}
	return nil
}

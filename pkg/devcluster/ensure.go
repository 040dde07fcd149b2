package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	binaryName = "devcluster"

	// kubernetesMajor, kubernetesMinor and kubernetesPatch are linked into the binary. A build from modules does not
	// contain the version of Kubernetes, and kubectl refuses a server without a version.
	kubernetesMajor, kubernetesMinor, kubernetesPatch = "1", "36", "4"

	// unusedFor is the time after which an unused binary of other sources is removed.
	unusedFor = 30 * 24 * time.Hour
)

// buildFlags returns the flags with which devcluster is always compiled. With different flags, the Go build cache would
// contain all of Kubernetes twice.
func buildFlags() []string {
	stamp := "k8s.io/component-base/version"
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", strings.Join([]string{
		"-s -w",
		"-X " + stamp + ".gitVersion=v" + kubernetesMajor + "." + kubernetesMinor + "." + kubernetesPatch,
		"-X " + stamp + ".gitMajor=" + kubernetesMajor,
		"-X " + stamp + ".gitMinor=" + kubernetesMinor,
		"-X " + stamp + ".gitTreeState=clean",
	}, " ")}
}

// goEnv returns the environment of all go commands in this package. It excludes settings of the caller's build, which
// must not change how devcluster is built.
func goEnv() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS=", "GOARCH=", "GO111MODULE=on")
}

// Ensure returns the path of the devcluster binary, and builds the binary if it does not exist yet. During the build,
// Ensure writes a line to the field Progress of the argument o every few seconds. Ensure ignores the other fields of o.
// Go must be installed. Concurrent calls in several processes build the binary only once.
//
// In a checkout of this repository, Ensure builds the sources of the checkout. Elsewhere Ensure builds the module
// devcluster at the version of this library. Ensure stores the binary in moorage/devcluster/HASH in the user's cache
// folder. HASH is computed from the sources, the Go version and the build flags. Binaries that were not used for 30
// days are removed.
//
// The folder of the binary also contains links named etcd and kube-apiserver. It can therefore be the value of
// KUBEBUILDER_ASSETS for controller-runtime's envtest.
func Ensure(ctx context.Context, o Options) (binary string, err error) {
	source, err := sources(ctx)
	if err != nil {
		return "", fmt.Errorf("cannot find devcluster: %w", err)
	}
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	b := builder{source: source, cache: cache, progress: o.progress(), compile: compile}
	binary, err = b.ensure(ctx)
	if err != nil {
		return "", fmt.Errorf("cannot build devcluster: %w", err)
	}
	return binary, nil
}

func cacheFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cannot find a cache folder (set HOME or XDG_CACHE_HOME): %w", err)
	}
	return filepath.Join(cache, "moorage", "devcluster"), nil
}

// builder manages the binaries in one cache folder.
type builder struct {
	source   string
	cache    string
	progress io.Writer
	compile  func(ctx context.Context, source, output string, progress io.Writer) error
}

func (b builder) ensure(ctx context.Context) (string, error) {
	hash, err := b.hash(ctx)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.cache, hash)
	if binary, ok := inUse(dir); ok {
		return binary, nil
	}
	lock, err := acquire(ctx, filepath.Join(b.cache, "lock"), func(elapsed time.Duration) {
		if elapsed > time.Second {
			fmt.Fprintf(b.progress, "devcluster: waiting for another process to build it (%.0f s)\n", elapsed.Seconds())
		}
	})
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if binary, ok := inUse(dir); ok {
		return binary, nil
	}
	if err := b.tidy(hash); err != nil {
		return "", err
	}
	return b.build(ctx, hash)
}

// hash returns the fingerprint of the sources, the build flags and the Go version. It determines the Go version in the
// source folder, because a toolchain line in go.mod may select another version than the caller's.
func (b builder) hash(ctx context.Context) (string, error) {
	version, err := goOutput(ctx, b.source, "env", "GOVERSION", "GOHOSTOS", "GOHOSTARCH")
	if errors.Is(err, exec.ErrNotFound) {
		return "", errors.New("the go command is not in PATH: install Go, set " + EnvKubeconfig +
			" to use a cluster, or set " + EnvAssets + " to a folder that holds devcluster")
	}
	switch {
	case ctx.Err() != nil: // that it was killed for this says less
		return "", fmt.Errorf("go env: %w", ctx.Err())
	case err != nil:
		return "", commandError("go env", err)
	}
	return fingerprint(b.source, append(buildFlags(), string(version))...)
}

// inUse returns the binary in dir. It updates the time of dir, so that tidy does not remove the binary.
func inUse(dir string) (string, bool) {
	now := time.Now()
	if os.Chtimes(dir, now, now) != nil {
		return "", false
	}
	binary := filepath.Join(dir, binaryName)
	return binary, executable(binary)
}

// build compiles into a temporary folder and renames the folder at the end. An interrupted build is therefore never
// used as a binary.
func (b builder) build(ctx context.Context, hash string) (string, error) {
	work, err := os.MkdirTemp(b.cache, "building-")
	if err != nil {
		return "", fmt.Errorf("cannot make a folder: %w", err)
	}
	defer os.RemoveAll(work)
	if err := b.compile(ctx, b.source, filepath.Join(work, binaryName), b.progress); err != nil {
		return "", err
	}
	switch after, err := b.hash(ctx); {
	case err != nil:
		return "", err
	case after != hash:
		return "", errors.New("its sources changed while it was compiled; try again")
	}
	for _, link := range []string{"etcd", "kube-apiserver"} {
		if err := os.Symlink(binaryName, filepath.Join(work, link)); err != nil {
			return "", fmt.Errorf("cannot link: %w", err)
		}
	}
	dir := filepath.Join(b.cache, hash)
	if err := os.Rename(work, dir); err != nil {
		return "", fmt.Errorf("cannot move it into place: %w", err)
	}
	return filepath.Join(dir, binaryName), nil
}

// tidy removes interrupted builds, binaries that were not used for a long time, and a folder with the name of the new
// binary that contains no binary. The caller holds the lock.
func (b builder) tidy(hash string) error {
	entries, err := os.ReadDir(b.cache)
	if err != nil {
		return fmt.Errorf("cannot read cache folder: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || entry.Name() == "runs" {
			continue
		}
		interrupted := strings.HasPrefix(entry.Name(), "building-")
		if interrupted || entry.Name() == hash || time.Since(info.ModTime()) > unusedFor {
			if err := os.RemoveAll(filepath.Join(b.cache, entry.Name())); err != nil {
				return fmt.Errorf("cannot clean cache folder: %w", err)
			}
		}
	}
	return nil
}

// commandError adds the standard error of a command to its error, if it was recorded.
func commandError(what string, err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%s: %s", what, strings.TrimSpace(string(exit.Stderr)))
	}
	return fmt.Errorf("%s: %w", what, err)
}

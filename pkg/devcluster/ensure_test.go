package devcluster

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeBuilder writes a program instead of compiling one.
func fakeBuilder(t *testing.T) (builder, *atomic.Int32) {
	t.Helper()
	b := builder{source: t.TempDir(), cache: filepath.Join(t.TempDir(), "cache"), progress: io.Discard}
	write(t, b.source, map[string]string{"go.mod": "module x\n\ngo 1.26\n", "main.go": "package main\n"})
	compiled := new(atomic.Int32)
	b.compile = func(_ context.Context, _, output string, _ io.Writer) error {
		compiled.Add(1)
		program(t, output)
		return nil
	}
	return b, compiled
}

func TestEnsureBuildsOnce(t *testing.T) {
	b, compiled := fakeBuilder(t)
	var all sync.WaitGroup
	binaries := make([]string, 8)
	for i := range binaries {
		all.Go(func() {
			binary, err := b.ensure(t.Context())
			if err != nil {
				t.Error(err)
			}
			binaries[i] = binary
		})
	}
	all.Wait()
	if n := compiled.Load(); n != 1 {
		t.Errorf("compiled %d times for 8 callers, want once", n)
	}
	if slices.Sort(binaries); binaries[0] != binaries[7] {
		t.Errorf("callers got different binaries: %q", binaries)
	}
	if diff := cmp.Diff([]string{"devcluster", "etcd", "kube-apiserver"},
		names(t, filepath.Dir(binaries[0]))); diff != "" {
		t.Errorf("folder of the binary: -want, +got:\n%s", diff)
	}
	for _, link := range []string{"etcd", "kube-apiserver"} {
		if !executable(filepath.Join(filepath.Dir(binaries[0]), link)) {
			t.Errorf("%s cannot be run", link)
		}
	}
}

func TestEnsureBuildsChangedSources(t *testing.T) {
	b, compiled := fakeBuilder(t)
	before, err := b.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write(t, b.source, map[string]string{"main.go": "package main // changed\n"})
	after, err := b.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if before == after || compiled.Load() != 2 {
		t.Errorf("compiled %d times, binaries %s and %s; want two", compiled.Load(), before, after)
	}
	if !executable(before) {
		t.Error("the older binary is gone, though another checkout may use it")
	}
}

func TestEnsureLeavesNothingBroken(t *testing.T) {
	cases := map[string]struct {
		reason  string
		compile func(t *testing.T, b *builder, output string) error
		problem string
	}{
		"Failed": {
			reason: "a compiler that fails half way leaves half a binary",
			compile: func(t *testing.T, _ *builder, output string) error {
				program(t, output)
				return errors.New("out of memory")
			},
			problem: "out of memory",
		},
		"Edited": {
			reason: "sources that change meanwhile do not match their fingerprint",
			compile: func(t *testing.T, b *builder, output string) error {
				program(t, output)
				write(t, b.source, map[string]string{"main.go": "package main // edited\n"})
				return nil
			},
			problem: "sources changed",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b, _ := fakeBuilder(t)
			b.compile = func(_ context.Context, _, output string, _ io.Writer) error { return c.compile(t, &b, output) }
			if _, err := b.ensure(t.Context()); err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: error %v, want %q", c.reason, err, c.problem)
			}
			if diff := cmp.Diff([]string{"lock"}, names(t, b.cache)); diff != "" {
				t.Errorf("%s: cache folder: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestEnsureTidies(t *testing.T) {
	b, _ := fakeBuilder(t)
	hash, err := b.hash(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write(t, b.cache, map[string]string{
		"building-123/devcluster":      "killed while it was compiled",
		hash + "/etcd":                 "a folder without a binary",
		"unused/devcluster":            "nobody used it for long",
		"used/devcluster":              "another checkout's",
		"runs/abc/cluster-1/etcd/data": "no binary at all",
	})
	long := time.Now().Add(-31 * 24 * time.Hour)
	for _, name := range []string{"unused", "runs"} {
		if err := os.Chtimes(filepath.Join(b.cache, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{hash, "lock", "runs", "used"}
	slices.Sort(want)
	if diff := cmp.Diff(want, names(t, b.cache)); diff != "" {
		t.Errorf("cache folder: -want, +got:\n%s", diff)
	}
}

func TestEnsureKeepsWhatIsUsed(t *testing.T) {
	b, _ := fakeBuilder(t)
	binary, err := b.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-31 * 24 * time.Hour)
	if err := os.Chtimes(filepath.Dir(binary), long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, b.source, map[string]string{"main.go": "package main // changed\n"})
	if _, err := b.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !executable(binary) {
		t.Error("a binary was removed that had just been asked for")
	}
}

func TestEnsureGivesUpWaiting(t *testing.T) {
	b, compiled := fakeBuilder(t)
	lock, err := tryAcquire(filepath.Join(b.cache, "lock"))
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	defer lock.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := b.ensure(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that of the context", err)
	}
	if compiled.Load() != 0 {
		t.Error("compiled while somebody else held the lock")
	}
}

// TestEnsureTimeout checks that the error of a timeout says so, instead of how the go command ended.
func TestEnsureTimeout(t *testing.T) {
	b, _ := fakeBuilder(t)
	path := t.TempDir()
	write(t, path, map[string]string{"go": "#!/bin/sh\nexec tail -f /dev/null\n"})
	if err := os.Chmod(filepath.Join(path, "go"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := b.ensure(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestEnsureWithoutGo(t *testing.T) {
	b, _ := fakeBuilder(t)
	t.Setenv("PATH", t.TempDir())
	if _, err := b.ensure(t.Context()); err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("error %v, want one that says what to do", err)
	}
}

func TestCompile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"go.mod": "module example.com/x\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() {}\n"})
	var progress strings.Builder
	output := filepath.Join(t.TempDir(), "x")
	if err := compile(t.Context(), dir, output, &progress); err != nil {
		t.Fatal(err)
	}
	if !executable(output) {
		t.Error("nothing was built")
	}
	if !strings.Contains(progress.String(), "make devcluster") {
		t.Errorf("progress does not say how to build ahead: %s", progress.String())
	}
	write(t, dir, map[string]string{"main.go": "package main\n\nfunc main() { undefined() }\n"})
	if err := compile(t.Context(), dir, output, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "undefined: undefined") {
		t.Errorf("error %v, want the compiler's words", err)
	}
}

func TestCompileLog(t *testing.T) {
	var log compileLog
	for _, chunk := range []string{"go: downloading k8s.io/api v0.36.4\nk8s.io/a",
		"pi/core/v1\nnet/http\n# k8s.io/api\nmain.go:1: wrong thing\n"} {
		if _, err := log.Write([]byte(chunk)); err != nil {
			t.Fatal(err)
		}
	}
	if got := log.packages(); got != 2 {
		t.Errorf("counted %d packages, want 2", got)
	}
	if diff := cmp.Diff("# k8s.io/api\nmain.go:1: wrong thing", log.complaint()); diff != "" {
		t.Errorf("complaint: -want, +got:\n%s", diff)
	}
}

package cli_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/cli"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/port"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

// A transcript is the output of a program so far.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the transcript.
func (w *transcript) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.text.Write(b)
}

// String returns the whole transcript.
func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.text.String()
}

// until waits until a text occurred a number of times, and fails if the program ends before.
func (w *transcript) until(t *testing.T, said string, times int, ended <-chan int) {
	t.Helper()

	enough := false
	defer func() {
		if !enough {
			t.Logf("what was said:\n%s", w)
		}
	}()

	wait.Until(t, fmt.Sprintf("%q is said %d times", said, times), func() bool {
		if enough = strings.Count(w.String(), said) >= times; enough {
			return true
		}

		select {
		case code := <-ended:
			t.Fatalf("it ended with %d before it said %q", code, said)
		default:
		}

		return false
	})
}

// compiling is the additional time for compilers: the API server and the linters take minutes the first time.
const compiling = 20 * time.Minute

var bounds = flag.Bool("bounds", false, "hold the first hour to its bounds: for a machine that does nothing else")

// The most that may be required of authors until an object of their kind is Ready.
const (
	mostCommands = 6
	mostTime     = time.Minute
)

// An hour is the first hour of an author.
type hour struct {
	t        *testing.T
	begin    time.Time
	commands int
}

// types records that the author types a command.
func (h *hour) types(args []string) {
	h.commands++
	fmt.Printf("%6.1f s  moorage %s\n", time.Since(h.begin).Seconds(), strings.Join(args, " "))
}

// do runs a command of the author.
func (h *hour) do(args ...string) {
	h.t.Helper()
	h.types(args)

	var out bytes.Buffer
	if code := cli.Main(h.t.Context(), args, nil, &out, &out); code != 0 {
		h.t.Fatalf("moorage %s: exit code %d\n%s", strings.Join(args, " "), code, &out)
	}
}

// ready logs the effort so far, and fails if it exceeds the limits.
func (h *hour) ready() {
	h.t.Helper()

	took := time.Since(h.begin)
	fmt.Printf("commands: %d\nseconds_to_ready: %.1f\n", h.commands, took.Seconds())

	if h.commands > mostCommands {
		h.t.Errorf("it took %d commands, more than %d", h.commands, mostCommands)
	}

	if *bounds && took > mostTime {
		h.t.Errorf("it took %s, more than %s", took, mostTime)
	}
}

// TestFirstHour does what a new author does: from nothing to a Ready object of a new kind, in three commands and
// without an edit; then a changed file replaces the provider on the same control plane.
func TestFirstHour(t *testing.T) {
	wait.Allow(t, compiling)

	name := "cloud"
	if *bounds { // the author's code is never in the build cache
		name += strconv.FormatInt(time.Now().Unix(), 36)
	}

	dir, h := filepath.Join(t.TempDir(), "provider-"+name), &hour{t: t, begin: time.Now()}

	h.do("init", dir, "--module", "example.org/provider-"+name, "--group", name+".example.org", "--checkout",
		"../../../..")
	h.do("add", "kind", "--dir", dir, "--version", "v1alpha1", "--kind", "Bucket")

	out, ended, gone := &transcript{}, make(chan int, 1), make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() { // a server must not outlive a failing test
		stop()
		<-gone
	})

	place := freeAddress(t)
	dev := []string{"dev", "--dir", dir, "--examples", "--fake", place}
	h.types(dev)

	go func() {
		defer close(gone)

		ended <- cli.Main(ctx, dev, nil, out, out)
	}()

	out.until(t, "the Bucket example is Ready", 1, ended)
	h.ready()

	objects := "/apis/" + name + ".example.org/v1alpha1/namespaces/default/buckets/"
	before := controlPlane(t, dir).identity(objects + "example")
	source := filepath.Join(dir, "internal", "api", "client.go")

	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}

	// A compile error is reported, and the old program keeps running.
	if err := os.WriteFile(source, append(text, "wrong"...), 0o600); err != nil {
		t.Fatal(err)
	}

	out.until(t, "it is tried again when a Go file or an example changes", 1, ended)

	example, err := os.ReadFile(filepath.Join(dir, "examples", "bucket.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	meanwhile := strings.Replace(string(example), "name: example", "name: meanwhile", 1)
	controlPlane(t, dir).call(http.MethodPatch, objects+"meanwhile?fieldManager=test", meanwhile)
	controlPlane(t, dir).untilReady(objects + "meanwhile")

	const changed = "\nfunc init() { println(`the changed code runs`) }\n"
	if err := os.WriteFile(source, append(text, changed...), 0o600); err != nil {
		t.Fatal(err)
	}

	out.until(t, "provider: the changed code runs", 1, ended)
	out.until(t, "moorage: the provider runs", 2, ended)
	// The fake is built from this file as well, and starts empty: the provider fills it again.
	out.until(t, "fake: the changed code runs", 1, ended)
	untilExists(t, "http://"+place+"/buckets/example")

	// A changed example is applied, and the provider keeps running.
	larger := strings.Replace(string(example), "size: 40", "size: 41", 1)
	if err := os.WriteFile(filepath.Join(dir, "examples", "bucket.yaml"), []byte(larger), 0o600); err != nil {
		t.Fatal(err)
	}

	out.until(t, "the Bucket example is Ready", 2, ended)

	if runs := strings.Count(out.String(), "moorage: the provider runs"); runs != 2 {
		t.Errorf("the provider was made for an example: it ran %d times\n%s", runs, out)
	}

	if after := controlPlane(t, dir).identity(objects + "example"); after != before {
		t.Errorf("the provider was started again, and the control plane did not stay: %+v, then %+v", before, after)
	}

	stop()

	if code := <-ended; code != 0 {
		t.Errorf("to be stopped is no failure, and the exit code is %d:\n%s", code, out)
	}
}

// untilExists waits until the fake has a resource.
func untilExists(t *testing.T, url string) {
	t.Helper()

	wait.Until(t, url+" is there", func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}

		request.Header.Set("Authorization", "Bearer let-me-in")

		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		_ = response.Body.Close()

		return response.StatusCode == http.StatusOK
	})
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()

	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Free(t)))
}

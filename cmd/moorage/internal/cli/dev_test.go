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

// A transcript is what a program has said so far.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to it.
func (w *transcript) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.text.Write(b)
}

// String returns all of it.
func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.text.String()
}

// until waits until something was said so many times, and fails if the program ends before.
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

// compiling is what a test may wait for compilers besides: those of the API server and of
// the linters take minutes the first time.
const compiling = 20 * time.Minute

var bounds = flag.Bool("bounds", false, "hold the first hour to its bounds: for a machine that does nothing else")

// What an author may be asked for until an object of his kind is Ready.
const (
	mostCommands = 6
	mostTime     = time.Minute
)

// An hour is the first one of an author.
type hour struct {
	t        *testing.T
	begin    time.Time
	commands int
}

// types notes that the author types a command.
func (h *hour) types(args []string) {
	h.commands++
	fmt.Printf("%6.1f s  moorage %s\n", time.Since(h.begin).Seconds(), strings.Join(args, " "))
}

// do has a command carried out.
func (h *hour) do(args ...string) {
	h.t.Helper()
	h.types(args)

	var out bytes.Buffer
	if code := cli.Main(h.t.Context(), args, nil, &out, &out); code != 0 {
		h.t.Fatalf("moorage %s: exit code %d\n%s", strings.Join(args, " "), code, &out)
	}
}

// ready tells what was needed until now, and fails if it is too much.
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

// TestFirstHour does what an author does: from nothing to an object of a kind of his own
// that is Ready, in three commands and without an edit; then he changes a file, and the
// provider is another one on the same control plane.
func TestFirstHour(t *testing.T) {
	wait.Allow(t, compiling)

	name := "dock"
	if *bounds { // what is his is not compiled yet, however often this is measured
		name += strconv.FormatInt(time.Now().Unix(), 36)
	}

	dir, h := filepath.Join(t.TempDir(), "provider-"+name), &hour{t: t, begin: time.Now()}

	h.do("init", dir, "--module", "example.org/provider-"+name, "--group", name+".example.org", "--checkout", "../../../..")
	h.do("add", "kind", "--dir", dir, "--version", "v1alpha1", "--kind", "Berth")

	out, ended, gone := &transcript{}, make(chan int, 1), make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() { // a server must not outlive a test that fails
		stop()
		<-gone
	})

	place := free(t)
	dev := []string{"dev", "--dir", dir, "--examples", "--fake", place}
	h.types(dev)

	go func() {
		defer close(gone)

		ended <- cli.Main(ctx, dev, nil, out, out)
	}()

	out.until(t, "the Berth example is Ready", 1, ended)
	h.ready()

	objects := "/apis/" + name + ".example.org/v1alpha1/namespaces/default/berths/"
	before := control(t, dir).identity(objects + "example")
	source := filepath.Join(dir, "internal", "api", "client.go")

	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}

	// A mistake is told, and what ran goes on.
	if err := os.WriteFile(source, append(text, "wrong"...), 0o600); err != nil {
		t.Fatal(err)
	}

	out.until(t, "it is tried again when a Go file or an example changes", 1, ended)

	example, err := os.ReadFile(filepath.Join(dir, "examples", "berth.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	meanwhile := strings.Replace(string(example), "name: example", "name: meanwhile", 1)
	control(t, dir).call(http.MethodPatch, objects+"meanwhile?fieldManager=test", meanwhile)
	control(t, dir).untilReady(objects + "meanwhile")

	const changed = "\nfunc init() { println(`the harbour is open`) }\n"
	if err := os.WriteFile(source, append(text, changed...), 0o600); err != nil {
		t.Fatal(err)
	}

	out.until(t, "provider: the harbour is open", 1, ended)
	out.until(t, "moorage: the provider runs", 2, ended)
	// The fake is made of this file as well, and begins with nothing: the provider fills it again.
	out.until(t, "fake: the harbour is open", 1, ended)
	untilThere(t, "http://"+place+"/berths/example")

	// An example that changes is applied, and the provider runs on.
	larger := strings.Replace(string(example), "size: 40", "size: 41", 1)
	if err := os.WriteFile(filepath.Join(dir, "examples", "berth.yaml"), []byte(larger), 0o600); err != nil {
		t.Fatal(err)
	}

	out.until(t, "the Berth example is Ready", 2, ended)

	if runs := strings.Count(out.String(), "moorage: the provider runs"); runs != 2 {
		t.Errorf("the provider was made for an example: it ran %d times\n%s", runs, out)
	}

	if after := control(t, dir).identity(objects + "example"); after != before {
		t.Errorf("the provider was started again, and the control plane did not stay: %+v, then %+v", before, after)
	}

	stop()

	if code := <-ended; code != 0 {
		t.Errorf("to be stopped is no failure, and the exit code is %d:\n%s", code, out)
	}
}

// untilThere waits until the fake has something.
func untilThere(t *testing.T, url string) {
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

// free returns an address that nobody has.
func free(t *testing.T) string {
	t.Helper()

	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Free(t)))
}

package dev

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A picky server is an API server whose objects are Ready if their text contains a word.
type picky struct {
	word string
	fits atomic.Bool
}

// ServeHTTP answers as an API server does.
func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET " + bucket:
		fmt.Fprint(w, `{"resources": [{"name": "buckets", "kind": "Bucket", "namespaced": true}]}`)
	case "PATCH " + bucket + "/namespaces/default/buckets/example":
		body, _ := io.ReadAll(r.Body)
		p.fits.Store(strings.Contains(string(body), p.word))
	case "GET " + bucket + "/namespaces/default/buckets/example":
		status := "False"
		if p.fits.Load() {
			status = "True"
		}

		fmt.Fprintf(w, `{"status": {"conditions": [{"type": "Ready", "status": %q}]}}`, status)
	default:
		http.Error(w, "{}", http.StatusTeapot)
	}
}

// program is the source of a provider, or a fake.
func program(body string) string {
	return "package main\n\nimport (\n\t\"net\"\n\t\"os\"\n\t\"time\"\n)\n\nfunc main() {\n\t" + body +
		"\n}\n\nvar _ = []any{net.Listen, os.Args, time.Now}\n"
}

// stays is a provider that runs until it is stopped.
const stays = "time.Sleep(time.Hour)"

// listens is a fake that prints a word, and listens.
func listens(word string) string {
	return "println(`" + word +
		"`)\n\tl, err := net.Listen(`tcp`, os.Args[2])\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\tdefer l.Close()\n\t" + stays
}

// A workshop is the folder of a provider.
type workshop struct {
	*testing.T

	dir string
}

// newWorkshop returns a workshop with these files.
func newWorkshop(t *testing.T, files map[string]string) workshop {
	t.Helper()

	w := workshop{t, t.TempDir()}
	w.write("go.mod", "module example.org/provider\n\ngo 1.26\n")
	w.write("Makefile", "generate:\n")

	for path, text := range files {
		w.write(path, text)
	}

	return w
}

// write writes a file.
func (w workshop) write(path, text string) {
	w.Helper()

	path = filepath.Join(w.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		w.Fatal(err)
	}

	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// said waits until a text occurred a number of times, and fails if it occurs more often.
func said(t *testing.T, r *record, what string, times int) {
	t.Helper()

	r.until(t, what, times)

	if got := strings.Count(r.String(), what); got > times {
		t.Errorf("%q is said %d times, and not %d:\n%s", what, got, times, r)
	}
}

// TestFollowExamples corrects an example alone: it is applied again, and the running provider is kept. Once it is
// Ready, only another change of the examples applies them again.
func TestFollowExamples(t *testing.T) {
	server := httptest.NewServer(&picky{word: "size: 40"})
	t.Cleanup(server.Close)

	const file = "examples/bucket.yaml"

	asks := func(spec string) string { return strings.TrimSuffix(example, "}") + ", spec: {" + spec + "}}" }
	w := newWorkshop(t, map[string]string{"cmd/provider/main.go": program(stays), file: asks("size: 9")})
	out := &record{}

	s := &session{
		Options: Options{Dir: w.dir, Out: out, Examples: true},
		cluster: &cluster{server: server.URL, http: server.Client()},
		within:  time.Nanosecond, // Ready at the first check, or never
	}
	ctx, stop := context.WithCancel(t.Context())
	end := make(chan struct{})

	go func() {
		defer close(end)

		t.Log("it was stopped:", s.follow(ctx))
	}()

	t.Cleanup(func() {
		stop()
		<-end
		s.provider.stop()
	})

	const (
		vain  = "waited in vain for the Bucket example: "
		again = "; the examples are tried again when a Go file or an example changes\n"
		ready = "the Bucket example is Ready\n"
		runs  = "moorage: the provider runs"
	)

	said(t, out, again, 1)
	said(t, out, vain, 1)

	w.write(file, asks("size: 40"))
	said(t, out, ready, 1)

	w.write(file, asks("size: 40, of: {the: old, and: bold}"))
	said(t, out, ready, 2)
	said(t, out, runs, 1)

	w.write("cmd/provider/main.go", program("os.Exit(3)"))
	said(t, out, "the provider has ended: exit status 3; it is started again when a Go file or an example changes\n", 1)
	said(t, out, runs, 2)
	said(t, out, ready, 2)

	// The provider may have ended because of the example: both are retried.
	w.write(file, asks("size: 40, of: {the: new}"))
	said(t, out, "the provider has ended: exit status 3", 2)
	said(t, out, runs, 3)
}

// TestRenewFake changes a fake: it replaces the running one if its program differs and builds.
func TestRenewFake(t *testing.T) {
	t.Setenv("API_URL", "")

	w := newWorkshop(t, map[string]string{"cmd/fake/main.go": program(listens("ahoy"))})
	out := &record{}
	s := &session{Options: Options{Dir: w.dir, Out: &locked{to: out}, Fake: freeAddress(t)}}

	t.Cleanup(func() { s.fake.stop() })

	renew := func() error { return s.renewFake(t.Context()) }
	must := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}

	const another = "moorage: the fake is another one now"

	must(renew())
	must(renew())

	w.write("internal/other/other.go", "package other\n")
	must(renew())
	said(t, out, "fake: ahoy\n", 1)
	said(t, out, another, 0)

	w.write("cmd/fake/main.go", "wrong")

	if err := renew(); err == nil || s.fake.hasEnded() {
		t.Errorf("a mistake is told, and what ran goes on: %v\n%s", err, out)
	}

	w.write("cmd/fake/main.go", program(listens("land")))
	must(renew())
	said(t, out, "fake: land\n", 1)
	said(t, out, another, 1)

	w.write("cmd/fake/main.go", program("os.Exit(5)"))

	if err := renew(); err == nil || !strings.Contains(err.Error(), "the fake has ended: exit status 5") {
		t.Errorf("it ends at once, and the error is %v\n%s", err, out)
	}

	w.write("cmd/fake/main.go", program(listens("land")))
	must(renew())
	said(t, out, "fake: land\n", 2)

	// The address is in use.
	rival := &session{Options: s.Options}
	for _, err := range []error{rival.vacant(), rival.renewFake(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "name another place by --fake") {
			t.Errorf("there is a fake already, and the error is %v", err)
		}
	}

	t.Setenv("API_URL", "http://127.0.0.1:1")

	rival = &session{Options: s.Options}
	must(rival.vacant())
	must(rival.renewFake(t.Context()))

	if rival.fake != nil {
		t.Error("it was said where the API is, and there is a fake")
	}
}

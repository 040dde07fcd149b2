package dev

import (
	"bytes"
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

	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

const bucket = "/apis/cloud.example.org/v1alpha1"

// A slow server is a busy API server: it takes a while until it serves a new kind, and longer until it serves a
// changed one.
type slow struct {
	asked   atomic.Int32 // which kinds there are
	refused atomic.Int32 // objects
	applied atomic.Pointer[string]
}

// ServeHTTP answers as an API server does that is behind.
func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET " + bucket:
		if s.asked.Add(1) > 1 {
			fmt.Fprint(w, `{"resources": [{"name": "buckets", "kind": "Bucket", "namespaced": true}]}`)

			return
		}

		http.NotFound(w, r)
	case "PATCH " + bucket + "/namespaces/default/buckets/example":
		if s.refused.Add(1) == 1 {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"message": "spec.forProvider.text: field not declared in schema"}`)

			return
		}

		body, _ := io.ReadAll(r.Body)
		s.applied.Store(new(string(body)))
	case "GET " + bucket + "/namespaces/default/buckets/example":
		fmt.Fprint(w,
			`{"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "conditions": [{"type": "Ready", "status": `+
				`"True"}]}}`)
	default:
		http.Error(w, "{}", http.StatusTeapot)
	}
}

// TestServed waits for kinds that were just defined, and for no others.
func TestServed(t *testing.T) {
	behind := &slow{}
	server := httptest.NewServer(behind)
	t.Cleanup(server.Close)

	c := &cluster{server: server.URL, http: server.Client()}
	definition := object{Kind: "CustomResourceDefinition", text: []byte(`
kind: CustomResourceDefinition
spec:
  group: cloud.example.org
  names: {kind: Bucket}
  versions: [{name: v1alpha1, served: true}, {name: v1alpha0, served: false}]`)}

	if err := c.served(t.Context(), []object{definition, {Kind: "Bucket"}}); err != nil {
		t.Fatal(err)
	}

	if asked := behind.asked.Load(); asked != 2 {
		t.Errorf("the kind is served when it is asked for the second time, and it was asked for %d times", asked)
	}
}

// example is an object, and exampleDir returns a folder with it.
const example = "{apiVersion: cloud.example.org/v1alpha1, kind: Bucket, metadata: {name: example, namespace: default}}"

func exampleDir(t *testing.T) string {
	t.Helper()

	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "examples"), 0o750); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "examples", "bucket.yaml"), []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}

	return dir
}

// TestPlay applies an example to a server that still serves the kind as it was: that is reported, and not fatal.
func TestPlay(t *testing.T) {
	behind := &slow{}
	server := httptest.NewServer(behind)
	t.Cleanup(server.Close)

	dir := exampleDir(t)

	// An editor may say so that it has a file open.
	if err := os.Symlink("somebody@somewhere", filepath.Join(dir, "examples", ".#bucket.yaml")); err != nil {
		t.Fatal(err)
	}

	provider, err := start(io.Discard, dir, "provider", nil, "sleep", "600")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.stop)

	var said bytes.Buffer

	s := &session{
		Options:  Options{Dir: dir, Out: &said},
		cluster:  &cluster{server: server.URL, http: server.Client()},
		provider: provider,
		within:   wait.Budget(t),
	}
	if err := s.play(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}

	if applied := behind.applied.Load(); applied == nil || *applied != "\n"+example {
		t.Errorf("the example was not applied as it is")
	}

	for _, want := range []string{"field not declared in schema; it is tried again", "the Bucket example is Ready"} {
		if strings.Count(said.String(), want) != 1 {
			t.Errorf("%q is to be told, once:\n%s", want, &said)
		}
	}
}

// TestPlayTellsWhichIsNotReady has an example that fails before one that is Ready: both are reported.
func TestPlayTellsWhichIsNotReady(t *testing.T) {
	const (
		kinds = "/apis/cloud.example.org/v1alpha1"
		in    = kinds + "/namespaces/default/"
	)

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPatch:
		case r.URL.Path == kinds:
			fmt.Fprint(w, `{"resources": [{"name": "buckets", "kind": "Bucket", "namespaced": true},
				{"name": "queues", "kind": "Queue", "namespaced": true}]}`)
		case r.URL.Path == in+"buckets/example":
			fmt.Fprint(w, `{"status": {"conditions": [{"type": "Ready", "status": "False"},
				{"type": "Synced", "status": "False", "reason": "NoRoom", "message": "the server is full"}]}}`)
		case r.URL.Path == in+"queues/example":
			fmt.Fprint(w, `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`)
		default:
			http.Error(w, "{}", http.StatusTeapot)
		}
	}))
	t.Cleanup(server.Close)

	dir := exampleDir(t)
	queue := strings.Replace(example, "Bucket", "Queue", 1)

	if err := os.WriteFile(filepath.Join(dir, "examples", "queue.yaml"), []byte(queue), 0o600); err != nil {
		t.Fatal(err)
	}

	var said bytes.Buffer

	s := &session{
		Options:  Options{Dir: dir, Out: &said},
		cluster:  &cluster{server: server.URL, http: server.Client()},
		provider: runs(t, "provider", "exec sleep 600"),
		within:   time.Nanosecond,
	}

	const why = "the Bucket example: the condition Synced is False, NoRoom: the server is full"

	err := s.play(t.Context())
	if err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "Queue") {
		t.Errorf("got %v", err)
	}

	if !strings.Contains(said.String(), "the Queue example is Ready") {
		t.Errorf("said: %s", &said)
	}
}

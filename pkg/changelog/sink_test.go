package changelog

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolsrecord "k8s.io/client-go/tools/record"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
)

var disk = schema.GroupVersionKind{Group: "storage.example.com", Version: "v1", Kind: "Disk"}

func entry(name string) Entry {
	return Entry{
		Time:     time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC),
		Provider: "provider-storage", ProviderVersion: "v1.2.3",
		GroupVersionKind: disk, Namespace: "main", Name: name, UID: "uid-1", ExternalName: "b-" + name,
		Operation: OperationCreate, Attempt: "a1",
		Before: json.RawMessage(`{"spec":{"n":1}}`), After: json.RawMessage(`{"spec":{"n":2}}`),
		Details: map[string]string{"region": "north"},
	}
}

// leaky returns an entry with the canary in every field that has text from outside.
func leaky() Entry {
	e := entry("leaky")
	e.Before = json.RawMessage(`{"spec":{"password":"` + canary + `"},"status":{"m":"token=` + canary + `"}}`)
	e.After = json.RawMessage(`{"kind":"Secret","apiVersion":"v1","data":{"a":"` +
		base64.StdEncoding.EncodeToString([]byte(canary)) + `"}}`)
	e.Error = "dial nats://bob:" + canary + "@h: refused " + strings.Repeat("again ", 1000)
	e.Details = map[string]string{"api-token": canary, "request": "Authorization: Bearer " + canary}

	return e
}

// secrets must not be in the redacted form of a leaky entry.
var secrets = []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))}

func checkClean(t *testing.T, text string) {
	t.Helper()

	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("A secret is sink: %s", text)
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := NewJSON(&b).Record(t.Context(), entry("a")); err != nil {
		t.Fatal(err)
	}

	want := `{"time":"2026-04-01T12:00:00Z","provider":{"name":"provider-storage","version":"v1.2.3"},` +
		`"object":{"apiVersion":"storage.example.com/v1","kind":"Disk","namespace":"main","name":"a","uid":"uid-1"},` +
		`"externalName":"b-a","operation":"Create","attempt":"a1","details":{"region":"north"},` +
		`"before":{"spec":{"n":1}},"after":{"spec":{"n":2}}}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	var back Entry
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(entry("a"), back); diff != "" {
		t.Errorf("Read again: -want, +got:\n%s", diff)
	}
}

func TestJSONHoldsNoSecrets(t *testing.T) {
	var b bytes.Buffer

	s := NewJSON(&b)
	broken := entry("broken")
	broken.Before = json.RawMessage(canary)

	for _, e := range []Entry{leaky(), broken} {
		if err := s.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}

	checkClean(t, b.String())

	var got Entry
	if err := json.NewDecoder(&b).Decode(&got); err != nil {
		t.Fatal(err)
	}

	want := map[string]string{"api-token": "[REDACTED]", "request": "Authorization: [REDACTED]"}
	if diff := cmp.Diff(want, got.Details); diff != "" {
		t.Errorf("Details: -want, +got:\n%s", diff)
	}

	if len(got.Error) > 1024 || !strings.HasPrefix(got.Error, "dial nats://[REDACTED]@h: refused") {
		t.Errorf("Error: %q", got.Error)
	}
}

func TestDetailsAreBounded(t *testing.T) {
	e := entry("a")
	for i := range 1000 {
		e.Details[fmt.Sprint(i)] = strings.Repeat("x", 2000)
	}

	got := e.redacted().Details
	if len(got) != maxDetails || len(got["0"]) != 1024 {
		t.Errorf("%d details, the first with %d bytes", len(got), len(got["0"]))
	}
}

// single is a writer that fails the test if it is used concurrently.
type single struct {
	t    *testing.T
	busy atomic.Bool
}

func (s *single) Write(b []byte) (int, error) {
	if s.busy.Swap(true) {
		s.t.Error("Two entries are written at once")
	}

	for range 10 {
		runtime.Gosched()
	}

	s.busy.Store(false)

	return len(b), nil
}

func TestJSONWritesOneAtATime(t *testing.T) {
	s := NewJSON(&single{t: t})

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				write(t, s, "a")
			}
		})
	}

	wg.Wait()
}

// stutter accepts only a part of the first write.
type stutter struct{ bytes.Buffer }

func (s *stutter) Write(b []byte) (int, error) {
	if s.Len() == 0 {
		n, _ := s.Buffer.Write(b[:10])

		return n, io.ErrShortWrite
	}

	return s.Buffer.Write(b)
}

func TestJSONAfterHalfALine(t *testing.T) {
	w := &stutter{}
	s := NewJSON(w)

	if err := s.Record(t.Context(), entry("a")); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Record(...) = %v, want %v", err, io.ErrShortWrite)
	}

	if err := s.Record(t.Context(), entry("b")); err != nil {
		t.Fatal(err)
	}

	if lines := strings.Split(w.String(), "\n"); len(lines) != 3 || !json.Valid([]byte(lines[1])) {
		t.Errorf("The next entry does not begin a line: %q", w.String())
	}
}

func TestMulti(t *testing.T) {
	var got []string

	sink := func(name string, err error) Sink {
		return SinkFunc(func(_ context.Context, e Entry) error {
			got = append(got, name+" "+e.Name)

			return err
		})
	}
	failure := errors.New("no room")
	panics := SinkFunc(func(context.Context, Entry) error { panic("disk full") })

	err := Multi(sink("first", failure), panics, sink("last", nil)).Record(t.Context(), entry("a"))
	if diff := cmp.Diff([]string{"first a", "last a"}, got); diff != "" {
		t.Errorf("Every sink is sink: -want, +got:\n%s", diff)
	}

	if !errors.Is(err, failure) || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Record(...) = %v, want all failures", err)
	}

	if err := Multi().Record(t.Context(), entry("a")); err != nil {
		t.Errorf("Record(...) of no sinks = %v", err)
	}
}

// recorded is a client-go recorder that keeps its events.
type recorded struct {
	toolsrecord.EventRecorder
	object apiruntime.Object
	text   []string
}

func (r *recorded) AnnotatedEventf(obj apiruntime.Object, _ map[string]string, eventType, reason, _ string,
	args ...any) {
	r.object = obj
	r.text = append(r.text, eventType+" "+reason+" "+args[0].(string))
}

func TestEvents(t *testing.T) {
	r := &recorded{}
	s := NewEvents(event.NewAPIRecorder(r))

	e := entry("a")
	failed := leaky()
	failed.Operation = OperationDelete
	failed.Error = "dial nats://bob:" + canary + "@h: refused"

	for _, e := range []Entry{e, failed} {
		if err := s.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}

	want := []string{
		`Normal ExternalResourceChanged Create of external resource "b-a" succeeded`,
		`Warning ExternalResourceNotChanged Delete of external resource "b-leaky" failed: dial nats://[REDACTED]@h: refused`,
	}
	if diff := cmp.Diff(want, r.text); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "main", Name: "leaky",
		UID: "uid-1"}}
	object.SetGroupVersionKind(disk)

	if diff := cmp.Diff(object, r.object); diff != "" {
		t.Errorf("Object: -want, +got:\n%s", diff)
	}

	for _, e := range []Entry{{Name: "a"}, {GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod")}} {
		if err := s.Record(t.Context(), e); err == nil {
			t.Errorf("An event of nothing was accepted: %+v", e)
		}
	}
}

func names(t *testing.T, path string) (out []string) {
	t.Helper()

	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(b)) {
		var e Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			out = append(out, "?")

			continue
		}

		out = append(out, e.Name)
	}

	return out
}

func open(t *testing.T, path string) *File {
	t.Helper()

	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = f.Close() })

	return f
}

func write(t *testing.T, s Sink, name string) {
	t.Helper()

	if err := s.Record(t.Context(), entry(name)); err != nil {
		t.Error(err)
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "changes")
	f := open(t, path)

	write(t, f, "a")

	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("Mode %v, %v", info.Mode(), err)
	}

	write(t, open(t, path), "b")
	write(t, f, "c")

	if diff := cmp.Diff([]string{"a", "b", "c"}, names(t, path)); diff != "" {
		t.Errorf("Two append to one file: -want, +got:\n%s", diff)
	}

	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}

	write(t, f, "d")

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}

	write(t, f, "e")

	if diff := cmp.Diff([][]string{{"a", "b", "c"}, {"e"}},
		[][]string{names(t, path+".1"), names(t, path)}); diff != "" {
		t.Errorf("Rotated, then removed: -want, +got:\n%s", diff)
	}

	for _, step := range []error{os.Rename(path, path+".2"), os.WriteFile(path, nil, 0o600)} {
		if step != nil {
			t.Fatal(step)
		}
	}

	write(t, f, "f")

	if diff := cmp.Diff([][]string{{"e"}, {"f"}}, [][]string{names(t, path+".2"), names(t, path)}); diff != "" {
		t.Errorf("Another file has the name: -want, +got:\n%s", diff)
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	if err := f.Record(t.Context(), entry("g")); err == nil {
		t.Error("A closed file took an entry")
	}
}

// TestFileComesBack: a file that could not be opened for a while is written again.
func TestFileComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	path := filepath.Join(dir, "changes")

	if _, err := OpenFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("OpenFile(...) = %v, want %v", err, os.ErrNotExist)
	}

	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}

	f := open(t, path)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}

	if err := f.Record(t.Context(), entry("a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Record(...) = %v, want %v", err, os.ErrNotExist)
	}

	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}

	write(t, f, "b")

	if diff := cmp.Diff([]string{"b"}, names(t, path)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestFileEndsAnUnfinishedLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "changes")
	if err := os.WriteFile(path, []byte(`{"time":"20`), 0o600); err != nil {
		t.Fatal(err)
	}

	write(t, open(t, path), "a")

	if diff := cmp.Diff([]string{"?", "a"}, names(t, path)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestFileIsRegular(t *testing.T) {
	dir := t.TempDir()

	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}

	for _, path := range []string{dir, pipe} {
		if _, err := OpenFile(path); err == nil {
			t.Errorf("OpenFile(%q) succeeded", path)
		}
	}
}

func TestLinesDoNotMix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "changes")
	f := open(t, path)

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := f.Record(t.Context(), entry("a")); err != nil {
					t.Error(err)
				}
			}
		})
	}

	wg.Wait()

	got := names(t, path)
	if len(got) != 400 || strings.Contains(strings.Join(got, ""), "?") {
		t.Errorf("%d lines: %q", len(got), got)
	}
}

package testworld

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/moorage-dev/moorage/pkg/errors"
)

func newMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: data}
}

func TestVerbs(t *testing.T) {
	w := New(t, fake.NewClientBuilder().Build())
	w.Must(nil)
	if !w.Gone(newMap(nil)) || w.Find(newMap(nil)) {
		t.Error("what was not created is there")
	}
	w.Create(newMap(map[string]string{"a": "1", "b": "2"}))

	m := newMap(nil)
	w.Read(m)
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "2"}, m.Data); diff != "" {
		t.Errorf("read: -want, +got:\n%s", diff)
	}
	theirs := newMap(nil)
	w.Change(theirs, func() { theirs.Data["c"] = "3" })
	w.Change(m, func() { delete(m.Data, "a") })
	probe := newMap(nil)
	w.Await(probe, "has one less", func() bool { return len(probe.Data) == 2 })
	if diff := cmp.Diff(map[string]string{"b": "2", "c": "3"}, probe.Data); diff != "" {
		t.Errorf("changed: -want, +got:\n%s", diff)
	}

	if probe = newMap(nil); w.Gone(probe) || probe.Data != nil {
		t.Errorf("gone before it is deleted, or read: %v", probe)
	}
	w.Delete(m)
	if before := m.DeepCopy(); !w.Gone(m) || w.Find(m) || !cmp.Equal(before, m) {
		t.Errorf("not gone, or changed: %v", m)
	}
}

// answer decodes into the given object, as a client of a real server does for a custom resource.
type answer struct{ client.Client }

func (answer) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	return json.Unmarshal([]byte(`{"data":{"a":"1"}}`), obj)
}

// TestReadForgets checks that former fields of the object are not mixed with the answer.
func TestReadForgets(t *testing.T) {
	m := newMap(map[string]string{"stale": "3"})
	New(t, answer{}).Read(m)
	if diff := cmp.Diff(map[string]string{"a": "1"}, m.Data); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestReadUnstructured checks that an unstructured object keeps its kind.
func TestReadUnstructured(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "default", "name": "a"},
	}}
	w := New(t, fake.NewClientBuilder().WithObjects(newMap(map[string]string{"a": "1"})).Build())
	w.Read(u)
	if diff := cmp.Diff(map[string]any{"a": "1"}, u.Object["data"]); diff != "" || w.Gone(u) {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// A recorder is a test that records its failures, and whose deadline is now.
type recorder struct {
	*testing.T

	failed, logged string
}

func (*recorder) Deadline() (time.Time, bool) { return time.Now(), true }

func (r *recorder) Fatal(args ...any) {
	r.failed = fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

func (r *recorder) Logf(format string, args ...any) { r.logged += fmt.Sprintf(format, args...) }

// broken cannot be read.
type broken struct{ client.Client }

var errBoom = errors.New("boom")

func (broken) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errBoom
}

func TestFailures(t *testing.T) {
	empty := fake.NewClientBuilder().Build()
	there := fake.NewClientBuilder().WithObjects(newMap(map[string]string{"a": "1"})).Build()
	m := newMap(nil)
	cases := map[string]struct {
		reason string
		api    client.Client
		verb   func(w World[client.Client])
		want   string
		logged string
	}{
		"Must": {"An error ends the test.", nil, func(w World[client.Client]) { w.Must(errBoom) }, "boom", ""},
		"Create": {"The second of two is there already.", there,
			func(w World[client.Client]) {
				w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
					m)
			}, "already exists", ""},
		"Read": {"What is to be read has to exist.", empty, func(w World[client.Client]) { w.Read(m) },
			"not found", ""},
		"Find": {"An error says nothing about existence.", broken{}, func(w World[client.Client]) { w.Find(m) },
			"boom", ""},
		"Gone": {"An error is no absence.", broken{}, func(w World[client.Client]) { w.Gone(m) }, "boom", ""},
		"Change": {"What is to be changed has to exist.", empty,
			func(w World[client.Client]) { w.Change(m, func() {}) }, "not found", ""},
		"Patch": {"A change that is refused ends the test.", there,
			func(w World[client.Client]) { w.Change(m, func() { m.Name = "b" }) }, "not found", ""},
		"Delete": {"What is to be deleted has to exist.", empty, func(w World[client.Client]) { w.Delete(m) },
			"not found", ""},
		"Await": {"A timeout is reported with the object.", there,
			func(w World[client.Client]) { w.Await(m, "is big", func() bool { return false }) }, "a is big",
			`"data":{"a":"1"}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m = newMap(nil)
			r, ended, returned := &recorder{T: t}, make(chan struct{}), false
			go func() {
				defer close(ended)
				tc.verb(New[client.Client](r, tc.api))
				returned = true
			}()
			<-ended
			if returned || !strings.Contains(r.failed, tc.want) || !strings.Contains(r.logged, tc.logged) {
				t.Errorf("%s\nreturned %t, failed with %q, logged %q", tc.reason, returned, r.failed, r.logged)
			}
		})
	}
}

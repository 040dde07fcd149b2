package dryrun_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/dryrun"
)

// newClient returns a client of an API server with objects. A write that is sent fails the test.
func newClient(t *testing.T, stored ...client.Object) *dryrun.Client {
	t.Helper()
	sent := func() error {
		t.Error("a write was sent")

		return errors.New("sent")
	}
	c := ctrlfake.NewClientBuilder().WithObjects(stored...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return sent() },
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return sent() },
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return sent() },
		DeleteAllOf: func(context.Context, client.WithWatch, client.Object, ...client.DeleteAllOfOption) error {
			return sent()
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return sent()
		},
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return sent()
		},
		SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object,
			...client.SubResourceCreateOption) error {
			return sent()
		},
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object,
			...client.SubResourceUpdateOption) error {
			return sent()
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch,
			...client.SubResourcePatchOption) error {
			return sent()
		},
	}).Build()

	return dryrun.NewClient(c)
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func merge(body string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(body)) }

// TestAnswers compares the answers to writes with those of an API server, and what later reads have.
func TestAnswers(t *testing.T) {
	stored := pod("a")
	stored.UID, stored.Generation, stored.Spec.NodeName = "uid-1", 3, "one"
	stored.Finalizers = []string{"example.org/wait"}
	stored.Status.Phase = corev1.PodRunning
	c := newClient(t, stored)
	ctx, s := dryrun.Begin(t.Context(), nil)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func() *corev1.Pod {
		t.Helper()
		got := pod("")
		must(c.Get(ctx, client.ObjectKeyFromObject(stored), got))

		return got
	}
	before := read().ResourceVersion

	p := read()
	must(c.Patch(ctx, p, merge(`{"metadata":{"labels":{"team":"sea"},"resourceVersion":"`+before+`"}}`)))
	if got := read(); got.Labels["team"] != "sea" || got.ResourceVersion == before || got.Generation != 3 ||
		p.ResourceVersion != got.ResourceVersion {
		t.Errorf("after a patch: %+v", got)
	}
	if err := c.Patch(ctx, pod("a"), merge(`{"metadata":{"resourceVersion":"`+before+`"}}`)); !kerrors.IsConflict(err) {
		t.Errorf("another version: %v", err)
	}
	if err := c.Patch(ctx, pod("a"), merge(`{"metadata":{"uid":"other"}}`)); !kerrors.IsConflict(err) {
		t.Errorf("another UID: %v", err)
	}
	version := read().ResourceVersion
	must(c.Patch(ctx, pod("a"), merge(`{"metadata":{"labels":{"team":"sea"}}}`)))
	if got := read().ResourceVersion; got != version {
		t.Errorf("a patch that changes nothing: version %s, before %s", got, version)
	}

	p = read()
	p.Spec.NodeName, p.Status.Phase = "two", corev1.PodFailed
	must(c.Update(ctx, p))
	if got := read(); got.Spec.NodeName != "two" || got.Status.Phase != corev1.PodRunning || got.Generation != 4 {
		t.Errorf("after an update: %+v", got)
	}
	p = read()
	p.Spec.NodeName, p.Status.Phase = "three", corev1.PodFailed
	must(c.Status().Update(ctx, p))
	must(c.Status().Patch(ctx, read(), merge(`{"spec":{"nodeName":"four"},"status":{"message":"broken"}}`)))
	if got := read(); got.Spec.NodeName != "two" || got.Status.Phase != corev1.PodFailed ||
		got.Status.Message != "broken" || got.Generation != 4 {
		t.Errorf("after updates of the status: %+v", got)
	}

	must(c.Delete(ctx, pod("a")))
	if got := read(); got.DeletionTimestamp.IsZero() {
		t.Error("the deletion was not requested")
	}
	must(c.Patch(ctx, pod("a"), merge(`{"metadata":{"finalizers":null}}`)))
	if err := c.Get(ctx, client.ObjectKeyFromObject(stored), pod("")); !kerrors.IsNotFound(err) {
		t.Errorf("gone: %v", err)
	}
	if err := c.Update(ctx, pod("a")); !kerrors.IsNotFound(err) {
		t.Errorf("update of an object that is gone: %v", err)
	}

	in := func(verb string, fields ...string) dryrun.Write {
		return dryrun.Write{Verb: verb, Kind: "Pod", Namespace: "default", Name: "a", Fields: fields}
	}
	want := []dryrun.Write{
		in("patch", "metadata.labels.team"), in("update", "spec.nodeName"), in("update", "status.phase"),
		in("patch", "status.message"), in("delete"), in("patch", "metadata.finalizers"),
	}
	if diff := cmp.Diff(want, s.Writes()); diff != "" {
		t.Errorf("writes: -want, +got:\n%s", diff)
	}
	if got := pod(""); c.Get(t.Context(), client.ObjectKeyFromObject(stored), got) != nil || got.Labels != nil {
		t.Errorf("outside of the session: %+v", got)
	}
}

// TestCreate verifies what a created object has, and which exist already.
func TestCreate(t *testing.T) {
	c := newClient(t, pod("a"))
	ctx, s := dryrun.Begin(t.Context(), nil)
	if err := c.Create(ctx, pod("a")); !kerrors.IsAlreadyExists(err) {
		t.Errorf("of what is stored: %v", err)
	}
	made := pod("")
	made.GenerateName = "b-"
	if err := c.Create(ctx, made); err != nil || made.UID == "" || made.ResourceVersion == "" || made.Generation != 1 ||
		made.CreationTimestamp.IsZero() || len(made.Name) != len("b-")+5 {
		t.Errorf("%+v, %v", made, err)
	}
	if err := c.Create(ctx, pod(made.Name)); !kerrors.IsAlreadyExists(err) {
		t.Errorf("of what was created: %v", err)
	}
	// any kind that the client can read
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	if err := c.Get(ctx, client.ObjectKeyFromObject(made), u); err != nil || u.GetUID() != made.UID {
		t.Errorf("%+v, %v", u, err)
	}
	if err := c.Delete(ctx, made); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(ctx, pod(made.Name)); err != nil {
		t.Errorf("of what was deleted: %v", err)
	}
	if got := len(s.Writes()); got != 3 {
		t.Errorf("%d writes: %v", got, s.Writes())
	}
}

// TestStored verifies that a session can have an object that the API server does not have, without a write.
func TestStored(t *testing.T) {
	c := newClient(t)
	ctx, s := dryrun.Begin(t.Context(), nil)
	mine := pod("new")
	mine.UID, mine.ResourceVersion = "uid-9", "not a number"
	if err := s.Store(corev1.SchemeGroupVersion.WithKind("Pod"), mine); err != nil {
		t.Fatal(err)
	}
	got := pod("new")
	if err := c.Patch(ctx, got, merge(`{"metadata":{"uid":"uid-9","labels":{"a":"b"}}}`)); err != nil ||
		got.UID != "uid-9" {
		t.Errorf("%+v, %v", got, err)
	}
	if got := len(s.Writes()); got != 1 {
		t.Errorf("%d writes", got)
	}
}

// TestRefused verifies that a write that cannot be answered is an error, and is not sent.
func TestRefused(t *testing.T) {
	c := newClient(t, pod("a"))
	ctx, s := dryrun.Begin(t.Context(), nil)
	body := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	for name, err := range map[string]error{
		"create without a session": c.Create(t.Context(), pod("b")),
		"update without a session": c.Update(t.Context(), pod("a")),
		"patch without a session":  c.Patch(t.Context(), pod("a"), body),
		"delete without a session": c.Delete(t.Context(), pod("a")),
		"status without a session": c.Status().Patch(t.Context(), pod("a"), body),
		"apply":                    c.Apply(ctx, nil),
		"delete all":               c.DeleteAllOf(ctx, pod("")),
		"JSON patch":               c.Patch(ctx, pod("a"), client.RawPatch(types.JSONPatchType, []byte(`[]`))),
		"create of a status":       c.Status().Create(ctx, pod("a"), pod("a")),
		"apply of a status":        c.Status().Apply(ctx, nil),
		"status with a body": c.Status().Update(ctx, pod("a"),
			client.WithSubResourceBody(pod("a"))),
		"patch of a status with a body": c.Status().Patch(ctx, pod("a"), body,
			client.WithSubResourceBody(pod("a"))),
		"update of a subresource": c.SubResource("eviction").Update(ctx, pod("a")),
		"patch of a subresource":  c.SubResource("scale").Patch(ctx, pod("a"), body),
	} {
		if !errors.Is(err, dryrun.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := s.Writes(); len(got) > 0 {
		t.Errorf("writes: %v", got)
	}
	if err := c.Patch(ctx, pod("a"), merge(`{`)); err == nil {
		t.Error("a broken patch is no error")
	}
}

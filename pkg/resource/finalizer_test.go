package resource_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const finalizer = "finalizer.moorage.dev"

// A patchClient responds to patches and records them. Any other call panics.
type patchClient struct {
	client.Client

	answer func(obj client.Object) error
	sent   []string
}

func (c *patchClient) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}

	c.sent = append(c.sent, string(patch.Type())+" "+string(data))

	return c.answer(obj)
}

func pod(finalizers ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", ResourceVersion: "7", Finalizers: finalizers},
		Status:     corev1.PodStatus{Message: "only in memory"},
	}
}

// accept responds like an API server that stores the patch and does not have the
// caller's status.
func accept(obj client.Object) error {
	obj.SetResourceVersion("8")
	obj.SetLabels(map[string]string{"from": "server"})
	obj.(*corev1.Pod).Status = corev1.PodStatus{}

	return nil
}

func TestAPIFinalizer(t *testing.T) {
	boom := errors.New("boom")
	gone := kerrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p")
	page := kerrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet,
		schema.GroupResource{Resource: "pods"},
		"p", "404 page not found", 0, true)
	conflict := kerrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", boom)

	add := func(f resource.Finalizer, o resource.Object) error { return f.AddFinalizer(context.Background(), o) }
	remove := func(f resource.Finalizer, o resource.Object) error {
		return f.RemoveFinalizer(context.Background(), o)
	}
	patched := func(p *corev1.Pod) *corev1.Pod {
		p.ResourceVersion = "8"

		return p
	}

	cases := map[string]struct {
		reason string
		call   func(f resource.Finalizer, o resource.Object) error
		obj    *corev1.Pod
		answer func(obj client.Object) error
		sent   []string
		want   *corev1.Pod
		err    error
	}{
		"Add": {
			reason: "One patch of the finalizers, bound to what was read; the rest in memory is kept.",
			call:   add, obj: pod("foreign"), answer: accept,
			sent: []string{
				`application/merge-patch+json {"metadata":{"uid":"u","resourceVersion":"7","finalizers":["foreign",` +
					`"finalizer.moorage.dev"]}}`},
			want: patched(pod("foreign", finalizer)),
		},
		"AddAnswered": {
			reason: "What the API server answers holds.",
			call:   add, obj: pod(),
			answer: func(obj client.Object) error {
				obj.SetFinalizers([]string{"by-webhook", finalizer})

				return accept(obj)
			},
			sent: []string{`application/merge-patch+json {"metadata":` +
				`{"uid":"u","resourceVersion":"7","finalizers":["finalizer.moorage.dev"]}}`},
			want: patched(pod("by-webhook", finalizer)),
		},
		"AddAgain": {
			reason: "Nothing is sent when nothing changes.",
			call:   add, obj: pod(finalizer), want: pod(finalizer),
		},
		"AddNew": {
			reason: "What is not known is not claimed.",
			call:   add, obj: &corev1.Pod{}, answer: accept,
			sent: []string{`application/merge-patch+json {"metadata":{"finalizers":["finalizer.moorage.dev"]}}`},
			want: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "8", Finalizers: []string{finalizer}}},
		},
		"AddConflict": {
			reason: "A conflict is found through the error, and nothing changed in memory.",
			call:   add, obj: pod(),
			answer: func(client.Object) error { return conflict },
			sent: []string{`application/merge-patch+json {"metadata":` +
				`{"uid":"u","resourceVersion":"7","finalizers":["finalizer.moorage.dev"]}}`},
			want: pod(), err: conflict,
		},
		"Remove": {
			reason: "The last finalizer leaves an empty list.",
			call:   remove, obj: pod(finalizer), answer: accept,
			sent: []string{`application/merge-patch+json {"metadata":{"uid":"u","resourceVersion":"7","finalizers":[]}}`},
			want: patched(pod([]string{}...)),
		},
		"RemoveDuplicate": {
			reason: "All of them go, those of others stay.",
			call:   remove, obj: pod(finalizer, "foreign", finalizer), answer: accept,
			sent: []string{
				`application/merge-patch+json {"metadata":{"uid":"u","resourceVersion":"7","finalizers":["foreign"]}}`},
			want: patched(pod("foreign")),
		},
		"RemoveAgain": {
			reason: "Nothing is sent when nothing changes.",
			call:   remove, obj: pod("foreign"), want: pod("foreign"),
		},
		"RemoveGone": {
			reason: "An object that is gone has no finalizer.",
			call:   remove, obj: pod(finalizer, "foreign"),
			answer: func(client.Object) error { return gone },
			sent: []string{
				`application/merge-patch+json {"metadata":{"uid":"u","resourceVersion":"7","finalizers":["foreign"]}}`},
			want: pod("foreign"),
		},
		"RemoveUnserved": {
			reason: "A proxy that answers, or a kind that is not served, says nothing of the object.",
			call:   remove, obj: pod(finalizer),
			answer: func(client.Object) error { return page },
			sent:   []string{`application/merge-patch+json {"metadata":{"uid":"u","resourceVersion":"7","finalizers":[]}}`},
			want:   pod(finalizer), err: page,
		},
		"RemoveError": {
			reason: "Any other error is returned.",
			call:   remove, obj: pod(finalizer),
			answer: func(client.Object) error { return boom },
			sent:   []string{`application/merge-patch+json {"metadata":{"uid":"u","resourceVersion":"7","finalizers":[]}}`},
			want:   pod(finalizer), err: boom,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &patchClient{answer: tc.answer}
			err := tc.call(resource.NewAPIFinalizer(c, finalizer), tc.obj)

			if !errors.Is(err, tc.err) {
				t.Errorf("%s\nerror %v, want %v", tc.reason, err, tc.err)
			}

			if tc.err != nil && err != nil {
				if want := "cannot update object: " + tc.err.Error(); err.Error() != want {
					t.Errorf("%s\nerror %q, want %q", tc.reason, err, want)
				}
			}

			if diff := cmp.Diff(tc.sent, c.sent); diff != "" {
				t.Errorf("%s\nrequests: -want, +got:\n%s", tc.reason, diff)
			}

			if len(tc.obj.Finalizers) == 0 && len(tc.want.Finalizers) == 0 {
				tc.obj.Finalizers, tc.want.Finalizers = nil, nil
			}

			if diff := cmp.Diff(tc.want, tc.obj); diff != "" {
				t.Errorf("%s\nobject: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFinalizerFns(t *testing.T) {
	boom, bang := errors.New("boom"), errors.New("bang")
	fns := resource.FinalizerFns{
		AddFinalizerFn:    func(context.Context, resource.Object) error { return boom },
		RemoveFinalizerFn: func(context.Context, resource.Object) error { return bang },
	}

	if err := fns.AddFinalizer(context.Background(), pod()); !errors.Is(err, boom) {
		t.Errorf("AddFinalizer(...) = %v, want %v", err, boom)
	}

	if err := fns.RemoveFinalizer(context.Background(), pod()); !errors.Is(err, bang) {
		t.Errorf("RemoveFinalizer(...) = %v, want %v", err, bang)
	}

	p := pod("foreign")
	nop := resource.NewNopFinalizer()

	if err := nop.AddFinalizer(context.Background(), p); err != nil {
		t.Errorf("AddFinalizer(...) = %v, want nil", err)
	}

	if err := nop.RemoveFinalizer(context.Background(), p); err != nil {
		t.Errorf("RemoveFinalizer(...) = %v, want nil", err)
	}

	if diff := cmp.Diff(pod("foreign"), p); diff != "" {
		t.Errorf("A finalizer that does nothing changed the object: -want, +got:\n%s", diff)
	}
}

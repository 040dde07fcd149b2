package kube_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
)

func TestRefusals(t *testing.T) {
	force := true
	cases := map[string]struct {
		reason string
		do     func(ctx context.Context, c client.Client) error
		want   func(error) bool
	}{
		"Apply": {
			reason: "Server-side apply takes an API server.",
			do: func(ctx context.Context, c client.Client) error {
				return c.Patch(ctx, newVolume("a"), client.RawPatch(types.ApplyPatchType, []byte(`{}`)))
			},
			want: kerrors.IsUnsupportedMediaType,
		},
		"ApplyConfiguration": {
			reason: "So does its newer form.",
			do: func(ctx context.Context, c client.Client) error {
				return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{}))
			},
			want: kerrors.IsUnsupportedMediaType,
		},
		"StatusApply": {
			reason: "So does that of the status.",
			do: func(ctx context.Context, c client.Client) error {
				return c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{}))
			},
			want: kerrors.IsUnsupportedMediaType,
		},
		"Strategic": {
			reason: "A strategic merge patch is refused as it is for custom resources.",
			do: func(ctx context.Context, c client.Client) error {
				return c.Patch(ctx, newVolume("a"), client.RawPatch(types.StrategicMergePatchType, []byte(`{}`)))
			},
			want: kerrors.IsUnsupportedMediaType,
		},
		"Force": {
			reason: "Only server-side apply can be forced.",
			do: func(ctx context.Context, c client.Client) error {
				return c.Patch(ctx, newVolume("a"), client.RawPatch(types.MergePatchType, []byte(`{}`)),
					&client.PatchOptions{Force: &force})
			},
			want: kerrors.IsInvalid,
		},
		"Field": {
			reason: "Fields are selected by name and namespace alone.",
			do: func(ctx context.Context, c client.Client) error {
				return c.List(ctx, &volume.List{}, client.MatchingFields{"spec.sizeGiB": "1"})
			},
			want: kerrors.IsBadRequest,
		},
		"NoStatus": {
			reason: "A type without a status has no such subresource.",
			do: func(ctx context.Context, c client.Client) error {
				return c.Status().Update(ctx,
					&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
			},
			want: kerrors.IsNotFound,
		},
		"NotServed": {
			reason: "A kind without a store is no match.",
			do: func(ctx context.Context, c client.Client) error {
				return c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, &corev1.Secret{})
			},
			want: meta.IsNoMatchError,
		},
		"TooLarge": {
			reason: "A value the store does not take is the answer of a server with a limit.",
			do: func(ctx context.Context, c client.Client) error {
				v := newVolume("large")
				v.Annotations = map[string]string{"example.com/x": strings.Repeat("x", 32<<10)}

				return c.Create(ctx, v)
			},
			want: kerrors.IsRequestEntityTooLargeError,
		},
		"NoNamespace": {
			reason: "An object of a kind with namespaces has one.",
			do: func(ctx context.Context, c client.Client) error {
				return c.Create(ctx, &volume.Volume{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
			},
			want: kerrors.IsInvalid,
		},
		"BadName": {
			reason: "A name is that of a domain.",
			do:     func(ctx context.Context, c client.Client) error { return c.Create(ctx, newVolume("A b")) },
			want:   kerrors.IsInvalid,
		},
		"WrongType": {
			reason: "What does not fit the type is not stored.",
			do: func(ctx context.Context, c client.Client) error {
				return c.Patch(ctx, newVolume("a"),
					client.RawPatch(types.MergePatchType, []byte(`{"spec":{"sizeGiB":"much"}}`)))
			},
			want: kerrors.IsInvalid,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Create(newVolume("a"))
			if err := tc.do(t.Context(), w.API); !tc.want(err) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
			w.Read(newVolume("a"))
		})
	}
}

func TestForms(t *testing.T) {
	w := newWorld(t)
	v := newVolume("a")
	v.Labels = map[string]string{"app": "x"}
	v.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "1234", Controller: new(true),
		BlockOwnerDeletion: new(false),
	}}
	w.Create(v)
	key := client.ObjectKeyFromObject(v)

	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(volume.GroupVersion.WithKind("Volume"))
	w.Must(w.API.Get(t.Context(), key, u))
	u.Object["spec"].(map[string]any)["unknown"] = "kept"
	w.Must(w.API.Update(t.Context(), u))

	w.Read(v)
	w.Must(w.API.Patch(t.Context(), v, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"sizeGiB":2}}`))))
	w.Must(w.API.Get(t.Context(), key, u))
	want := map[string]any{"sizeGiB": int64(2), "unknown": "kept"}
	if diff := cmp.Diff(want, u.Object["spec"]); diff != "" {
		t.Errorf("a patch by a program that knows less erases nothing (-want +got):\n%s", diff)
	}

	p := &metav1.PartialObjectMetadata{}
	p.SetGroupVersionKind(volume.GroupVersion.WithKind("Volume"))
	w.Must(w.API.Get(t.Context(), key, p))
	if diff := cmp.Diff(v.OwnerReferences, p.OwnerReferences); diff != "" || p.Generation != 3 {
		t.Errorf("generation %d, want 3, and the owners as they were given (-want +got):\n%s", p.Generation, diff)
	}
	w.Must(w.API.Patch(t.Context(), p, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"app":"y"}}}`))))

	lists := map[string]client.ObjectList{
		"typed": &volume.List{}, "unstructured": &unstructured.UnstructuredList{},
		"metadata": &metav1.PartialObjectMetadataList{},
	}
	for name, list := range lists {
		if name != "typed" {
			list.GetObjectKind().SetGroupVersionKind(volume.GroupVersion.WithKind("VolumeList"))
		}
		w.Must(w.API.List(t.Context(), list, client.MatchingLabels{"app": "y"}, client.InNamespace("default")))
		if n := meta.LenList(list); n != 1 || list.GetResourceVersion() == "" {
			t.Errorf("%s: %d objects, version %q", name, n, list.GetResourceVersion())
		}
		w.Must(w.API.List(t.Context(), list, client.MatchingLabels{"app": "x"}))
		if n := meta.LenList(list); n != 0 {
			t.Errorf("%s: %d objects of another label", name, n)
		}
	}
}

func TestLists(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"b", "a"} {
		w.Create(newVolume(name))
	}
	other := newVolume("a")
	other.Namespace = "default-too"
	w.Create(other)
	w.Must(w.volumes.Write("default/broken", []byte(`{"metadata":{},"spec":{"sizeGiB":"much"}}`)))

	cases := map[string]struct {
		reason string
		o      []client.ListOption
		want   []string
	}{
		"All": {"What cannot be read is left out.", nil, []string{"default-too/a", "default/a", "default/b"}},
		"Namespace": {"A namespace is not a prefix of others.", []client.ListOption{client.InNamespace("default")},
			[]string{"default/a", "default/b"}},
		"Name": {"The name is a field.", []client.ListOption{client.MatchingFields{"metadata.name": "a"}},
			[]string{"default-too/a", "default/a"}},
		"NamespaceField": {
			"So is the namespace.",
			[]client.ListOption{client.MatchingFields{"metadata.namespace": "default-too"}},
			[]string{"default-too/a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			list := &volume.List{}
			w.Must(w.API.List(t.Context(), list, tc.o...))
			var got []string
			for _, v := range list.Items {
				got = append(got, v.Namespace+"/"+v.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if w.logged() == 0 {
		t.Error("an unreadable entry was not logged")
	}
	if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "broken"},
		newVolume("")); !kerrors.IsInternalError(err) {
		t.Errorf("got %v for what cannot be read", err)
	}
}

func TestOtherKinds(t *testing.T) {
	w := newWorld(t)
	c := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "c-"},
		Data:       map[string]string{"a": "1"},
	}
	w.Create(c)
	if !strings.HasPrefix(c.Name, "c-") || len(c.Name) != 7 || c.Generation != 0 {
		t.Errorf("a built-in kind: name %q, generation %d", c.Name, c.Generation)
	}
	c.ResourceVersion, c.Data = "", map[string]string{"a": "2"}
	w.Must(w.API.Update(t.Context(), c)) // without a version, as built-in kinds allow

	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	w.Create(n)
	if namespaced, err := w.API.IsObjectNamespaced(n); namespaced || err != nil {
		t.Errorf("IsObjectNamespaced: %v, %v", namespaced, err)
	}
	w.Must(w.API.Get(t.Context(), client.ObjectKey{Name: "default"}, n))
	w.Create(newVolume("a"))
	w.Create(newVolume("b"))
	w.Must(w.API.DeleteAllOf(t.Context(), &volume.Volume{}, client.InNamespace("default")))
	list := &volume.List{}
	w.Must(w.API.List(t.Context(), list))
	if len(list.Items) != 0 {
		t.Errorf("left by DeleteAllOf: %d", len(list.Items))
	}
}

// TestPatchesWithoutAVersion checks that no concurrent patch without a version is lost.
func TestPatchesWithoutAVersion(t *testing.T) {
	w := newWorld(t)
	w.Create(newVolume("a"))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/%d":"x"}}}`, i)
			if err := w.API.Patch(t.Context(), newVolume("a"),
				client.RawPatch(types.MergePatchType, patch)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	v := newVolume("a")
	w.Read(v)
	if len(v.Annotations) != 4 {
		t.Errorf("annotations: %v", v.Annotations)
	}
}

func TestServeNothingWrong(t *testing.T) {
	w := newWorld(t)
	cases := map[string]struct {
		reason string
		kinds  []kube.Kind
		scheme *runtime.Scheme
	}{
		"Twice": {"Two stores of a kind would be two truths.", []kube.Kind{
			kube.Serve(w.volumes), kube.Serve(memory.New[*kube.Envelope[*volume.Volume]]("more")),
		}, w.scheme},
		"Unknown": {"A type that the scheme does not know has no kind.", []kube.Kind{kube.Serve(w.volumes)},
			runtime.NewScheme()},
		"Empty": {"A Kind is made by Serve.", []kube.Kind{{}}, w.scheme},
		"Interface": {"What cannot be made cannot be read.", []kube.Kind{
			kube.Serve(memory.New[*kube.Envelope[client.Object]]("any")),
		}, w.scheme},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := kube.NewClient(tc.scheme, tc.kinds); err == nil {
				t.Error(tc.reason)
			}
		})
	}
}

func TestErrorsOfTheStoreArePassedOn(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.API.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, newVolume("")); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
}

package apiserver

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
)

// TestDecoded checks that a typed object equals that of apimachinery's converter for any value at any place of an
// image, and that both return an error in the same cases.
func TestDecoded(t *testing.T) {
	metadata := map[string]any{
		"name": "first", "namespace": "default", "uid": "1", "generation": int64(1), "deletionGracePeriodSeconds": int64(0),
		"creationTimestamp": "2000-01-01T00:00:00Z", "deletionTimestamp": "2000-01-01T00:00:00+01:00",
		"labels": map[string]any{"a": "b"}, "annotations": map[string]any{}, "finalizers": []any{"a", "b"},
		"ownerReferences": []any{map[string]any{"name": "a", "controller": true}},
	}
	condition := map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": "2000-01-01T00:00:00Z",
		"observedGeneration": int64(2)}
	for name, tc := range map[string]struct {
		of    client.Object
		image map[string]any
		slow  bool
	}{
		"bucket": {&bucket.Bucket{}, map[string]any{
			"apiVersion": "v1", "kind": "Bucket", "metadata": metadata, "unknown": "x",
			"spec": map[string]any{"size": int64(3), "parentRef": map[string]any{"name": "a"},
				"parentSelector": map[string]any{"matchLabels": map[string]any{"a": "b"}}},
			"status": map[string]any{"id": "a", "size": int64(3), "conditions": []any{condition, condition}},
		}, false},
		"replica": {&bucket.Replica{},
			map[string]any{"metadata": metadata, "spec": map[string]any{"size": int64(3)}, "status": map[string]any{}}, false},
		"secret": {&corev1.Secret{},
			map[string]any{"metadata": metadata, "type": "Opaque", "immutable": true, "stringData": map[string]any{"a": "b"}},
			false},
		"bytes": {&corev1.Secret{}, map[string]any{"metadata": metadata, "data": map[string]any{"a": "Yg=="}}, true},
		"own": {&metav1.PartialObjectMetadata{},
			map[string]any{"metadata": map[string]any{
				"managedFields": []any{map[string]any{"fieldsV1": map[string]any{"f:a": map[string]any{}}}}}}, true},
	} {
		k := newKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: name}, reflect.TypeOf(tc.of).Elem())
		if known := k.decoder(tc.image, reflect.New(k.typ).Elem()); known == tc.slow {
			t.Errorf("%s: it is decoded without the converter: %t", name, known)
		}
		different(tc.image, func(image map[string]any) { expectDecoded(t, k, image) })
	}
}

func expectDecoded(t *testing.T, k *kind, image map[string]any) {
	t.Helper()
	want, err := k.empty()
	if err != nil {
		t.Fatal(err)
	}
	wrong := runtime.DefaultUnstructuredConverter.FromUnstructured(image, want)
	want.GetObjectKind().SetGroupVersionKind(k.GVK)
	got, err := k.decode(image)
	if (err == nil) != (wrong == nil) || err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%v: got %+v, %v, want %+v, %v", image, got, err, want, wrong)
	}
}

// different calls a function with an image, and with each that has another value at one place.
func different(image map[string]any, use func(map[string]any)) {
	use(image)
	for key, value := range image {
		with := func(other any) {
			changed := maps.Clone(image)
			changed[key] = other
			use(changed)
		}
		for _, other := range []any{
			nil, "", "x", "\xff", "2000-01-01T00:00:00.5Z", true, int64(7), int64(1) << 40, 1.5, 2.0, []any(nil), []any{},
			[]any{nil}, []any{"x", int64(1)},
			map[string]any(nil), map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": int64(1)},
			[]any{map[string]any{"type": int64(1)}},
		} {
			with(other)
		}
		switch v := value.(type) {
		case map[string]any:
			different(v, func(below map[string]any) { with(below) })
		case []any:
			for i, item := range v {
				if below, ok := item.(map[string]any); ok {
					different(below, func(other map[string]any) { with(slices.Concat(v[:i:i], []any{other}, v[i+1:])) })
				}
			}
		}
	}
}

package apiserver_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// TestUnstructured checks that an object is created and read without its type, as it is with its type.
func TestUnstructured(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := bucket.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	c := apiserver.New(kinds, testingclock.NewFakePassiveClock(time.Unix(1e9, 0))).Client()
	created := &unstructured.Unstructured{}
	created.SetGroupVersionKind(bucket.GroupVersion.WithKind("Bucket"))
	created.SetNamespace("default")
	created.SetName("first")
	created.SetAnnotations(map[string]string{"example.org/color": "red"})
	if err := c.Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}

	typed := &bucket.Bucket{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(created), typed); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(created.GetAnnotations(), typed.GetAnnotations()); diff != "" {
		t.Errorf("read with its type (-created +read):\n%s", diff)
	}

	read := &unstructured.Unstructured{}
	read.SetGroupVersionKind(bucket.GroupVersion.WithKind("Bucket"))
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(created), read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(created.Object, read.Object); diff != "" {
		t.Errorf("read without its type (-created +read):\n%s", diff)
	}

	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(bucket.GroupVersion.WithKind("BucketList"))
	if err := c.List(t.Context(), list); err != nil || len(list.Items) != 1 {
		t.Fatalf("a list without its type: %d objects, %v", len(list.Items), err)
	}
	if diff := cmp.Diff(created.Object, list.Items[0].Object); diff != "" {
		t.Errorf("listed without its type (-created +listed):\n%s", diff)
	}

	read.SetAnnotations(nil)
	if got := created.GetAnnotations()["example.org/color"]; got != "red" {
		t.Errorf("the response shares memory with another one: the annotation is %q", got)
	}
	err := c.Get(t.Context(), client.ObjectKeyFromObject(created), &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: bucket.GroupVersion.String(), Kind: "Bucket"}})
	if err == nil {
		t.Error("a type that is not supported is no error")
	}
}

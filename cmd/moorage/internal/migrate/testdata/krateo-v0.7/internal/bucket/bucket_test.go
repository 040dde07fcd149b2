package bucket

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	commonv1 "github.com/krateoplatformops/provider-runtime/apis/common/v1"
	"github.com/krateoplatformops/provider-runtime/pkg/controller"
	"github.com/krateoplatformops/provider-runtime/pkg/logging"
	"github.com/krateoplatformops/provider-runtime/pkg/resource/fake"

	"example.org/provider-bucket/apis/v1alpha1"
	"example.org/provider-bucket/internal/storage"
)

// TestLife creates, changes and deletes a bucket.
func TestLife(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}

	bucket := &v1alpha1.Bucket{ObjectMeta: metav1.ObjectMeta{Name: "ship", Namespace: "default", UID: "1"}}
	kube := clientfake.NewClientBuilder().WithScheme(scheme).WithObjects(bucket).WithStatusSubresource(bucket).Build()
	h := &storage.Storage{}
	r := Reconciler(&fake.Manager{Client: kube, Scheme: scheme}, controller.Options{Logger: logging.NewNopLogger(), PollInterval: time.Minute}, h)
	key := client.ObjectKeyFromObject(bucket)

	pass := func() {
		t.Helper()

		for range 3 {
			if _, err := r.Reconcile(context.Background(), ctrl.Request{NamespacedName: key}); err != nil {
				t.Fatal(err)
			}
		}
	}

	pass()

	if err := kube.Get(context.Background(), key, bucket); err != nil {
		t.Fatal(err)
	}

	if ready := bucket.GetCondition(commonv1.TypeReady); ready.Reason != commonv1.ReasonAvailable {
		t.Errorf("Ready is %v", ready)
	}

	length := 25
	bucket.Spec.Length = &length

	if err := kube.Update(context.Background(), bucket); err != nil {
		t.Fatal(err)
	}

	pass()

	if got, err := h.Length("ship"); got != 25 || err != nil {
		t.Errorf("the length is %d, %v", got, err)
	}

	if err := kube.Delete(context.Background(), bucket); err != nil {
		t.Fatal(err)
	}

	pass()

	if _, err := h.Length("ship"); err != storage.ErrNotFound {
		t.Errorf("the bucket is still there: %v", err)
	}

	if err := kube.Get(context.Background(), key, bucket); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the object is still there: %v", err)
	}
}

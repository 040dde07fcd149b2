package storecontroller

import (
	"context"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// TestKubeSecondaryRemove checks that an object that was changed or deleted meanwhile is left to the next pass; an
// unknown result is an error.
func TestKubeSecondaryRemove(t *testing.T) {
	secrets := corev1.Resource("secrets")
	for reason, tc := range map[string]struct {
		answer error
		fails  bool
	}{
		"it is deleted": {},
		"it is gone":    {answer: apierrors.NewNotFound(secrets, "a")},
		"it is another": {answer: apierrors.NewConflict(secrets, "a", errors.New("another version"))},
		"a proxy answers": {answer: apierrors.NewGenericServerResponse(http.StatusNotFound, http.MethodDelete,
			secrets, "a", "404 page not found", 0, true), fails: true},
		"the API server has an error": {answer: apierrors.NewInternalError(errors.New("boom")), fails: true},
	} {
		c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
			Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return tc.answer },
		})
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "1", ResourceVersion: "1"}}
		err := kubeSecondary(c, "Secret", store.Owner{}, secret).remove(t.Context())
		if (err != nil) != tc.fails {
			t.Errorf("%s: got %v, want an error %t", reason, err, tc.fails)
		}
	}
}

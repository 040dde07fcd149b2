package managed_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

var volumes = schema.GroupResource{Group: "test.moorage.dev", Resource: "volumes"}

// unserved is what a client makes of a 404 that is not about an object.
func unserved() error {
	return kerrors.NewGenericServerResponse(http.StatusNotFound, "patch", volumes, key.Name, "404 page not found", 0,
		true)
}

// TestA404ThatIsNotAboutTheObject verifies that a 404 of a proxy, or of an API server that does not know the kind
// yet, deletes nothing, and that the object recovers.
func TestA404ThatIsNotAboutTheObject(t *testing.T) {
	for class, options := range map[string][]managed.ReconcilerOption{
		"opaque": nil, "named": {managed.WithDeterministicExternalName(true)}, "token": {managed.WithCreationTokens()},
	} {
		for n := 1; ; n++ {
			writes := 0
			w := newWorld(t, options...)
			w.cloud.Tokens = class == "token"
			w.answer = func(context.Context, string) error {
				if writes++; writes == n {
					return unserved()
				}

				return nil
			}
			passes := func(until func() bool) {
				for i := 0; i < 8 && !until(); i++ {
					result, err := w.try()
					if after := result.RequeueAfter; after > 0 {
						w.clock.SetTime(w.clock.Now().Add(after))
					} else if err == nil && !result.Requeue && //nolint:staticcheck // it is what a conflict is answered by
						!w.gone() {
						t.Errorf("%s: write %d answered by a 404 that is not about the object: the pass ended well, and no other is "+
							"to come", class, n)
					}
				}
			}
			w.create(nil)
			passes(func() bool {
				return w.get().GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue && writes >= n
			})
			if got := len(w.cloud.Disks()); got != 1 || w.cloud.Count("Create") != 1 || w.cloud.Count("Delete") != 0 {
				t.Errorf("%s: write %d answered by a 404 that is not about the object: %d disks, %d creations, %d deletions",
					class, n, got,
					w.cloud.Count("Create"), w.cloud.Count("Delete"))
			}
			w.condition(commonv1.TypeReady, "True/Available")
			w.delete()
			passes(w.gone)
			if got := len(w.cloud.Disks()); got != 0 || !w.gone() {
				t.Errorf("%s: write %d answered by a 404 that is not about the object: %d disks of a deleted object, gone %t",
					class, n, got, w.gone())
			}
			if writes < n {
				break // it was not answered at all
			}
		}
	}
}

// TestAKindWithoutAStatus verifies that a kind without a status subresource is reported once, and that nothing is
// deleted or created again.
func TestAKindWithoutAStatus(t *testing.T) {
	w := newWorld(t)
	w.answer = func(_ context.Context, note string) error {
		if strings.HasPrefix(note, "patch status") {
			return kerrors.NewNotFound(volumes, key.Name)
		}

		return nil
	}
	w.create(nil)
	for range 4 {
		if _, err := w.try(); err == nil || !strings.Contains(err.Error(), "subresource") {
			t.Errorf("the pass answered %v, which does not say what to check", err)
		}
	}
	_, calls, events := w.taken()
	if got := mutating(calls); got != "Create" || len(w.cloud.Disks()) != 1 {
		t.Errorf("calls %q, disks %v", calls, w.cloud.Disks())
	}
	if n := strings.Count(events, "Warning/CannotUpdateManagedResource"); n != 1 {
		t.Errorf("told %d times: %s", n, events)
	}
}

package trials

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestOutsideMadeAnewWithinCreate removes the object by force during Create and creates it anew
// (kubectl replace --force, a finalizer removed by hand). The resource of the first object is
// deleted, and the second object has one of its own.
func TestOutsideMadeAnewWithinCreate(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if v := w.get(); call == "Create" && v.UID == "uid-1" {
				v.SetFinalizers(nil)
				w.Must(w.API.Update(w.Context(), v))
				w.Delete(atKey())
				w.create(func(v *volume.Volume) { v.UID = "uid-2" })
			}

			return nil
		}
		w.answer = func(r write) error {
			metadata, _ := r.body["metadata"].(map[string]any)
			if uid, now := metadata["uid"], w.get().UID; uid != nil && uid != string(now) {
				return kerrors.NewInvalid(volume.GroupVersion.WithKind("Volume").GroupKind(), key.Name,
					field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
			}

			return nil
		}
		w.create()
		w.run(10 * time.Minute)
		w.run(10 * time.Minute) // the second object is enqueued
		w.isReady()
	})
}

// A middlebox answers the first patch of an object with success, and does not forward it.
type middlebox struct {
	http.RoundTripper

	body string
	done bool
}

// RoundTrip answers a request.
func (m *middlebox) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.done || r.Method != http.MethodPatch || strings.HasSuffix(r.URL.Path, "/status") {
		return m.RoundTripper.RoundTrip(r)
	}
	m.done = true

	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewBufferString(m.body)),
	}, nil
}

// TestOutsideSuccessWithoutAnObject answers the write before Create with success and something
// else than the object, and stores nothing. Create is not called before the write is stored.
func TestOutsideSuccessWithoutAnObject(t *testing.T) {
	each(t, classes, func(w *world) {
		for _, body := range []string{`{}`, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`} {
			story := w.again()
			config := newPlane(100).config()
			box := &middlebox{RoundTripper: config.Transport, body: body}
			config.Transport = box
			mapper := apimeta.NewDefaultRESTMapper(nil)
			mapper.Add(volume.GroupVersion.WithKind("Volume"), apimeta.RESTScopeNamespace)
			c, err := client.NewWithWatch(config, client.Options{Scheme: newScheme(w.t), Mapper: mapper})
			w.Must(err)
			story.plug(c)
			story.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
				if call == "Create" && len(story.get().GetFinalizers()) == 0 {
					w.Errorf("answered with %s: Create is called, and no finalizer is stored", body)
				}

				return nil
			}
			story.create()
			story.run(10 * time.Minute)
			if !ready(story.get()) || !box.done {
				w.Errorf("answered with %s: %t, and it says %+v", body, box.done,
					story.get().GetCondition(commonv1.TypeSynced))
			}
		}
	})
}

package trials

import (
	"context"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestD9OutageAfterCreate makes the API server unavailable for a minute after a Create. The
// process that called Create still knows the name: the object gets it.
func TestD9OutageAfterCreate(t *testing.T) {
	each(t, classes, func(w *world) {
		var back time.Time
		w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Create" && back.IsZero() {
				back = time.Now().Add(time.Minute)
			}

			return nil
		}
		away := func() error {
			if time.Now().Before(back) {
				return kerrors.NewServiceUnavailable("the API server is being upgraded")
			}

			return nil
		}
		w.live, w.answer = away, func(write) error { return away() }
		w.create()
		w.run(15 * time.Minute)
		w.isReady()
	})
}

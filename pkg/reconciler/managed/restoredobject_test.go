package managed_test

import (
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestARestoreIsNoticedByALiveRead verifies that an older resource version in a live read means that the API server
// was restored: nothing is decided, and the detector is notified.
func TestARestoreIsNoticedByALiveRead(t *testing.T) {
	d := controller.NewRestoreDetector()
	w := newWorld(t, managed.WithRestoreDetector(d))
	w.create(nil)
	before := w.get()
	w.pass()
	w.taken()

	w.lag = before
	if _, err := w.try(); err != nil || d.Restored() != nil {
		t.Fatalf("a cache that lags behind is taken for a restore: %v, %v", err, d.Restored())
	}
	w.taken()

	w.restored = before
	_, err := w.try()
	if !errors.Is(err, controller.ErrRestored) || !errors.Is(d.Restored(), controller.ErrRestored) {
		t.Errorf("the pass ends with %v, the detector knows %v", err, d.Restored())
	}
	w.expect("", "", "")
}

// TestAnAnswerAboutAnotherObjectIsNoRestore verifies that an answer about another object is an error, and no
// restore.
func TestAnAnswerAboutAnotherObjectIsNoRestore(t *testing.T) {
	for _, far := range []func(*volume.Volume){func(v *volume.Volume) { v.Name = "other" },
		func(v *volume.Volume) { v.Namespace = "other" }} {
		d := controller.NewRestoreDetector()
		w := newWorld(t, managed.WithRestoreDetector(d))
		w.create(nil)
		before := w.get()
		w.pass()
		w.lag = before
		w.restored = before.DeepCopyObject().(*volume.Volume)
		far(w.restored)
		if _, err := w.try(); err == nil || !strings.Contains(err.Error(), "the answer is not about it") ||
			d.Restored() != nil {
			t.Errorf("the pass ends with %v, the detector knows %v", err, d.Restored())
		}
	}
}

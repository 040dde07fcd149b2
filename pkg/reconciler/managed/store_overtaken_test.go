package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// refusedAfter refuses each Create, after something has happened.
func refusedAfter(meanwhile func()) func(context.Context, string, resource.Managed) error {
	return func(_ context.Context, call string, _ resource.Managed) error {
		if call != "Create" {
			return nil
		}
		meanwhile()

		return external.NotCreated(errLost)
	}
}

// TestARefusalIsWrittenOverItsOwnAttemptAlone verifies that a delayed process does not store its failed creation
// over the attempt of another, or a change by a user.
func TestARefusalIsWrittenOverItsOwnAttemptAlone(t *testing.T) {
	changed := func(of func(*volume.Volume)) func(*world) { return func(w *world) { w.change(of) } }
	const attempt, pending = meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyExternalCreatePending
	for name, c := range map[string]struct {
		meanwhile func(*world)
		want      string // what the attempt ends in
		creates   int    // in two more passes
	}{
		"nothing":       {func(*world) {}, "/failed", 1},
		"a user's edit": {changed(func(v *volume.Volume) { v.Spec.SizeGiB++ }), "/failed", 1},
		"a result": {changed(func(v *volume.Volume) { v.Annotations[attempt] += "/succeeded" }),
			"/succeeded", 0},
		"another attempt": {changed(func(v *volume.Volume) { v.Annotations[attempt] = "0badcafe" }),
			"0badcafe", 0},
		"the same attempt, once again": {changed(func(
			v *volume.Volume) {
			v.Annotations[pending] = "2126-01-01T00:00:00Z"
		}), "-", 0},
		"its own answer, lost": {func(w *world) {
			w.answer = func(ctx context.Context, note string) error {
				if !strings.Contains(note, "/failed") {
					return nil
				}
				w.answer = nil
				patch := client.RawPatch(types.MergePatchType, []byte(strings.TrimPrefix(note, "patch ")))
				if err := w.API.Patch(ctx, w.get(), patch); err != nil {
					t.Error(err)
				}

				return kerrors.NewTimeoutError("no answer", 0)
			}
		}, "/failed", 1},
	} {
		for _, updater := range []bool{false, true} {
			if updater && name == "its own answer, lost" {
				continue // the author's updater is asked once
			}
			w := newWorld(t)
			if updater {
				w.o = append(w.o, managed.WithCriticalAnnotationUpdater(managed.NewRetryingCriticalAnnotationUpdater(w.API)))
				w.restart()
			}
			w.create(nil)
			w.cloud.Before = refusedAfter(func() { c.meanwhile(w) })
			_, _ = w.try()
			w.cloud.Before = nil
			got := w.get().Annotations[attempt]
			if at := strings.Index(got, "/"); !strings.HasSuffix(got, c.want) && (c.want != "-" || at >= 0) {
				t.Errorf("%s, updater %t: the attempt is %q, want %q", name, updater, got, c.want)
			}
			w.taken()
			for range 2 {
				_, _ = w.try()
				w.clock.SetTime(w.clock.Now().Add(time.Second))
			}
			if _, calls, _ := w.taken(); strings.Count(calls, "Create") != c.creates {
				t.Errorf("%s, updater %t: afterwards %s", name, updater, calls)
			}
		}
	}
}

// TestTheLookBeforeAnUpdaterIsRepeated verifies that the read before an author's updater is retried.
func TestTheLookBeforeAnUpdaterIsRepeated(t *testing.T) {
	w := newWorld(t)
	w.o = append(w.o, managed.WithCriticalAnnotationUpdater(managed.NewRetryingCriticalAnnotationUpdater(w.API)))
	w.restart()
	w.create(nil)
	w.cloud.Before = refusedAfter(func() { w.failLive = 2 })
	_, _ = w.try()
	if got := w.get().Annotations[meta.AnnotationKeyCreateAttempt]; !strings.HasSuffix(got, "/failed") ||
		w.failLive != 0 {
		t.Errorf("the attempt is %q, and %d looks are still to fail", got, w.failLive)
	}
}

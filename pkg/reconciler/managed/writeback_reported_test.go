package managed_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// rewoundOnce runs a story for one class in virtual time.
func rewoundOnce(t *testing.T, story func(w *rewinding)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &rewinding{world: newWorld(t)}
		w.begins()
		story(w)
	})
}

// reported counts the log lines that contain a text.
func (w *rewinding) reported(text string) (n int) {
	for _, line := range w.logged {
		if strings.Contains(line, text) {
			n++
		}
	}

	return n
}

// crowdRewound creates objects and their resources, and puts all objects back to before that.
func (w *rewinding) crowdRewound(n int) (keys []client.ObjectKey) {
	w.Helper()
	for i := range n {
		v := atKey()
		v.Name, v.UID, v.Generation, v.Spec.SizeGiB = fmt.Sprintf("v%02d", i), types.UID(fmt.Sprintf("uid-%d", i)), 1, 1
		w.Create(v)
		key := client.ObjectKeyFromObject(v)
		snapshot := v.DeepCopyObject().(*volume.Volume)
		_, err := w.r.Reconcile(w.Context(), reconcile.Request{NamespacedName: key})
		w.Must(err)
		w.Read(v)
		v.SetFinalizers(nil)
		w.Must(w.API.Update(w.Context(), v))
		w.Must(w.API.Delete(w.Context(), v))
		snapshot.SetResourceVersion("")
		w.Create(snapshot)
		keys = append(keys, key)
	}

	return keys
}

const (
	writtenBack = "were written back"
	notWritten  = "is not written back"
)

// TestARestoreIsWrittenBackTogether verifies that records are written back four at a time, and counted in the log.
func TestARestoreIsWrittenBackTogether(t *testing.T) {
	rewoundOnce(t, func(w *rewinding) {
		keys := w.crowdRewound(6)
		var now, most atomic.Int32
		w.answer = func(context.Context, string) error {
			most.Store(max(most.Load(), now.Add(1)))
			<-time.After(100 * time.Millisecond)
			now.Add(-1)

			return nil
		}
		began := time.Now()
		w.ends()
		if took := time.Since(began); took != 200*time.Millisecond || most.Load() != 4 {
			w.Errorf("it took %s, %d at a time", took, most.Load())
		}
		for _, key := range keys {
			v := &volume.Volume{}
			w.Must(w.API.Get(w.Context(), key, v))
			if v.Annotations[meta.AnnotationKeyExternalName] == "" {
				w.Errorf("%s: %v", key, v.Annotations)
			}
		}
		if !w.said(writtenBack, `"objects"=6`) || w.reported(notWritten) != 0 {
			w.Errorf("logged: %q", w.logged)
		}
	})
}

// TestARestoreOfNothing verifies that an empty memory needs no request, and complete records no log.
func TestARestoreOfNothing(t *testing.T) {
	rewoundOnce(t, func(w *rewinding) {
		w.failList = errLost
		began := time.Now()
		if w.ends(); time.Since(began) != 0 || w.reported(writtenBack)+w.reported(notWritten) != 0 {
			w.Errorf("after %s, logged: %q", time.Since(began), w.logged)
		}
	})
	rewoundOnce(t, func(w *rewinding) {
		w.create(nil)
		w.pass()
		if w.ends(); !w.said(writtenBack, `"objects"=0`) {
			w.Errorf("logged: %q", w.logged)
		}
	})
}

// TestUnwrittenRecordsAreReported verifies that unwritten records are reported twice, with their number, twenty
// names and the cause.
func TestUnwrittenRecordsAreReported(t *testing.T) {
	rewoundOnce(t, func(w *rewinding) {
		w.crowdRewound(25)
		w.answer = func(context.Context, string) error { return errLost }
		w.ends()
		named := 0
		for _, line := range w.logged {
			if strings.Contains(line, notWritten) {
				named = strings.Count(line, "default/v")
			}
		}
		if w.reported(notWritten) != 2 || named != 20 || !w.said(notWritten, `"objects"=25`, errLost.Error()) {
			w.Errorf("told %d times, with %d names: %q", w.reported(notWritten), named, w.logged)
		}
	})
	rewoundOnce(t, func(w *rewinding) {
		w.create(nil)
		back, ended := make(chan struct{}), make(chan struct{})
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Create" {
				<-back
			}

			return nil
		}
		go func() {
			defer close(ended)
			_, _ = w.try()
		}()
		synctest.Wait()
		w.ends()
		if !w.said(notWritten, `"objects"=1`, "default/data", "a pass is under way") ||
			!w.said(writtenBack, `"objects"=0`) {
			w.Errorf("logged: %q", w.logged)
		}
		close(back)
		<-ended
	})
}

// TestAnObjectThatChangesWhileItIsWrittenBack verifies that a changed object is read again and written.
func TestAnObjectThatChangesWhileItIsWrittenBack(t *testing.T) {
	for name, other := range map[string]*volume.Volume{"read": nil, "another": {}} {
		rewoundOnce(t, func(w *rewinding) {
			w.create(nil)
			snapshot := w.get()
			w.pass()
			w.rewind(snapshot)
			first := true
			w.answer = func(context.Context, string) error {
				if first {
					first = false
					w.change(func(v *volume.Volume) { v.Labels = map[string]string{"a": "b"} })
					w.restored = other
				}

				return nil
			}
			w.taken()
			began := time.Now()
			w.ends()
			took, v := time.Since(began), w.get()
			if other != nil {
				if took < 20*time.Second || !w.said(notWritten, "the answer is not about it") {
					w.Errorf("%s: after %s, logged: %q", name, took, w.logged)
				}

				return
			}
			w.expect("patch, patch", "", "")
			if took != 200*time.Millisecond || v.Annotations[meta.AnnotationKeyExternalName] != "vol-1" ||
				v.Labels["a"] != "b" || w.reported(notWritten) != 0 {
				w.Errorf("%s: after %s the object is %+v, logged: %q", name, took, v.ObjectMeta, w.logged)
			}
		})
	}
}

// TestAnObjectThatGoesWhileItIsWrittenBack verifies that a deleted object is reported with its leftover.
func TestAnObjectThatGoesWhileItIsWrittenBack(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		rewoundOnce(t, func(w *rewinding) {
			w.create(nil)
			snapshot := w.get()
			w.pass()
			w.rewind(snapshot)
			first := true
			w.answer = func(context.Context, string) error {
				if !first {
					return nil
				}
				first = false
				if w.Delete(w.get()); replaced {
					w.create(func(v *volume.Volume) { v.UID = "uid-2" })
				}

				return errLost
			}
			w.taken()
			began := time.Now()
			w.ends()
			w.expect("patch", "", "")
			if took := time.Since(began); took != 200*time.Millisecond || w.reported("not in the restored state") != 1 ||
				!w.said(writtenBack, `"objects"=0`) {
				w.Errorf("replaced %t: after %s, logged: %q", replaced, took, w.logged)
			}
		})
	}
}

// TestARestoreOfWhatTheCacheAloneKnows verifies that an object that is only cached is reported with its leftover.
func TestARestoreOfWhatTheCacheAloneKnows(t *testing.T) {
	for _, another := range []bool{false, true} {
		rewoundOnce(t, func(w *rewinding) {
			w.o = append(w.o, managed.WithSpreadAfterRestart(true))
			w.create(nil)
			w.pass()
			w.begins()
			w.pass() // which is put off
			if w.lag = w.get(); another {
				w.lag.UID = "uid-2"
			}
			w.rewind(nil)
			w.logged = nil
			w.ends()
			if got := w.said("not in the restored state", `"externalName"="vol-1"`); got == another {
				w.Errorf("another %t: logged: %q", another, w.logged)
			}
		})
	}
}

// TestARestoreOfWhatAnotherRuntimeBegan verifies that the pending mark of another runtime is restored.
func TestARestoreOfWhatAnotherRuntimeBegan(t *testing.T) {
	const when = "2026-01-02T03:04:05Z"
	rewoundOnce(t, func(w *rewinding) {
		w.create(nil)
		snapshot := w.get()
		w.change(func(v *volume.Volume) {
			meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyExternalCreatePending: when})
		})
		_, _ = w.try()
		w.lag = w.get()
		w.rewind(snapshot)
		w.ends()
		if v := w.get(); v.Annotations[meta.AnnotationKeyExternalCreatePending] != when {
			w.Errorf("the record is %v", v.Annotations)
		}
	})
}

// TestARestoreOfTheSystem verifies that the backend identity is restored, also for an object without a pass.
func TestARestoreOfTheSystem(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		record  bool // is in the snapshot
		unknown bool // this process has not looked at the object yet
	}{
		"WithTheRecord": {"a snapshot from before the creation", false, false},
		"Alone":         {"it was stored after the creation", true, false},
		"FromTheCache":  {"the cache shows what the snapshot does not", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			rewoundOnce(t, func(w *rewinding) {
				w.cloud.Account = "north"
				w.o = append(w.o, managed.WithSpreadAfterRestart(tc.unknown))
				w.create(nil)
				snapshot := w.get()
				w.pass()
				if tc.record {
					snapshot = w.get()
					meta.RemoveAnnotations(snapshot, meta.AnnotationKeyBackendIdentity)
				}
				if tc.unknown {
					w.begins()
					w.pass() // which is put off
				}
				w.lag = w.get()
				w.rewind(snapshot)
				w.ends()
				got := w.get().Annotations
				if got[meta.AnnotationKeyBackendIdentity] != "north" || got[meta.AnnotationKeyExternalName] != "vol-1" {
					w.Errorf("%s: the annotations are %v", tc.reason, got)
				}
			})
		})
	}
}

// TestARestoreOfAnOperationThatTheCacheShows verifies that the operation handle is restored with the name, also for
// an object without a pass.
func TestARestoreOfAnOperationThatTheCacheShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of, c := newOperations(t, managed.WithSpreadAfterRestart(true))
		w := &rewinding{world: of}
		w.create(nil)
		snapshot := w.get()
		w.pass()
		handle := updating(of, c)
		w.begins()
		w.pass() // which is put off
		w.lag = w.get()
		w.rewind(snapshot)
		w.ends()
		if got := w.get().Annotations; handle == "" || got[meta.AnnotationKeyOperation] != handle {
			w.Errorf("the annotations are %v, want the handle %q", got, handle)
		}
	})
}

// TestWhatIsWrittenBackIsCounted verifies that a write back counts as a write of the result.
func TestWhatIsWrittenBackIsCounted(t *testing.T) {
	rewoundOnce(t, func(w *rewinding) {
		registry := prometheus.NewRegistry()
		w.o = append(w.o, managed.WithMetricsRegisterer(registry))
		w.begins()
		w.create(nil)
		snapshot := w.get()
		w.pass()
		w.rewind(snapshot)
		const name = "moorage_managed_writes_total changed=true what=result"
		before := metric(t, registry, name)
		w.taken()
		w.ends()
		w.expect("patch", "", "")
		if got := metric(t, registry, name) - before; got != 1 {
			w.Errorf("%v results were written", got)
		}
	})
}

package controllerruntime

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestLife is that of a primary, from the start to the end.
func TestLife(t *testing.T) {
	inWorld(t, func(w *world) { w.create(w.primaries, "early", ""); w.create(w.domains, "d", "early") }, func(w *world) {
		w.run()
		w.saw("garbage", "sync early")
		w.create(w.primaries, "ns/a", "")
		w.pass(time.Second)
		w.saw("sync ns/a")
		w.create(w.parts, "p", "ns/a")
		w.pass(time.Second)
		w.saw("secondary p", "sync ns/a")
		w.must(w.parts.Delete(t.Context(), "p"))
		w.pass(time.Second)
		w.saw("secondary p", "sync ns/a")
		w.create(w.domains, "e", "ns/a")
		w.pass(time.Second)
		w.saw() // tertiaries are only read
		w.must(w.primaries.Delete(t.Context(), "ns/a"))
		w.pass(time.Second)
		w.saw("sync ns/a")
		w.external.enqueue("early")
		w.pass(time.Hour)
		w.saw("sync early")
		w.end()
		w.saw("clean")
		if w.external.stopped != 1 {
			w.Errorf("the external client was stopped %d times", w.external.stopped)
		}
	})
}

// TestQueue: the promises about keys.
func TestQueue(t *testing.T) {
	inWorld(t, func(w *world) { w.workers = 4 }, func(w *world) {
		w.run()
		w.saw("garbage")
		hold := make(chan struct{})
		w.set(func(c *custom) { c.hold = hold })
		for range 3 { // one is worked on, the others are one
			w.c.rt.EnqueueKey("a", OperationPut)
			w.pass(time.Second)
		}
		w.c.rt.EnqueueKey("", OperationPut)
		w.c.rt.EnqueueKey("no key", OperationPut)
		close(hold)
		w.pass(time.Second)
		w.saw("sync a", "sync a")

		w.c.rt.EnqueueKeyAfter("b", OperationPut, time.Minute)
		w.pass(59 * time.Second)
		w.saw()
		w.pass(time.Second)
		w.saw("sync b")
		w.end()
	})
}

// TestRetry: an error is tried again, each time later, and forgotten by success.
func TestRetry(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.run()
		for range 2 {
			w.set(func(c *custom) { c.errs["a"], c.calls = errBoom, nil })
			w.c.rt.EnqueueKey("a", OperationPut)
			w.pass(10 * time.Second)
			w.set(func(c *custom) {
				if n := len(c.calls); n < 9 || n > 13 { // 5 ms, doubled each time
					w.Errorf("%d calls in ten seconds", n)
				}
				delete(c.errs, "a")
				c.calls = nil
			})
			w.pass(time.Minute)
			w.saw("sync a")
		}
		w.pass(time.Hour)
		w.saw()
		w.end()
	})
}

// TestResync: all primaries are looked at again, with the garbage.
func TestResync(t *testing.T) {
	inWorld(t, func(w *world) { w.resync = time.Hour; w.create(w.primaries, "a", ""); w.create(w.primaries, "b", "") }, func(w *world) {
		w.run()
		w.saw("garbage", "sync a", "sync b")
		w.pass(time.Hour)
		w.saw("garbage", "sync a", "sync b")
		w.pass(59 * time.Minute)
		w.saw()
		w.end()
	})
}

// TestInformers: secondaries in Kubernetes are told of as they come.
func TestInformers(t *testing.T) {
	inWorld(t, func(w *world) {
		factory := informers.NewSharedInformerFactory(w.kube, 0)
		w.informers = append(w.informers, factory.Core().V1().ConfigMaps().Informer())
		factory.Start(w.Context().Done())
		w.Cleanup(factory.Shutdown)
	}, func(w *world) {
		w.run()
		w.saw("garbage")
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "default", ResourceVersion: "1"}}
		SetOwner(obj, "thing", "ns/a")
		maps := w.kube.CoreV1().ConfigMaps("default")
		obj, err := maps.Create(t.Context(), obj, metav1.CreateOptions{})
		w.must(err)
		w.pass(time.Second)
		w.saw("secondary m", "sync ns/a")
		_, err = maps.Update(t.Context(), obj, metav1.UpdateOptions{}) // the version is the same
		w.must(err)
		w.pass(time.Second)
		w.saw()
		w.must(maps.Delete(t.Context(), "m", metav1.DeleteOptions{}))
		w.pass(time.Second)
		w.saw("secondary m", "sync ns/a")
		w.end()
	})
}

// TestNothingBeforeSync: no work is handed out before everything is known; what is
// never known is an error, and Clean is called all the same.
func TestNothingBeforeSync(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create(w.primaries, "a", "")
		factory := informers.NewSharedInformerFactory(w.kube, 0)
		w.informers = append(w.informers, factory.Core().V1().ConfigMaps().Informer()) // never started
	}, func(w *world) {
		w.run()
		w.pass(time.Minute)
		w.saw()
		select {
		case err := <-w.errs:
			if err == nil {
				t.Error("an error that is nil was sent")
			}
		case <-time.After(time.Hour):
			t.Fatal("nothing was sent")
		}
		<-w.ended
		w.saw("clean")
	})
}

// TestStart: what is wrong at the start is sent once.
func TestStart(t *testing.T) {
	cases := map[string]struct {
		reason  string
		prepare func(*world)
		custom  bool
		want    []string
		is      error
	}{
		"NoController": {reason: "There is nothing to run, and nobody to clean."},
		"External":     {reason: "What failed is told.", prepare: func(w *world) { w.external.err = errBoom }, custom: true, want: []string{"clean"}, is: errBoom},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, tc.prepare, func(w *world) {
				if tc.custom {
					w.c.rt.SetCustomController(w.c)
				}
				go func() {
					defer close(w.ended)
					w.c.rt.Run(1, w.stop, w.errs)
				}()
				err := <-w.errs
				if err == nil || tc.is != nil && !errors.Is(err, tc.is) {
					t.Errorf("%s\ngot error %v, want %v", tc.reason, err, tc.is)
				}
				<-w.ended
				w.saw(tc.want...)
			})
		})
	}
}

// TestStop: what is worked on is finished, and what cannot be told does not matter.
func TestStop(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.run()
		w.saw("garbage")
		hold := make(chan struct{})
		w.set(func(c *custom) { c.hold = hold })
		w.c.rt.EnqueueKey("a", OperationPut)
		w.pass(time.Second)
		close(w.stop)
		synctest.Wait()
		select {
		case <-w.ended:
			t.Error("it ended while it was working")
		default:
		}
		close(hold)
		<-w.ended
		w.saw("clean", "sync a")
	})
	inWorld(t, func(w *world) { w.external.err = errBoom }, func(w *world) {
		w.run() // nobody receives the error
		w.end()
		w.saw("clean")
	})
}

// TestPanics: those of the author are errors.
func TestPanics(t *testing.T) {
	for _, call := range []string{"sync a", "secondary p", "garbage", "clean"} {
		t.Run(call, func(t *testing.T) {
			inWorld(t, func(w *world) { w.c.panics = call }, func(w *world) {
				w.run()
				w.create(w.parts, "p", "a")
				w.create(w.primaries, "b", "")
				w.c.rt.EnqueueKey("a", OperationPut)
				w.pass(time.Second)
				w.set(func(c *custom) {
					if call != "clean" {
						c.panics = ""
					}
				})
				w.pass(time.Minute)
				w.set(func(c *custom) { c.calls = nil })
				w.c.rt.EnqueueKey("a", OperationPut)
				w.pass(time.Second)
				w.saw("sync a")
				w.end()
				w.saw("clean")
				if w.c.rt.runtime.Panics() == 0 {
					t.Error("the panic was not counted")
				}
			})
		})
	}
}

// TestLost: of what was lost with its store the author is not told that it is gone.
func TestLost(t *testing.T) {
	inWorld(t, func(w *world) { w.create(w.primaries, "a", "") }, func(w *world) {
		w.run()
		w.saw("garbage", "sync a")
		w.primaries.Recreate()
		w.c.rt.EnqueueKey("a", OperationPut)
		w.pass(time.Minute)
		w.c.rt.EnqueueKey("a", OperationPut)
		w.pass(time.Minute)
		w.saw()
		w.end()
	})
}

// TestTertiaryMapping: a tertiary leads to whom the function says, once there is one.
func TestTertiaryMapping(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.c.rt.SetTerciaryMapping(func(obj any) []string { return []string{obj.(*thing).Spec.Text} })
		w.run()
		w.saw("garbage")
		w.create(w.domains, "d", "a")
		w.pass(time.Second)
		w.saw("sync a")
		w.end()
	})
}

// TestEvent: an event about a primary is one about a reference.
func TestEvent(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.c.rt.Event(w.c.rt.Reference("ns/a"), "Normal", ReasonResourceSynced, "done")
		w.pass(time.Second)
		list, err := w.kube.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		w.must(err)
		if len(list.Items) != 1 || list.Items[0].InvolvedObject.Kind != "thing" || list.Items[0].Reason != "Synced" {
			t.Errorf("events: %+v", list.Items)
		}
		w.c.rt.runtime.events.stop()
	})
}

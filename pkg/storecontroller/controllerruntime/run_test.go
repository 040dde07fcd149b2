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

// TestLifecycle covers a primary from the start to the end.
func TestLifecycle(t *testing.T) {
	inWorld(t, func(w *world) { w.create(w.primaries, "early", ""); w.create(w.domains, "d", "early") }, func(w *world) {
		w.run()
		w.expectCalls("garbage", "sync early")
		w.create(w.primaries, "ns/a", "")
		w.advance(time.Second)
		w.expectCalls("sync ns/a")
		w.create(w.parts, "p", "ns/a")
		w.advance(time.Second)
		w.expectCalls("secondary p", "sync ns/a")
		w.must(w.parts.Delete(t.Context(), "p"))
		w.advance(time.Second)
		w.expectCalls("secondary p", "sync ns/a")
		w.create(w.domains, "e", "ns/a")
		w.advance(time.Second)
		w.expectCalls() // a tertiary enqueues nothing
		w.must(w.primaries.Delete(t.Context(), "ns/a"))
		w.advance(time.Second)
		w.expectCalls("sync ns/a")
		w.external.enqueue("early")
		w.advance(time.Hour)
		w.expectCalls("sync early")
		w.end()
		w.expectCalls("clean")
		if w.external.stopped != 1 {
			w.Errorf("the external client was stopped %d times", w.external.stopped)
		}
	})
}

// TestQueue checks that passes over one key do not overlap, and duplicate keys are merged.
func TestQueue(t *testing.T) {
	inWorld(t, func(w *world) { w.workers = 4 }, func(w *world) {
		w.run()
		w.expectCalls("garbage")
		hold := make(chan struct{})
		w.set(func(c *custom) { c.hold = hold })
		for range 3 { // one is running, the others are merged
			w.c.rt.EnqueueKey("a", OperationPut)
			w.advance(time.Second)
		}
		w.c.rt.EnqueueKey("", OperationPut)
		w.c.rt.EnqueueKey("no key", OperationPut)
		close(hold)
		w.advance(time.Second)
		w.expectCalls("sync a", "sync a")

		w.c.rt.EnqueueKeyAfter("b", OperationPut, time.Minute)
		w.advance(59 * time.Second)
		w.expectCalls()
		w.advance(time.Second)
		w.expectCalls("sync b")
		w.end()
	})
}

// TestRetry checks that an error is retried with backoff, which success resets.
func TestRetry(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.run()
		for range 2 {
			w.set(func(c *custom) { c.errs["a"], c.calls = errBoom, nil })
			w.c.rt.EnqueueKey("a", OperationPut)
			w.advance(10 * time.Second)
			w.set(func(c *custom) {
				if n := len(c.calls); n < 9 || n > 13 { // backoff from 5 ms, doubled each time
					w.Errorf("%d calls in ten seconds", n)
				}
				delete(c.errs, "a")
				c.calls = nil
			})
			w.advance(time.Minute)
			w.expectCalls("sync a")
		}
		w.advance(time.Hour)
		w.expectCalls()
		w.end()
	})
}

// TestResync checks that all primaries are enqueued again, and garbage is collected.
func TestResync(t *testing.T) {
	inWorld(t, func(w *world) { w.resync = time.Hour; w.create(w.primaries, "a", ""); w.create(w.primaries, "b", "") },
		func(w *world) {
			w.run()
			w.expectCalls("garbage", "sync a", "sync b")
			w.advance(time.Hour)
			w.expectCalls("garbage", "sync a", "sync b")
			w.advance(59 * time.Minute)
			w.expectCalls()
			w.end()
		})
}

// TestInformers: HandleSecondary is called with changed objects in Kubernetes.
func TestInformers(t *testing.T) {
	inWorld(t, func(w *world) {
		factory := informers.NewSharedInformerFactory(w.kube, 0)
		w.informers = append(w.informers, factory.Core().V1().ConfigMaps().Informer())
		factory.Start(w.Context().Done())
		w.Cleanup(factory.Shutdown)
	}, func(w *world) {
		w.run()
		w.expectCalls("garbage")
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "default", ResourceVersion: "1"}}
		SetOwner(obj, "thing", "ns/a")
		maps := w.kube.CoreV1().ConfigMaps("default")
		obj, err := maps.Create(t.Context(), obj, metav1.CreateOptions{})
		w.must(err)
		w.advance(time.Second)
		w.expectCalls("secondary m", "sync ns/a")
		_, err = maps.Update(t.Context(), obj, metav1.UpdateOptions{}) // the resourceVersion is the same
		w.must(err)
		w.advance(time.Second)
		w.expectCalls()
		w.must(maps.Delete(t.Context(), "m", metav1.DeleteOptions{}))
		w.advance(time.Second)
		w.expectCalls("secondary m", "sync ns/a")
		w.end()
	})
}

// TestNoCallsBeforeSync checks that no handler is called before all informers have synced. A sync that times out is an
// error, after which Clean is called.
func TestNoCallsBeforeSync(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create(w.primaries, "a", "")
		factory := informers.NewSharedInformerFactory(w.kube, 0)
		w.informers = append(w.informers, factory.Core().V1().ConfigMaps().Informer()) // never started
	}, func(w *world) {
		w.run()
		w.advance(time.Minute)
		w.expectCalls()
		select {
		case err := <-w.errs:
			if err == nil {
				t.Error("an error that is nil was sent")
			}
		case <-time.After(time.Hour):
			t.Fatal("nothing was sent")
		}
		<-w.ended
		w.expectCalls("clean")
	})
}

// TestStartErrors checks that an error at the start is sent once.
func TestStartErrors(t *testing.T) {
	cases := map[string]struct {
		reason  string
		prepare func(*world)
		custom  bool
		want    []string
		is      error
	}{
		"NoController": {reason: "Without a controller there is no call of Clean."},
		"External": {reason: "The error of the client is sent.", prepare: func(w *world) { w.external.err = errBoom },
			custom: true, want: []string{"clean"}, is: errBoom},
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
				w.expectCalls(tc.want...)
			})
		})
	}
}

// TestStop: Run returns after running calls have ended, and does not wait for a receiver of its error.
func TestStop(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.run()
		w.expectCalls("garbage")
		hold := make(chan struct{})
		w.set(func(c *custom) { c.hold = hold })
		w.c.rt.EnqueueKey("a", OperationPut)
		w.advance(time.Second)
		close(w.stop)
		synctest.Wait()
		select {
		case <-w.ended:
			t.Error("Run returned during a call")
		default:
		}
		close(hold)
		<-w.ended
		w.expectCalls("clean", "sync a")
	})
	inWorld(t, func(w *world) { w.external.err = errBoom }, func(w *world) {
		w.run() // no goroutine receives the error
		w.end()
		w.expectCalls("clean")
	})
}

// TestPanics checks that panics in the author's code are recovered and counted.
func TestPanics(t *testing.T) {
	for _, call := range []string{"sync a", "secondary p", "garbage", "clean"} {
		t.Run(call, func(t *testing.T) {
			inWorld(t, func(w *world) { w.c.panics = call }, func(w *world) {
				w.run()
				w.create(w.parts, "p", "a")
				w.create(w.primaries, "b", "")
				w.c.rt.EnqueueKey("a", OperationPut)
				w.advance(time.Second)
				w.set(func(c *custom) {
					if call != "clean" {
						c.panics = ""
					}
				})
				w.advance(time.Minute)
				w.set(func(c *custom) { c.calls = nil })
				w.c.rt.EnqueueKey("a", OperationPut)
				w.advance(time.Second)
				w.expectCalls("sync a")
				w.end()
				w.expectCalls("clean")
				if w.c.rt.runtime.Panics() == 0 {
					t.Error("the panic was not counted")
				}
			})
		})
	}
}

// TestLostPrimary: SyncHandler is not called for a lost primary.
func TestLostPrimary(t *testing.T) {
	inWorld(t, func(w *world) { w.create(w.primaries, "a", "") }, func(w *world) {
		w.run()
		w.expectCalls("garbage", "sync a")
		w.primaries.Recreate()
		w.c.rt.EnqueueKey("a", OperationPut)
		w.advance(time.Minute)
		w.c.rt.EnqueueKey("a", OperationPut)
		w.advance(time.Minute)
		w.expectCalls()
		w.end()
	})
}

// TestTertiaryMapping checks that a tertiary enqueues the keys that the function returns.
func TestTertiaryMapping(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.c.rt.SetTerciaryMapping(func(obj any) []string { return []string{obj.(*thing).Spec.Text} })
		w.run()
		w.expectCalls("garbage")
		w.create(w.domains, "d", "a")
		w.advance(time.Second)
		w.expectCalls("sync a")
		w.end()
	})
}

// TestEvent checks that an event about a primary has a reference to it.
func TestEvent(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.c.rt.Event(w.c.rt.Reference("ns/a"), "Normal", ReasonResourceSynced, "done")
		w.advance(time.Second)
		list, err := w.kube.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		w.must(err)
		if len(list.Items) != 1 || list.Items[0].InvolvedObject.Kind != "thing" || list.Items[0].Reason != "Synced" {
			t.Errorf("events: %+v", list.Items)
		}
		w.c.rt.runtime.events.stop()
	})
}

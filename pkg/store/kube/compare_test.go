package kube_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	clientfeatures "k8s.io/client-go/features"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A volumes is a store whose lists can be incomplete, and that can stop answering.
type volumes struct {
	*memory.Store[*kube.Envelope[*volume.Volume]]

	short bool
	mute  atomic.Bool
}

var errMute = errors.New("nobody answers")

func (s *volumes) List(ctx context.Context, o ...store.ListOption) iter.Seq2[*kube.Envelope[*volume.Volume], error] {
	switch {
	case s.mute.Load():
		return func(yield func(*kube.Envelope[*volume.Volume], error) bool) { yield(nil, errMute) }
	case s.short:
		return func(func(*kube.Envelope[*volume.Volume], error) bool) {}
	default:
		return s.Store.List(ctx, o...)
	}
}

// TestWatchReportsVanishedObjects checks that a watch reports an object that was deleted without an event, such as an
// expired value, within the resync interval: no other object, and not twice.
func TestWatchReportsVanishedObjects(t *testing.T) {
	cases := map[string]struct {
		reason string
		short  bool // is every list
		spoil  bool // the other one cannot be read any more
	}{
		"Gone":      {reason: "One of two has vanished."},
		"ShortList": {reason: "What a list leaves out is asked for.", short: true},
		"BadEntry":  {reason: "What cannot be read is there.", spoil: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				c, err := kube.NewClient(w.scheme, []kube.Kind{kube.Serve(&volumes{Store: w.volumes, short: tc.short})})
				w.Must(err)
				w.API = c
				w.Create(newVolume("a"))
				w.Create(newVolume("b"))
				running := w.watch(&volume.List{}, client.InNamespace("default"))
				<-running.ResultChan()
				<-running.ResultChan()
				w.volumes.Vanish("default/a")
				if tc.spoil {
					w.Must(w.volumes.Write("default/b", []byte(`{"spec":{"sizeGiB":"much"}}`)))
				}
				select {
				case e := <-running.ResultChan():
					o, ok := e.Object.(*volume.Volume)
					if e.Type != "DELETED" || !ok || o.Name != "a" || o.ResourceVersion < "2" {
						t.Errorf("%s: the event is %s %+v", tc.reason, e.Type, e.Object)
					}
				case <-time.After(store.DefaultResync + time.Millisecond):
					t.Errorf("%s: there was no event", tc.reason)
				}
				select {
				case e := <-running.ResultChan():
					t.Errorf("%s: then %s %+v", tc.reason, e.Type, e.Object)
				case <-time.After(10 * store.DefaultResync):
				}
			})
		})
	}
}

// TestWatchOfAStoreThatDoesNotAnswer checks that while the store does not answer, no object counts as deleted.
func TestWatchOfAStoreThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := &volumes{Store: w.volumes}
		c, err := kube.NewClient(w.scheme, []kube.Kind{kube.Serve(s)}, w.options(), kube.WithResync(time.Minute))
		w.Must(err)
		w.API = c
		w.Create(newVolume("a"))
		running := w.watch(&volume.List{})
		<-running.ResultChan()
		s.mute.Store(true)
		w.volumes.Vanish("default/a")
		<-time.After(10*time.Minute + 30*time.Second)
		synctest.Wait()
		if len(running.ResultChan()) != 0 || w.logged() == 0 {
			t.Errorf("there were %d events, and %d lines logged", len(running.ResultChan()), w.logged())
		}
		s.mute.Store(false)
		back := time.Now()
		if got := nextEvent(t, running); got != "DELETED a map[]" || time.Since(back) > time.Minute {
			t.Errorf("%s after %s", got, time.Since(back))
		}
	})
}

// TestCacheRemovesVanishedObjects checks that the cache removes objects that vanished, whichever way client-go reads.
func TestCacheRemovesVanishedObjects(t *testing.T) {
	gates := clientfeatures.FeatureGates()
	for name, watchList := range map[string]bool{"watch": true, "list": false} {
		t.Run(name, func(t *testing.T) {
			clientfeatures.ReplaceFeatureGates(features{gates, watchList})
			defer clientfeatures.ReplaceFeatureGates(gates)
			w := newWorld(t)
			w.Create(newVolume("a"))
			w.Create(newVolume("b"))
			c := w.cluster(kube.Options{Resync: 20 * time.Millisecond})
			w.run(c.Start)
			count := func() int {
				list := &volume.List{}
				if c.GetClient().List(t.Context(), list) != nil {
					return -1
				}

				return len(list.Items)
			}
			wait.Until(t, "the first list", func() bool { return count() == 2 })
			w.volumes.Vanish("default/a")
			wait.Until(t, "what vanished is gone", func() bool { return count() == 1 })
			w.Must(c.GetClient().Get(t.Context(), client.ObjectKeyFromObject(newVolume("b")), newVolume("")))
		})
	}
}

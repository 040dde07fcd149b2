package reference

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// TestReplacedInformer: the informer of a kind that is removed ends, and the kind gets a new one when it is served
// again.
func TestReplacedInformer(t *testing.T) {
	cases := map[string]struct {
		reason string
		absent int           // attempts until the kind is there again
		after  time.Duration // the longest delay until waiting owners are requeued
		reads  bool          // there are reads meanwhile
	}{
		"Back":   {reason: "waiting owners are enqueued without reads", after: retryInterval},
		"Absent": {reason: "the kind is away for a while", absent: 5, after: 6 * retryInterval},
		"Read":   {reason: "a read notices at once", reads: true, after: time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context, stop func()) {
				c := newPortCache(ctx)
				tr := NewTracker(testScheme())
				q := &recordingQueue{}
				if err := tr.Source(c).Start(ctx, q); err != nil {
					t.Fatal(err)
				}
				readDisk(t, tr.Reader(instanceKey, newWorld()), "b")
				for range 3 { // as often as kinds go
					synctest.Wait()
					c.fail(tc.absent)
					old := c.replace()
					synctest.Wait()
					if tc.reads {
						readDisk(t, tr.Reader(types.NamespacedName{Namespace: "a", Name: "other"}, newWorld()), "c")
					}
					c.server.Modify(disk("a", "b"))
					<-time.After(tc.after)
					synctest.Wait()
					if diff := cmp.Diff([]string{"a/instance"}, slices.Compact(q.taken())); diff != "" {
						t.Errorf("%s: added to the queue: -want, +got:\n%s", tc.reason, diff)
					}
					if old.handlers != 0 || c.disks.handlers != 1 {
						t.Errorf("%d handlers at the informer that ended, %d at the other one, want 0 and 1",
							old.handlers, c.disks.handlers)
					}
				}
				stop()
				if c.disks.handlers != 0 {
					t.Errorf("%d handlers are left", c.disks.handlers)
				}
			})
		})
	}
}

// TestReplacedUnread: a kind that is removed when it is no longer read is not watched until it is read again.
func TestReplacedUnread(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context, stop func()) {
		c := newPortCache(ctx)
		tr := NewTracker(testScheme())
		q := &recordingQueue{}
		if err := tr.Source(c).Start(ctx, q); err != nil {
			t.Fatal(err)
		}
		readDisk(t, tr.Reader(instanceKey, newWorld()), "b")
		tr.Forget(instanceKey)
		synctest.Wait()
		c.replace()
		<-time.After(10 * retryInterval)
		synctest.Wait()
		if len(c.asked) != 1 || c.disks.handlers != 0 {
			t.Errorf("asked for %v, %d handlers, want nothing but the first informer", c.asked, c.disks.handlers)
		}
		readDisk(t, tr.Reader(instanceKey, newWorld()), "b")
		c.server.Add(disk("a", "b"))
		synctest.Wait()
		if diff := cmp.Diff([]string{"a/instance"}, q.taken()); diff != "" {
			t.Errorf("the next read watches again: -want, +got:\n%s", diff)
		}
		stop()
	})
}

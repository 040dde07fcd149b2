package credentials_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/credentials"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A fakeAPI is an API server with watches of Secrets.
type fakeAPI struct {
	mu       sync.Mutex
	requests []string // what was to be watched, and when
	err      error
	watches  []*watch.RaceFreeFakeWatcher
	start    time.Time
}

// Watch starts a watch.
func (a *fakeAPI) Watch(_ context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(
		a.requests,
		fmt.Sprintf(
			"%s %s/%s %s", list.GetObjectKind().GroupVersionKind().Kind, o.Namespace, o.FieldSelector, time.Since(a.start)))
	if a.err != nil {
		return nil, a.err
	}
	w := watch.NewRaceFreeFake()
	a.watches = append(a.watches, w)

	return w, nil
}

// counts returns the number of started and of stopped watches.
func (a *fakeAPI) counts() (started, stopped int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.watches {
		if w.IsStopped() {
			stopped++
		}
	}

	return len(a.watches), stopped
}

// secretMetadata returns the metadata of the Secret with a version.
func secretMetadata(version string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "login", ResourceVersion: version},
	}
}

var secret = types.NamespacedName{Namespace: "a", Name: "login"}

// TestFollow verifies that all followers of a Secret share one watch, and are notified
// once of each change that they have not read, until they stop.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakeAPI{start: time.Now()}
		f := credentials.NewFollower(api)
		notified := map[string]int{}
		note := func(follower string) func() { return func() { notified[follower]++ } }
		expect := func(why string, want map[string]int) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, notified); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", why, diff)
			}
			clear(notified)
		}
		none := map[string]int{}

		stop := f.Follow(secret, "1", note("first"))
		f.Follow(secret, "1", note("second"))
		synctest.Wait()
		api.watches[0].Add(secretMetadata("1"))
		expect("a watch starts with the version that all followers have read", none)
		api.watches[0].Modify(secretMetadata("2"))
		expect("another version is a change", map[string]int{"first": 1, "second": 1})
		f.Follow(secret, "2", note("third"))
		other := secretMetadata("3")
		other.Name = "other"
		api.watches[0].Modify(other)
		expect("another Secret has no followers", none)
		stop()
		stop()
		api.watches[0].Delete(secretMetadata("4"))
		expect("a deletion is a change", map[string]int{"second": 1, "third": 1})

		api.watches[0].Stop()
		<-time.After(2 * time.Second)
		synctest.Wait()
		api.watches[1].Add(secretMetadata("5"))
		expect("a watch that ended starts again, and reports changes in between", map[string]int{"second": 1, "third": 1})

		f.Close()
		if started, stopped := api.counts(); started != 2 || stopped != 2 {
			t.Errorf("%d of %d watches are over, want two", stopped, started)
		}
		f.Follow(secret, "1", note("late"))()
		want := []string{"SecretList a/metadata.name=login 0s", "SecretList a/metadata.name=login 1s"}
		if diff := cmp.Diff(want, api.requests); diff != "" {
			t.Errorf("asked: -want, +got:\n%s", diff)
		}
	})
}

// TestFollowRetries verifies that a forbidden watch is retried rarely, and a failed one
// with backoff.
func TestFollowRetries(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		tries  int // in an hour
	}{
		"Forbidden": {
			"the operator does not grant it", kerrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "login", nil), 7,
		},
		"Away": {"the API server is away", errors.New("connection refused"), 65},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &fakeAPI{err: tc.err}
				f := credentials.NewFollower(api)
				f.Follow(secret, "1", func() { t.Error("a change was reported") })
				<-time.After(time.Hour + time.Second)
				f.Close() // waits for the last attempt
				if got := len(api.requests); got > tc.tries || got < tc.tries-5 {
					t.Errorf("%s: tried %d times in an hour, want about %d", tc.reason, got, tc.tries)
				}
			})
		})
	}
}

// TestFollowStopEndsWatch verifies that the watch of a Secret ends with its last
// follower.
func TestFollowStopEndsWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakeAPI{}
		f := credentials.NewFollower(api)
		for i := range 100 {
			f.Follow(types.NamespacedName{Namespace: "a", Name: fmt.Sprint(i)}, "1", func() {})()
		}
		synctest.Wait()
		if started, stopped := api.counts(); started != stopped {
			t.Errorf("%d of %d watches are over", stopped, started)
		}
		f.Close()
	})
}

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

// A tower is an API server of which Secrets are watched.
type tower struct {
	mu      sync.Mutex
	asked   []string // what was to be watched, and when
	refuse  error
	watches []*watch.RaceFreeFakeWatcher
	begin   time.Time
}

func (a *tower) Watch(_ context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, fmt.Sprintf("%s %s/%s %s", list.GetObjectKind().GroupVersionKind().Kind, o.Namespace, o.FieldSelector, time.Since(a.begin)))
	if a.refuse != nil {
		return nil, a.refuse
	}
	w := watch.NewRaceFreeFake()
	a.watches = append(a.watches, w)

	return w, nil
}

// stopped returns how many watches were begun, and how many of them are over.
func (a *tower) stopped() (begun, over int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.watches {
		if w.IsStopped() {
			over++
		}
	}

	return len(a.watches), over
}

func login(version string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "login", ResourceVersion: version}}
}

var secret = types.NamespacedName{Namespace: "a", Name: "login"}

// TestFollow: whoever uses a Secret is told once of each change, by the one watch that all of it
// share, and not of what he has read himself, nor after he has stopped.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &tower{begin: time.Now()}
		f := credentials.NewFollower(api)
		told := map[string]int{}
		note := func(who string) func() { return func() { told[who]++ } }
		expect := func(why string, want map[string]int) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", why, diff)
			}
			clear(told)
		}
		none := map[string]int{}

		stop := f.Follow(secret, "1", note("first"))
		f.Follow(secret, "1", note("second"))
		synctest.Wait()
		api.watches[0].Add(login("1"))
		expect("a watch begins with what everybody has read", none)
		api.watches[0].Modify(login("2"))
		expect("another version is news", map[string]int{"first": 1, "second": 1})
		f.Follow(secret, "2", note("third"))
		other := login("3")
		other.Name = "other"
		api.watches[0].Modify(other)
		expect("another Secret is nobody's business", none)
		stop()
		stop()
		api.watches[0].Delete(login("4"))
		expect("so is that it is gone", map[string]int{"second": 1, "third": 1})

		api.watches[0].Stop()
		<-time.After(2 * time.Second)
		synctest.Wait()
		api.watches[1].Add(login("5"))
		expect("a watch that ended begins again, and what happened meanwhile is told", map[string]int{"second": 1, "third": 1})

		f.Close()
		if begun, over := api.stopped(); begun != 2 || over != 2 {
			t.Errorf("%d of %d watches are over, want two", over, begun)
		}
		f.Follow(secret, "1", note("late"))()
		want := []string{"SecretList a/metadata.name=login 0s", "SecretList a/metadata.name=login 1s"}
		if diff := cmp.Diff(want, api.asked); diff != "" {
			t.Errorf("asked: -want, +got:\n%s", diff)
		}
	})
}

// TestFollowInVain: where it is forbidden to watch it is tried rarely, and where it fails ever later.
func TestFollowInVain(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		tries  int // in an hour
	}{
		"Forbidden": {"the operator does not grant it", kerrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "login", nil), 7},
		"Away":      {"the API server is away", errors.New("connection refused"), 65},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &tower{refuse: tc.err}
				f := credentials.NewFollower(api)
				f.Follow(secret, "1", func() { t.Error("something was told") })
				<-time.After(time.Hour + time.Second)
				f.Close() // and waits for the last try
				if got := len(api.asked); got > tc.tries || got < tc.tries-5 {
					t.Errorf("%s: tried %d times in an hour, want about %d", tc.reason, got, tc.tries)
				}
			})
		})
	}
}

// TestFollowersGo: nothing is left of Secrets that nobody uses any more.
func TestFollowersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &tower{}
		f := credentials.NewFollower(api)
		for i := range 100 {
			f.Follow(types.NamespacedName{Namespace: "a", Name: fmt.Sprint(i)}, "1", func() {})()
		}
		synctest.Wait()
		if begun, over := api.stopped(); begun != over {
			t.Errorf("%d of %d watches are over", over, begun)
		}
		f.Close()
	})
}

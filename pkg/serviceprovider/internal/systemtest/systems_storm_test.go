package systemtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/leak"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// shortStorm is how long TestStormOfRotations runs by default.
const shortStorm = 2 * time.Second

var (
	storm = flag.Duration("storm", shortStorm,
		"how long TestStormOfRotations blows; one that is longer than by default blows without a rest")
	seed = flag.Uint64("seed", 1, "of TestStormOfRotations")
)

// lull is how long each hand waits between two requests. Most of them are refused, since there
// is such a garden or none: without a rest they are all that the servers do.
func lull() time.Duration {
	if *storm > shortStorm {
		return 0
	}

	return 20 * time.Millisecond
}

// TestStormOfRotations creates, deletes and rotates at random, with eight workers on both sides. When
// it ends, every object that is left becomes Ready, those that are deleted go with all that
// was made for them, and no goroutine is left. It goes on until enough has really happened.
func TestStormOfRotations(t *testing.T) {
	const names, hands = 12, 4
	ignored := append(leak.Connections(), goleak.IgnoreCurrent())
	e := newEstate(t, "storm")
	stop := e.grant()
	e.start()
	garden := func(i int) *Garden {
		return &Garden{ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: fmt.Sprint("g-", i)}}
	}
	for i := range names {
		e.plane(garden(i).Name)
	}
	end := time.Now().Add(*storm)
	var created, deleted, rotated atomic.Int64
	count := func(n *atomic.Int64, err error) {
		if err == nil {
			n.Add(1)
		}
	}
	seconds := int64(storm.Seconds())
	least := map[string]int64{
		"created": max(names, seconds/5), "deleted": max(5, seconds/5), "rotated": max(20, seconds),
		"cleanups": max(5, seconds/10),
		"passes":   max(100, 5*seconds), "revisions_seen": max(20, seconds),
	}
	lacks := func() string {
		passes, deletes, revisions := e.gardener.counts()
		have := map[string]int64{
			"created": created.Load(), "deleted": deleted.Load(), "rotated": rotated.Load(),
			"cleanups": int64(deletes), "passes": int64(passes), "revisions_seen": int64(revisions),
		}
		for what, n := range least {
			if have[what] < n {
				return fmt.Sprintf("%s: want %d, got %d", what, n, have[what])
			}
		}

		return ""
	}
	wait.Allow(t, 5*time.Minute+2**storm)
	over := time.Now().Add(wait.Budget(t) / 2) // the rest is for what comes after it
	blows := func() bool {
		now := time.Now()

		return now.Before(end) || now.Before(over) && lacks() != ""
	}
	var all sync.WaitGroup
	for hand := range hands {
		all.Go(func() {
			random := rand.New(rand.NewPCG(*seed, uint64(hand)))
			for blows() {
				<-time.After(lull())
				g := garden(random.IntN(names))
				// Whatever is not possible just now is not done. What is deleted takes a while
				// to go, and what is created to be ready: so there is more of that.
				switch n := random.IntN(60); {
				case n == 0:
					count(&deleted, onboarding.api.Delete(t.Context(), g))
				case n < 15:
					count(&rotated, e.granter.Rotate(t.Context(), client.ObjectKeyFromObject(e.request(g))))
				default:
					count(&created, onboarding.api.Create(t.Context(), g))
				}
			}
		})
	}
	all.Wait()
	if lack := lacks(); lack != "" {
		t.Error("too little has happened: " + lack)
	}
	passes, deletes, revisions := e.gardener.counts()
	fmt.Printf("created: %d\ndeleted: %d\nrotated: %d\n", created.Load(), deleted.Load(), rotated.Load())
	fmt.Printf("passes: %d\ncleanups: %d\nrevisions_seen: %d\nconnections: %d\n", passes, deletes, revisions,
		e.builds.Load())
	left := func() []Garden {
		list := &GardenList{}
		if err := onboarding.api.List(t.Context(), list, client.InNamespace(e.ns)); err != nil {
			t.Fatal(err)
		}

		return list.Items
	}
	wait.Until(t, "what is left is Ready", func() bool {
		for _, g := range left() {
			if g.DeletionTimestamp != nil || g.Status.Phase != serviceprovider.StatusPhaseReady {
				return false
			}
		}

		return true
	})
	for _, g := range left() {
		e.delete(onboarding.api, &g)
	}
	wait.Until(t, "all is gone", func() bool { return len(left()) == 0 })
	for i := range names {
		if !gone(t, mcp.api, newBed(garden(i))) || !gone(t, platform.api, e.request(garden(i))) {
			t.Errorf("something is left of %s", garden(i).Name)
		}
	}
	e.stop()
	stop()
	leak.VerifyNone(t, ignored...)
	if !t.Failed() {
		fmt.Println("goroutines_left: 0")
	}
}

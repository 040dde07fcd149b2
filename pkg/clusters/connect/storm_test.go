package connect

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/leak"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

var (
	storm = flag.Duration("storm", 2*time.Second, "how long TestStorm blows")
	seed  = flag.Uint64("seed", 1, "of TestStorm")
)

const (
	ports = 6 // clusters
	crew  = 8 // workers on either side
)

// A sea is clusters whose objects and Secrets come, go and are rotated, and who works in
// them. It counts what was set and built.
type sea struct {
	*testing.T
	*clusters.Cache[*clusters.Cluster]

	ns      string
	manager *clusters.Manager[*clusters.Cluster]

	mu   sync.Mutex
	sets map[revised]int
	open map[*clusters.Cluster]bool

	created, deleted, rotated, spoilt, leases, told, built atomic.Int64
}

// Revised is a cluster and one of its revisions.
type revised struct {
	key clusters.Key
	rev clusters.Revision
}

func newSea(t *testing.T) *sea {
	t.Helper()
	s := &sea{T: t, ns: namespace(t), sets: map[revised]int{}, open: map[*clusters.Cluster]bool{}}
	s.Cache = clusters.NewCache(s.build, clusters.CacheOptions[*clusters.Cluster]{Close: s.close})
	s.manager = clusters.NewManager(s.Cache)
	t.Cleanup(s.Cache.Close)

	return s
}

// Set counts how often a revision was set anew: so often may it be connected.
func (s *sea) Set(key clusters.Key, in clusters.Input) bool {
	s.mu.Lock()
	s.sets[revised{key, in.Revision}]++ // before anybody can ask for it
	s.mu.Unlock()
	anew := s.Cache.Set(key, in)
	if !anew {
		s.mu.Lock()
		s.sets[revised{key, in.Revision}]--
		s.mu.Unlock()
	}

	return anew
}

func (s *sea) build(_ context.Context, key clusters.Key, in clusters.Input) (*clusters.Cluster, error) {
	c := clusters.New(key.String()).WithRESTConfig(in.RESTConfig)
	s.built.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets[revised{key, in.Revision}]--; s.sets[revised{key, in.Revision}] < 0 {
		s.Errorf("revision %s of %s was connected more often than it was set", in.Revision, key)
	}
	s.open[c] = true

	return c, c.InitializeClient(scheme)
}

func (s *sea) close(c *clusters.Cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open[c] {
		s.Errorf("%s was closed twice", c.ID())
	}
	delete(s.open, c)
	c.Close()
}

func (s *sea) has(c *clusters.Cluster) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.open[c]
}

func (s *sea) port(i int) *clustersv1alpha1.Cluster { return newCluster(s.ns, fmt.Sprint("port-", i)) }

// happens does something to a cluster. What is not possible just now is not done.
func (s *sea) happens(random *rand.Rand, i int) {
	count := func(n *atomic.Int64, err error) {
		if err == nil {
			n.Add(1)
		}
	}
	c := s.port(i)
	secret := &corev1.Secret{ObjectMeta: c.ObjectMeta}
	put := func(kubeconfig []byte) error {
		return api.Patch(s.Context(), secret, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"stringData":{"kubeconfig":%q}}`, kubeconfig)))
	}
	switch random.IntN(16) {
	case 0:
		count(&s.deleted, api.Delete(s.Context(), c))
	case 1:
		count(&s.spoilt, api.Delete(s.Context(), secret))
	case 2:
		count(&s.spoilt, put([]byte("a: b: c")))
	case 3: // the tokens so far are refused soon
		count(&s.spoilt, api.Delete(s.Context(), &corev1.ServiceAccount{ObjectMeta: c.ObjectMeta}))
	case 4, 5, 6, 7, 8:
		_ = api.Create(s.Context(), secret)
		count(&s.rotated, put(s.fresh(i)))
	default:
		count(&s.created, api.Create(s.Context(), c))
	}
}

// fresh returns credentials for a cluster, nothing if somebody takes the account away.
func (s *sea) fresh(i int) []byte {
	account := &corev1.ServiceAccount{ObjectMeta: s.port(i).ObjectMeta}
	_ = api.Create(s.Context(), account)
	out, _ := login(s.Context(), account)

	return out
}

// A sailor works in clusters for one object. He remembers what he was given.
type sailor struct {
	*sea

	user  clusters.User
	given map[clusters.Key]context.Context // of the lease, nil if it was said to be there, and then was not
}

// visits looks at a cluster and does something in it, then at what becomes of its connection
// for a moment.
func (w *sailor) visits(i int) {
	c := w.port(i)
	if err := api.Get(w.Context(), client.ObjectKeyFromObject(c), c); client.IgnoreNotFound(err) != nil {
		return
	}
	seen := Ref(c)
	w.works(seen, func(lease clusters.Lease[*clusters.Cluster]) {
		// Whether it is accepted is of no interest: the credentials may have been withdrawn.
		_ = lease.Client.Client().Get(w.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})
	})
	for range 50 {
		in, _ := w.Known(seen.Key)
		seen.Revision = in.Revision
		w.works(seen, func(clusters.Lease[*clusters.Cluster]) { runtime.Gosched() })
	}
}

// works does something in a cluster as it was seen, if there is a connection.
func (w *sailor) works(seen clusters.Ref, does func(clusters.Lease[*clusters.Cluster])) {
	change, err := w.manager.Refresh(w.Context(), w.user, seen)
	_, given := w.given[seen.Key]
	switch {
	case change != clusters.Unchanged && !given:
		w.Errorf("%v was told %s of a connection to %s that he was not given", w.user, change, seen.Key)
	case change != clusters.Unchanged:
		w.told.Add(1)
		delete(w.given, seen.Key)
	case err == nil && !given:
		w.given[seen.Key] = nil
	}
	lease, err := w.manager.Get(w.Context(), w.user, seen)
	if err != nil {
		return
	}
	defer lease.Release()
	w.leases.Add(1)
	if before := w.given[seen.Key]; before != nil && before != lease.Context {
		w.Errorf("%v was given another connection to %s, and not told", w.user, seen.Key)
	}
	w.given[seen.Key] = lease.Context
	does(lease)
	if !w.has(lease.Client) {
		w.Errorf("the connection to %s was closed under a lease", seen.Key)
	}
}

// lacks names what has happened too rarely for the time.
func (s *sea) lacks() string {
	seconds := int64(storm.Seconds())
	for _, what := range []struct {
		name        string
		have, least int64
	}{
		{"created", s.created.Load(), ports + seconds/4}, {"deleted", s.deleted.Load(), 2 + seconds/4}, {"rotated", s.rotated.Load(), 10 + seconds},
		{"spoilt", s.spoilt.Load(), 5 + seconds/4}, {"leases", s.leases.Load(), 300 + 20*seconds}, {"told", s.told.Load(), 5 + seconds/4},
	} {
		if what.have < what.least {
			return fmt.Sprintf("%s: want %d, got %d", what.name, what.least, what.have)
		}
	}

	return ""
}

// blow lets things happen at random, with workers on both sides, until it is time and
// enough has really happened.
func (s *sea) blow() {
	s.Helper()
	end := time.Now().Add(*storm)
	wait.Allow(s, 5*time.Minute+2**storm)
	over := time.Now().Add(wait.Budget(s) / 2) // the rest is for what comes after it
	blows := func() bool {
		now := time.Now()

		return now.Before(end) || now.Before(over) && s.lacks() != ""
	}
	var all sync.WaitGroup
	for n := range crew {
		weather, choice := rand.New(rand.NewPCG(*seed, uint64(n))), rand.New(rand.NewPCG(*seed, uint64(crew+n)))
		all.Go(func() {
			for blows() {
				s.happens(weather, weather.IntN(ports))
			}
		})
		w := &sailor{s, clusters.User{Kind: "Boat", Key: clusters.Key{Name: fmt.Sprint(n)}}, map[clusters.Key]context.Context{}}
		all.Go(func() {
			for blows() {
				w.visits(choice.IntN(ports))
			}
		})
	}
	all.Wait()
	if lack := s.lacks(); lack != "" {
		s.Error("too little has happened: " + lack)
	}
}

// calm gives good credentials to all clusters there are, and waits until they are used.
func (s *sea) calm() []clustersv1alpha1.Cluster {
	s.Helper()
	list := &clustersv1alpha1.ClusterList{}
	if err := api.List(s.Context(), list, client.InNamespace(s.ns)); err != nil {
		s.Fatal(err)
	}
	for i := range list.Items {
		c := &list.Items[i]
		good := credentials(s.T, s.ns, c.Name)
		if err := client.IgnoreAlreadyExists(api.Create(s.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: c.Name}})); err != nil {
			s.Fatal(err)
		}
		rotate(s.T, s.ns, c.Name, good)
		wait.Until(s.T, c.Name+" is used with its credentials", func() bool {
			// Who was not accepted is tried again after half a minute, unless somebody asks for it.
			requested := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, meta.AnnotationKeyReconcileRequestedAt, time.Now().Unix())
			if err := api.Patch(s.Context(), c, client.RawPatch("application/merge-patch+json", requested)); err != nil {
				s.Fatal(err)
			}
			in, known := s.Known(client.ObjectKeyFromObject(c))

			return known && string(in.Revision) == c.Status.Revision && bytes.Contains(good, []byte(in.RESTConfig.BearerToken))
		})
	}

	return list.Items
}

// TestStorm creates, deletes, rotates and spoils clusters at random, while others work in
// them. No connection is made more often than its settings were set, none is closed while it
// is used, and each worker is told once of each that he was given. When it ends, clusters
// have the connections that their Secrets say, those that are gone have none, and no
// goroutine is left.
func TestStorm(t *testing.T) {
	ignored := append(leak.Connections(), goleak.IgnoreCurrent())
	s := newSea(t)
	stop := startIn(t, map[string]cache.Config{s.ns: {}}, s)
	s.blow()
	fmt.Printf("created: %d\ndeleted: %d\nrotated: %d\nspoilt: %d\n", s.created.Load(), s.deleted.Load(), s.rotated.Load(), s.spoilt.Load())
	fmt.Printf("leases: %d\ntold: %d\nconnections: %d\n", s.leases.Load(), s.told.Load(), s.built.Load())
	for _, c := range s.calm() {
		if err := api.Delete(t.Context(), &c); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "no cluster is known", func() bool {
		for i := range ports {
			if _, known := s.Known(client.ObjectKeyFromObject(s.port(i))); known {
				return false
			}
		}

		return true
	})
	stop()
	s.Close()
	s.mu.Lock()
	if len(s.open) != 0 {
		t.Errorf("%d connections are left open", len(s.open))
	}
	s.mu.Unlock()
	leak.VerifyNone(t, ignored...)
	if !t.Failed() {
		fmt.Println("goroutines_left: 0")
	}
}

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
	storm = flag.Duration("storm", 2*time.Second, "how long TestRotationsAtRandom runs")
	seed  = flag.Uint64("seed", 1, "of TestRotationsAtRandom")
)

const (
	clusterCount = 6 // clusters
	workerCount  = 8 // workers on either side
)

// randomClusters are clusters whose objects and Secrets are created, deleted and rotated
// at random. They count changes and connections.
type randomClusters struct {
	*testing.T
	*clusters.Cache[*clusters.Cluster]

	ns      string
	manager *clusters.Manager[*clusters.Cluster]

	mu   sync.Mutex
	sets map[clusterRevision]int
	open map[*clusters.Cluster]bool

	created, deleted, rotated, broken, leases, changes, built atomic.Int64
}

// A clusterRevision is a cluster and one of its revisions.
type clusterRevision struct {
	key clusters.Key
	rev clusters.Revision
}

// newRandomClusters returns clusters in a namespace of their own.
func newRandomClusters(t *testing.T) *randomClusters {
	t.Helper()
	s := &randomClusters{T: t, ns: namespace(t), sets: map[clusterRevision]int{}, open: map[*clusters.Cluster]bool{}}
	s.Cache = clusters.NewCache(s.build, clusters.CacheOptions[*clusters.Cluster]{Close: s.close})
	s.manager = clusters.NewManager(s.Cache)
	t.Cleanup(s.Cache.Close)

	return s
}

// Set counts how often a revision was set, which is the maximum number of its
// connections.
func (s *randomClusters) Set(key clusters.Key, in clusters.Input) bool {
	s.mu.Lock()
	s.sets[clusterRevision{key, in.Revision}]++ // before it can be requested
	s.mu.Unlock()
	changed := s.Cache.Set(key, in)
	if !changed {
		s.mu.Lock()
		s.sets[clusterRevision{key, in.Revision}]--
		s.mu.Unlock()
	}

	return changed
}

// build makes a connection.
func (s *randomClusters) build(_ context.Context, key clusters.Key, in clusters.Input) (*clusters.Cluster, error) {
	c := clusters.New(key.String()).WithRESTConfig(in.RESTConfig)
	s.built.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets[clusterRevision{key, in.Revision}]--; s.sets[clusterRevision{key, in.Revision}] < 0 {
		s.Errorf("revision %s of %s was connected more often than it was set", in.Revision, key)
	}
	s.open[c] = true

	return c, c.InitializeClient(scheme)
}

// close closes a connection.
func (s *randomClusters) close(c *clusters.Cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open[c] {
		s.Errorf("%s was closed twice", c.ID())
	}
	delete(s.open, c)
	c.Close()
}

// isOpen reports whether a connection is open.
func (s *randomClusters) isOpen(c *clusters.Cluster) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.open[c]
}

// cluster returns the Cluster with a number.
func (s *randomClusters) cluster(i int) *clustersv1alpha1.Cluster {
	return newCluster(s.ns, fmt.Sprint("cluster-", i))
}

// change makes a random change to a cluster. Errors are ignored.
func (s *randomClusters) change(random *rand.Rand, i int) {
	count := func(n *atomic.Int64, err error) {
		if err == nil {
			n.Add(1)
		}
	}
	c := s.cluster(i)
	secret := &corev1.Secret{ObjectMeta: c.ObjectMeta}
	put := func(kubeconfig []byte) error {
		return api.Patch(
			s.Context(), secret,
			client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"stringData":{"kubeconfig":%q}}`, kubeconfig)))
	}
	switch random.IntN(16) {
	case 0:
		count(&s.deleted, api.Delete(s.Context(), c))
	case 1:
		count(&s.broken, api.Delete(s.Context(), secret))
	case 2:
		count(&s.broken, put([]byte("a: b: c")))
	case 3: // which revokes its tokens
		count(&s.broken, api.Delete(s.Context(), &corev1.ServiceAccount{ObjectMeta: c.ObjectMeta}))
	case 4, 5, 6, 7, 8:
		_ = api.Create(s.Context(), secret)
		count(&s.rotated, put(s.newCredentials(i)))
	default:
		count(&s.created, api.Create(s.Context(), c))
	}
}

// newCredentials returns credentials for a cluster, nothing if the account is deleted
// meanwhile.
func (s *randomClusters) newCredentials(i int) []byte {
	account := &corev1.ServiceAccount{ObjectMeta: s.cluster(i).ObjectMeta}
	_ = api.Create(s.Context(), account)
	out, _ := tokenKubeconfig(s.Context(), account)

	return out
}

// A worker uses clusters for one object, and records its leases.
type worker struct {
	*randomClusters

	user     clusters.User
	leasesOf map[clusters.Key]context.Context // of the lease, nil if it was said to be there, and then was not
}

// visit reads a cluster and uses its connection, then checks for some time whether that
// is replaced.
func (w *worker) visit(i int) {
	c := w.cluster(i)
	if err := api.Get(w.Context(), client.ObjectKeyFromObject(c), c); client.IgnoreNotFound(err) != nil {
		return
	}
	seen := Ref(c)
	w.use(seen, func(lease clusters.Lease[*clusters.Cluster]) {
		// The request may fail: the credentials may have been revoked.
		_ = lease.Client.Client().Get(w.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})
	})
	for range 50 {
		in, _ := w.Known(seen.Key)
		seen.Revision = in.Revision
		w.use(seen, func(clusters.Lease[*clusters.Cluster]) { runtime.Gosched() })
	}
}

// use calls a function with a lease on the connection of a cluster as it was read, if
// there is a connection.
func (w *worker) use(seen clusters.Ref, does func(clusters.Lease[*clusters.Cluster])) {
	change, err := w.manager.Refresh(w.Context(), w.user, seen)
	_, given := w.leasesOf[seen.Key]
	switch {
	case change != clusters.Unchanged && !given:
		w.Errorf("%v: Refresh returns %s of a connection to %s that it was not given", w.user, change, seen.Key)
	case change != clusters.Unchanged:
		w.changes.Add(1)
		delete(w.leasesOf, seen.Key)
	case err == nil && !given:
		w.leasesOf[seen.Key] = nil
	}
	lease, err := w.manager.Get(w.Context(), w.user, seen)
	if err != nil {
		return
	}
	defer lease.Release()
	w.leases.Add(1)
	if before := w.leasesOf[seen.Key]; before != nil && before != lease.Context {
		w.Errorf("%v was given another connection to %s without a Refresh", w.user, seen.Key)
	}
	w.leasesOf[seen.Key] = lease.Context
	does(lease)
	if !w.isOpen(lease.Client) {
		w.Errorf("the connection to %s was closed under a lease", seen.Key)
	}
}

// missingActivity returns what has happened too rarely for the duration.
func (s *randomClusters) missingActivity() string {
	seconds := int64(storm.Seconds())
	for _, what := range []struct {
		name        string
		have, least int64
	}{
		{
			"created", s.created.Load(), clusterCount + seconds/4,
		}, {"deleted", s.deleted.Load(), 2 + seconds/4}, {"rotated", s.rotated.Load(), 10 + seconds},
		{"broken", s.broken.Load(), 5 + seconds/4}, {
			"leases", s.leases.Load(), 300 + 20*seconds,
		}, {"changes", s.changes.Load(), 5 + seconds/4},
	} {
		if what.have < what.least {
			return fmt.Sprintf("%s: want %d, got %d", what.name, what.least, what.have)
		}
	}

	return ""
}

// run makes random changes, with concurrent workers, until the time is over and enough
// has happened.
func (s *randomClusters) run() {
	s.Helper()
	end := time.Now().Add(*storm)
	wait.Allow(s, 5*time.Minute+2**storm)
	over := time.Now().Add(wait.Budget(s) / 2) // the rest is for what comes after it
	running := func() bool {
		now := time.Now()

		return now.Before(end) || now.Before(over) && s.missingActivity() != ""
	}
	var all sync.WaitGroup
	for n := range workerCount {
		changes, visits := rand.New(rand.NewPCG(*seed, uint64(n))), rand.New(rand.NewPCG(*seed, uint64(workerCount+n)))
		all.Go(func() {
			for running() {
				s.change(changes, changes.IntN(clusterCount))
			}
		})
		w := &worker{
			s, clusters.User{Kind: "App", Key: clusters.Key{Name: fmt.Sprint(n)}}, map[clusters.Key]context.Context{},
		}
		all.Go(func() {
			for running() {
				w.visit(visits.IntN(clusterCount))
			}
		})
	}
	all.Wait()
	if lack := s.missingActivity(); lack != "" {
		s.Error("too little activity: " + lack)
	}
}

// settle sets valid credentials of all clusters, and waits until they are used.
func (s *randomClusters) settle() []clustersv1alpha1.Cluster {
	s.Helper()
	list := &clustersv1alpha1.ClusterList{}
	if err := api.List(s.Context(), list, client.InNamespace(s.ns)); err != nil {
		s.Fatal(err)
	}
	for i := range list.Items {
		c := &list.Items[i]
		good := credentials(s.T, s.ns, c.Name)
		if err := client.IgnoreAlreadyExists(api.Create(s.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: c.Name},
		})); err != nil {
			s.Fatal(err)
		}
		rotate(s.T, s.ns, c.Name, good)
		wait.Until(s.T, c.Name+" is used with its credentials", func() bool {
			// A rejected cluster is tried again after half a minute, or when requested.
			requested := fmt.Appendf(
				nil, `{"metadata":{"annotations":{%q:"%d"}}}`, meta.AnnotationKeyReconcileRequestedAt, time.Now().Unix())
			if err := api.Patch(s.Context(), c, client.RawPatch("application/merge-patch+json", requested)); err != nil {
				s.Fatal(err)
			}
			in, known := s.Known(client.ObjectKeyFromObject(c))

			return known && string(in.Revision) == c.Status.Revision && bytes.Contains(good, []byte(in.RESTConfig.BearerToken))
		})
	}

	return list.Items
}

// TestRotationsAtRandom creates, deletes, rotates and breaks clusters at random, with
// concurrent workers. No connection is made more often than its settings were set, none
// is closed while it is used, and each worker is notified once of each replacement. At
// the end, clusters have the connections of their Secrets, deleted ones have none, and no
// goroutine is left.
func TestRotationsAtRandom(t *testing.T) {
	ignored := append(leak.Connections(), goleak.IgnoreCurrent())
	s := newRandomClusters(t)
	stop := startIn(t, map[string]cache.Config{s.ns: {}}, s)
	s.run()
	fmt.Printf(
		"created: %d\ndeleted: %d\nrotated: %d\nbroken: %d\n", s.created.Load(), s.deleted.Load(), s.rotated.Load(),
		s.broken.Load())
	fmt.Printf("leases: %d\nchanges: %d\nconnections: %d\n", s.leases.Load(), s.changes.Load(), s.built.Load())
	for _, c := range s.settle() {
		if err := api.Delete(t.Context(), &c); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "no cluster is known", func() bool {
		for i := range clusterCount {
			if _, known := s.Known(client.ObjectKeyFromObject(s.cluster(i))); known {
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

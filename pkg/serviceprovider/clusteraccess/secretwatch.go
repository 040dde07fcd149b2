package clusteraccess

import (
	"context"
	"sync"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/credentials"
	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	// minRereadInterval is the minimum interval between reads of a Secret whose credentials a
	// server rejects.
	minRereadInterval = time.Second

	// forbiddenPause is the pause of all watches after one was forbidden.
	forbiddenPause = 10 * time.Minute
)

// secretWatch is the state of the watches of Secrets. The lock of the Requester guards all fields except wake.
type secretWatch struct {
	stale    map[clusters.Key]struct{} // grants whose Secrets are to be read again
	wake     chan struct{}             // receives a value when a grant becomes stale
	follower *credentials.Follower     // reports changes of Secrets; may be nil
	followed map[clusters.Key]followedSecret
}

// newSecretWatch returns a secretWatch of no Secrets.
func newSecretWatch() secretWatch {
	return secretWatch{
		stale: map[clusters.Key]struct{}{}, wake: make(chan struct{}, 1), followed: map[clusters.Key]followedSecret{},
	}
}

// onUnauthorized marks the Secret of a grant as stale. It does nothing if the Secret was just read, or if the rejected
// connection was replaced meanwhile.
func (r *Requester) onUnauthorized(key clusters.Key, rev clusters.Revision) {
	in, known := r.cache.Known(key)
	r.mu.Lock()
	g := r.grants[key]
	r.mu.Unlock()
	if known && in.Revision == rev && g != nil && r.clock.Since(g.read) >= minRereadInterval {
		r.markStale(key)
	}
}

// markStale requests another read of the Secret of a grant, by watchSecrets or by the next pass.
func (r *Requester) markStale(key clusters.Key) {
	r.mu.Lock()
	r.secrets.stale[key] = struct{}{}
	r.mu.Unlock()
	select {
	case r.secrets.wake <- struct{}{}:
	default:
	}
}

// clearStale removes the stale mark of a grant, and reports whether the grant had one.
func (r *Requester) clearStale(key clusters.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, doubted := r.secrets.stale[key]
	delete(r.secrets.stale, key)

	return doubted
}

// takeStale returns the grants that are marked as stale and removes the marks.
func (r *Requester) takeStale() map[clusters.Key]*grant {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := map[clusters.Key]*grant{}
	for key := range r.secrets.stale {
		if g := r.grants[key]; g != nil {
			found[key] = g
		}
	}
	clear(r.secrets.stale)

	return found
}

// startFollower starts to watch the Secrets of grants, until the context ends.
func (r *Requester) startFollower(ctx context.Context, platform cluster.Cluster) error {
	w, err := client.NewWithWatch(platform.GetConfig(), client.Options{
		Scheme: platform.GetScheme(), Mapper: platform.GetRESTMapper(), HTTPClient: platform.GetHTTPClient(),
	})
	if err != nil {
		return errors.Wrap(err, "cannot watch Secrets")
	}
	f := credentials.NewFollower(&pausingWatcher{Watcher: w, clock: r.clock})
	r.mu.Lock()
	r.secrets.follower = f
	r.mu.Unlock()
	context.AfterFunc(ctx, f.Close)
	for key, g := range r.allGrants() {
		r.follow(key, g)
	}

	return nil
}

// followedSecret is the watch of the Secret of a grant.
type followedSecret struct {
	secret client.ObjectKey
	stop   func()
}

// follow watches the Secret of a grant, if Secrets are watched.
func (r *Requester) follow(key clusters.Key, g *grant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, ok := r.secrets.followed[key]
	if r.secrets.follower == nil || r.grants[key] != g || ok && old.secret == g.secret {
		return
	}
	if ok {
		old.stop()
	}
	r.secrets.followed[key] = followedSecret{g.secret,
		r.secrets.follower.Follow(g.secret, g.secretVersion, func() { r.markStale(key) })}
}

// unfollow stops the watch of the Secret of a grant, and removes its stale mark. The caller holds the lock.
func (r *Requester) unfollow(key clusters.Key) {
	if f, ok := r.secrets.followed[key]; ok {
		f.stop()
		delete(r.secrets.followed, key)
	}
	delete(r.secrets.stale, key)
}

// pausingWatcher pauses all watches of Secrets after one was forbidden, because a role rarely
// distinguishes between Secrets.
type pausingWatcher struct {
	credentials.Watcher

	clock clock.PassiveClock

	mu    sync.Mutex
	until time.Time
	err   error
}

// Watch starts a watch. During the pause after a forbidden watch, it returns the error of this watch.
func (s *pausingWatcher) Watch(
	ctx context.Context, list client.ObjectList, o ...client.ListOption,
) (watch.Interface, error) {
	s.mu.Lock()
	why, wait := s.err, s.clock.Now().Before(s.until)
	s.mu.Unlock()
	if wait {
		return nil, why
	}
	w, err := s.Watcher.Watch(ctx, list, o...)
	if kerrors.IsForbidden(err) {
		s.mu.Lock()
		s.until, s.err = s.clock.Now().Add(forbiddenPause), err
		s.mu.Unlock()
	}

	return w, err
}

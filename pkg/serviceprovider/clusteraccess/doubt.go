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
	// often is how often a Secret is read because a server does not accept what was in
	// it: what takes the place of that may be on its way.
	often = time.Second

	// forbidden is how long nothing is watched after that was forbidden.
	forbidden = 10 * time.Minute
)

// Refused lets the Secret of a grant be read again, unless it was a moment ago, or the
// refused connection is not that of the grant any more.
func (r *Requester) refused(key clusters.Key, rev clusters.Revision) {
	in, known := r.cache.Known(key)
	r.mu.Lock()
	g := r.grants[key]
	r.mu.Unlock()
	if known && in.Revision == rev && g != nil && r.clock.Since(g.read) >= often {
		r.doubt(key)
	}
}

// Doubt lets the Secret of a grant be read again: by what watches Secrets, or by the next
// pass if that is sooner.
func (r *Requester) doubt(key clusters.Key) {
	r.mu.Lock()
	r.doubted[key] = struct{}{}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Resolve takes the doubt from a grant, and reports whether there was one.
func (r *Requester) resolve(key clusters.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, doubted := r.doubted[key]
	delete(r.doubted, key)

	return doubted
}

// Doubts returns the grants that are in doubt, and takes that from them.
func (r *Requester) doubts() map[clusters.Key]*grant {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := map[clusters.Key]*grant{}
	for key := range r.doubted {
		if g := r.grants[key]; g != nil {
			found[key] = g
		}
	}
	clear(r.doubted)

	return found
}

// Watch begins to follow the Secrets of grants, until the context ends.
func (r *Requester) watch(ctx context.Context, platform cluster.Cluster) error {
	w, err := client.NewWithWatch(platform.GetConfig(), client.Options{
		Scheme: platform.GetScheme(), Mapper: platform.GetRESTMapper(), HTTPClient: platform.GetHTTPClient(),
	})
	if err != nil {
		return errors.Wrap(err, "cannot watch Secrets")
	}
	f := credentials.NewFollower(&shy{Watcher: w, clock: r.clock})
	r.mu.Lock()
	r.follower = f
	r.mu.Unlock()
	context.AfterFunc(ctx, f.Close)
	for key, g := range r.known() {
		r.follow(key, g)
	}

	return nil
}

// A following is of the Secret of a grant.
type following struct {
	secret client.ObjectKey
	stop   func()
}

// Follow sees to it that the Secret of a grant is followed, if Secrets are.
func (r *Requester) follow(key clusters.Key, g *grant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, ok := r.followed[key]
	if r.follower == nil || r.grants[key] != g || ok && old.secret == g.secret {
		return
	}
	if ok {
		old.stop()
	}
	r.followed[key] = following{g.secret, r.follower.Follow(g.secret, g.secretVersion, func() { r.doubt(key) })}
}

// Leave ends that. The lock is held.
func (r *Requester) leave(key clusters.Key) {
	if f, ok := r.followed[key]; ok {
		f.stop()
		delete(r.followed, key)
	}
	delete(r.doubted, key)
}

// A shy watcher does not ask again for a while after it was forbidden to watch: for none
// of the Secrets, since a role rarely tells them apart.
type shy struct {
	credentials.Watcher

	clock clock.PassiveClock

	mu    sync.Mutex
	until time.Time
	why   error
}

// Watch begins a watch.
func (s *shy) Watch(ctx context.Context, list client.ObjectList, o ...client.ListOption) (watch.Interface, error) {
	s.mu.Lock()
	why, wait := s.why, s.clock.Now().Before(s.until)
	s.mu.Unlock()
	if wait {
		return nil, why
	}
	w, err := s.Watcher.Watch(ctx, list, o...)
	if kerrors.IsForbidden(err) {
		s.mu.Lock()
		s.until, s.why = s.clock.Now().Add(forbidden), err
		s.mu.Unlock()
	}

	return w, err
}

package managed

import (
	"context"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The delays between reads of a cache that is older than our own last write, before the API server itself is read.
var cacheDelays = []time.Duration{0, 10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond,
	80 * time.Millisecond}

// withoutDeepCopy reads an object from a cache without a copy.
var withoutDeepCopy = []client.GetOption{&client.GetOptions{UnsafeDisableDeepCopy: new(true)}}

// The delay of the next pass over an object that is gone but still cached.
const noticedIn = 30 * time.Second

// read returns the object with its kind. It returns the object in the cache and not a copy, so the result must not be
// changed. A pass works on its own copy, and compares it with this object in the end.
func (r *Reconciler) read(ctx context.Context, key types.NamespacedName) (resource.Managed, error) {
	mg, err := r.recent(ctx, key)
	if err != nil {
		return nil, err
	}
	if kind := mg.GetObjectKind(); kind.GroupVersionKind().Empty() { // a cache sets the kind only on a copy
		kind.SetGroupVersionKind(schema.GroupVersionKind(r.of))
	}

	return mg, nil
}

// recent returns the object, but never a version older than the last write of this process. A pass has already acted
// on such a version.
func (r *Reconciler) recent(ctx context.Context, key types.NamespacedName) (resource.Managed, error) {
	var ours string // the version of our own last write, if the cache has an older one
	for _, wait := range cacheDelays {
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
		mg := r.newManaged()
		if err := r.client.Get(ctx, key, mg, withoutDeepCopy...); err != nil {
			return nil, err
		}
		known := r.objects.Peek(key, mg.GetUID())
		if known != nil && known.Gone {
			known.Gone = false // if it still exists the next time, the API server is read

			return nil, errDeletedButCached
		}
		if known == nil || !freshness.IsOlder(mg.GetResourceVersion(), known.Version) {
			return mg, nil
		}
		ours = known.Version
	}
	r.log.Debug("The cache lags behind, asking the API server", "object", key.String())
	mg, err := r.getLive(ctx, key, ours)
	if gone.Answered(err, key.Name) {
		return nil, errDeletedButCached
	}

	return mg, err
}

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// isAbsentError reports whether a cache has no such object. The 404 of a reader without a cache may come from a
// server that does not serve the kind.
func isAbsentError(err error) bool {
	return kerrors.IsNotFound(err) && !kerrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// readLive reads the object from the API server.
func (p *object) readLive(ctx context.Context) (resource.Managed, error) {
	known := p.mg.GetResourceVersion()
	if freshness.IsOlder(known, p.state.Version) {
		known = p.state.Version
	}
	live, err := p.r.getLive(ctx, client.ObjectKeyFromObject(p.mg), known)
	if gone.Answered(err, p.mg.GetName()) || err == nil && live.GetUID() != p.mg.GetUID() {
		return nil, errReplaced
	}

	return live, err
}

// getLive reads an object from the API server without the cache. The argument known is a version that the API server
// has returned before.
//
// An older version than known is an error. It is passed to the [controller.RestoreDetector], and no decision is based
// on it, because the API server was restored to a state that the caches and the memory of this process do not have. A
// successful response that has no object, or another object, is also an error.
func (r *Reconciler) getLive(ctx context.Context, key types.NamespacedName, known string) (resource.Managed, error) {
	mg := r.newManaged()
	if err := r.cluster.GetAPIReader().Get(ctx, key, mg); err != nil {
		return nil, err
	}
	if mg.GetName() != key.Name || mg.GetNamespace() != key.Namespace {
		return nil, errNotAbout(key)
	}
	if r.restores != nil && r.restores.Seen(schema.GroupKind{Group: r.of.Group, Kind: r.of.Kind}, known,
		mg.GetResourceVersion()) {
		return nil, r.restores.Restored()
	}

	return mg, nil
}

// errNotAbout returns the error of a successful read whose response has no object, or another object.
func errNotAbout(key types.NamespacedName) error {
	return errors.Errorf("the API server was asked for %s, and the answer is not about it: check what stands between "+
		"this process and the API server", key)
}

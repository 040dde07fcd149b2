package credentials

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The backoff for watches that have ended or could not start. A forbidden watch is retried less often.
const (
	minRetryDelay       = time.Second
	maxRetryDelay       = time.Minute
	forbiddenRetryDelay = 10 * time.Minute
)

// A Watcher starts watches. A client.WithWatch implements it.
type Watcher interface {
	Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error)
}

// A Follower reports changes of the Secrets that are in use. It watches the metadata of each Secret by its name, so the
// role of a provider does not need permission to list or watch other Secrets. Make one with NewFollower. It may be used
// concurrently.
type Follower struct {
	watcher Watcher

	mu      sync.Mutex
	closed  bool
	secrets map[types.NamespacedName]*watchedSecret
	watches sync.WaitGroup
}

// A watchedSecret is a Secret with followers.
type watchedSecret struct {
	cancel    context.CancelFunc
	followers map[*follower]struct{}
}

// A follower is a caller of Follow, and the last version of the Secret that it has got.
type follower struct {
	version string
	changed func()
}

// NewFollower returns a Follower that starts its watches with the argument w. Call Close at the end.
func NewFollower(w Watcher) *Follower {
	return &Follower{watcher: w, secrets: map[types.NamespacedName]*watchedSecret{}}
}

// Follow watches a Secret until the returned function stop is called. It calls the function changed when the Secret is
// deleted. It also calls changed when the resourceVersion of the Secret differs from the argument version, or from the
// last reported resourceVersion. It may call changed once more than necessary. It calls changed in a goroutine of the
// Follower, so changed must not block.
//
// If the watch is forbidden or fails for some time, changed is not called. Therefore the caller should also read the
// Secret periodically. Further calls of the function stop do nothing.
func (f *Follower) Follow(secret types.NamespacedName, version string, changed func()) (stop func()) {
	me := &follower{version: version, changed: changed}
	f.mu.Lock()
	defer f.mu.Unlock()

	if f.closed {
		return func() {}
	}
	of, ok := f.secrets[secret]
	if !ok {
		ctx, cancel := context.WithCancel(context.Background())
		of = &watchedSecret{cancel: cancel, followers: map[*follower]struct{}{}}
		f.secrets[secret] = of
		f.watches.Go(func() { f.follow(ctx, secret, of) })
	}
	of.followers[me] = struct{}{}

	return func() { f.remove(secret, of, me) }
}

// remove removes a follower. When the last follower is removed, the watch ends.
func (f *Follower) remove(secret types.NamespacedName, of *watchedSecret, me *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()

	delete(of.followers, me)
	if len(of.followers) == 0 && f.secrets[secret] == of {
		of.cancel()
		delete(f.secrets, secret)
	}
}

// Close ends all watches, and returns after they have ended. After Close, Follow does nothing.
func (f *Follower) Close() {
	f.mu.Lock()
	f.closed = true
	for secret, of := range f.secrets {
		of.cancel()
		delete(f.secrets, secret)
	}
	f.mu.Unlock()
	f.watches.Wait()
}

// follow watches a Secret until ctx ends.
func (f *Follower) follow(ctx context.Context, secret types.NamespacedName, of *watchedSecret) {
	for pause := minRetryDelay; ctx.Err() == nil; {
		begun, err := f.watch(ctx, secret, of)
		switch {
		case begun:
			pause = minRetryDelay
		case kerrors.IsForbidden(err):
			pause = forbiddenRetryDelay
		default:
			pause = min(2*pause, maxRetryDelay)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// watch runs one watch, and reports whether it started.
func (f *Follower) watch(ctx context.Context, secret types.NamespacedName, of *watchedSecret) (begun bool, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	w, err := f.watcher.Watch(
		ctx, list, client.InNamespace(secret.Namespace), client.MatchingFields{"metadata.name": secret.Name})
	if err != nil {
		return false, err
	}
	defer w.Stop()

	for {
		select {
		case <-ctx.Done():
			return true, nil
		case event, more := <-w.ResultChan():
			if !more || event.Type == watch.Error {
				return true, nil
			}
			f.notify(of, secret, event)
		}
	}
}

// notify notifies the followers whose version differs from the version in the event. A watch starts with an event for
// the current version.
func (f *Follower) notify(of *watchedSecret, secret types.NamespacedName, event watch.Event) {
	object, ok := event.Object.(client.Object)
	if !ok || client.ObjectKeyFromObject(object) != secret || event.Type == watch.Bookmark {
		return
	}
	version := object.GetResourceVersion()
	if event.Type == watch.Deleted {
		version = ""
	}
	var notified []func()
	f.mu.Lock()
	for one := range of.followers {
		if one.version != version {
			one.version = version
			notified = append(notified, one.changed)
		}
	}
	f.mu.Unlock()

	for _, changed := range notified {
		changed()
	}
}

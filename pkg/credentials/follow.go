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

// How long it takes until a watch that has ended, or could not begin, is tried again:
// longer each time, and for long where it is forbidden.
const (
	followFirst     = time.Second
	followLast      = time.Minute
	followForbidden = 10 * time.Minute
)

// A Watcher begins watches, such as a client.WithWatch.
type Watcher interface {
	Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error)
}

// A Follower tells when Secrets change that somebody uses, by one watch for each, of
// its metadata and by its name: so that the role of a provider need not allow to watch,
// or to list, any other. Use NewFollower. It may be used concurrently.
type Follower struct {
	watcher Watcher

	mu       sync.Mutex
	closed   bool
	followed map[types.NamespacedName]*followed
	running  sync.WaitGroup
}

// followed is a Secret that somebody follows.
type followed struct {
	cancel    context.CancelFunc
	followers map[*follower]struct{}
}

// A follower knows a version of a Secret.
type follower struct {
	version string
	changed func()
}

// NewFollower returns a Follower that watches through w. Close ends all watches.
func NewFollower(w Watcher) *Follower {
	return &Follower{watcher: w, followed: map[types.NamespacedName]*followed{}}
}

// Follow calls changed each time the Secret becomes another one than that with the
// given resourceVersion, or is deleted, until stop is called, which may be called
// again. It is called from a goroutine of the Follower, must not take long, and may
// come once more than needed. Where watching is forbidden, or does not work for a
// while, nothing is told: read the Secret now and then in any case.
func (f *Follower) Follow(secret types.NamespacedName, version string, changed func()) (stop func()) {
	me := &follower{version: version, changed: changed}
	f.mu.Lock()
	defer f.mu.Unlock()

	if f.closed {
		return func() {}
	}
	of, ok := f.followed[secret]
	if !ok {
		ctx, cancel := context.WithCancel(context.Background())
		of = &followed{cancel: cancel, followers: map[*follower]struct{}{}}
		f.followed[secret] = of
		f.running.Go(func() { f.follow(ctx, secret, of) })
	}
	of.followers[me] = struct{}{}

	return func() { f.leave(secret, of, me) }
}

func (f *Follower) leave(secret types.NamespacedName, of *followed, me *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()

	delete(of.followers, me)
	if len(of.followers) == 0 && f.followed[secret] == of {
		of.cancel()
		delete(f.followed, secret)
	}
}

// Close ends all watches, and returns when they have ended. Nobody can follow any more.
func (f *Follower) Close() {
	f.mu.Lock()
	f.closed = true
	for secret, of := range f.followed {
		of.cancel()
		delete(f.followed, secret)
	}
	f.mu.Unlock()
	f.running.Wait()
}

// follow keeps a watch until ctx ends.
func (f *Follower) follow(ctx context.Context, secret types.NamespacedName, of *followed) {
	for pause := followFirst; ctx.Err() == nil; {
		begun, err := f.watch(ctx, secret, of)
		switch {
		case begun:
			pause = followFirst
		case kerrors.IsForbidden(err):
			pause = followForbidden
		default:
			pause = min(2*pause, followLast)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// watch tells what one watch tells, and whether it began.
func (f *Follower) watch(ctx context.Context, secret types.NamespacedName, of *followed) (begun bool, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	w, err := f.watcher.Watch(ctx, list, client.InNamespace(secret.Namespace), client.MatchingFields{"metadata.name": secret.Name})
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
			f.note(of, secret, event)
		}
	}
}

// note tells an event to whoever does not know it. A watch begins with what is there.
func (f *Follower) note(of *followed, secret types.NamespacedName, event watch.Event) {
	object, ok := event.Object.(client.Object)
	if !ok || client.ObjectKeyFromObject(object) != secret || event.Type == watch.Bookmark {
		return
	}
	version := object.GetResourceVersion()
	if event.Type == watch.Deleted {
		version = ""
	}
	var tell []func()
	f.mu.Lock()
	for one := range of.followers {
		if one.version != version {
			one.version = version
			tell = append(tell, one.changed)
		}
	}
	f.mu.Unlock()

	for _, changed := range tell {
		changed()
	}
}

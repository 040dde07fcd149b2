package cluster

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
)

// A Follower receives the state of the selected objects. Each method returns true when the follower has seen enough,
// and an error to give up.
type Follower interface {
	// Listed receives all objects. It is called first, and again after the watch was interrupted.
	Listed(objects []object.Object) (done bool, err error)
	// Changed receives an object that was created, changed, or deleted.
	Changed(o object.Object, deleted bool) (done bool, err error)
}

// A Lost is the error of a Follow that ended while the API server was away: what the follower has received is old.
type Lost struct{ cause error }

// Error returns one line.
func (l *Lost) Error() string { return "the connection to the API server was lost: " + l.cause.Error() }

// Unwrap returns why the last attempt to connect has failed.
func (l *Lost) Unwrap() error { return l.cause }

// Follow watches the selected objects, until the follower has seen enough. When ctx ends, it returns a [Lost] if the
// last attempt to watch has failed, and otherwise the error of ctx. A watch that the API server ends is started again,
// and one that fails for a passing reason after a delay. If the first list fails, Follow returns its error.
func (c *Cluster) Follow(ctx context.Context, s Selection, to Follower) error {
	var lost error // why the attempt before this one has failed

	delay := newDelay()

	for listed := false; ; {
		begun, read := time.Now(), false
		done, err := c.follow(ctx, s, to, &read)

		if listed = listed || read; read {
			lost = nil
		}

		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return ended(ctx, lost)
		case err == nil && time.Since(begun) > shortWatch:
			delay = newDelay()
		case err != nil && (!listed || !temporary(err)):
			return err
		default:
			if lost = err; pause(ctx, delay.Step()) != nil {
				return ended(ctx, lost)
			}
		}
	}
}

// ended returns the error of a Follow whose ctx has ended.
func ended(ctx context.Context, lost error) error {
	if lost != nil {
		return &Lost{lost}
	}

	return ctx.Err()
}

// shortWatch is how long a watch lasts at least, unless a proxy or the API server is at fault.
const shortWatch = time.Second

func newDelay() wait.Backoff {
	return wait.Backoff{Duration: time.Second / 2, Factor: 2, Jitter: 0.5, Steps: 6, Cap: 10 * time.Second}
}

// pause waits before a failed watch is started again.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()

	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow lists and watches once. It returns no error if the watch has ended as every watch does after a time. It sets
// listed once the list was read.
func (c *Cluster) follow(ctx context.Context, s Selection, to Follower, listed *bool) (done bool, err error) {
	objects, version, err := c.List(ctx, s)
	if err != nil {
		return false, err
	}

	*listed = true

	if done, err := to.Listed(objects); done || err != nil {
		return done, err
	}

	options := s.options()
	options.ResourceVersion, options.AllowWatchBookmarks = version, true

	w, err := resource(c.watches, s).Watch(ctx, options)
	if err != nil {
		return false, c.fault(ctx, "watch "+s.String(), err)
	}
	defer w.Stop()

	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case e, open := <-w.ResultChan():
			if !open {
				return false, nil
			}

			if done, err := c.event(ctx, s, e, to); done || err != nil {
				return done, err
			}
		}
	}
}

func (c *Cluster) event(ctx context.Context, s Selection, e watch.Event, to Follower) (done bool, err error) {
	u, isObject := e.Object.(*unstructured.Unstructured)

	switch {
	case e.Type == watch.Error:
		err := apierrors.FromObject(e.Object)
		if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) { // list anew, as after the end of the watch
			return false, &Fault{"the watch has expired", apierrors.NewTimeoutError(err.Error(), 0)}
		}

		return false, c.fault(ctx, "watch "+s.String(), err)
	case !isObject || e.Type == watch.Bookmark:
		return false, nil
	}

	return to.Changed(object.Of(u), e.Type == watch.Deleted)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/cluster"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/reasons"
)

// The results of a pause.
const (
	pauseRequested = "pause requested" // the annotation is stored
	pauseConfirmed = "paused"          // the provider says so
)

func (c *console) pauseCommand() *cobra.Command {
	var timeout time.Duration

	what := &change{verb: "pause", done: pauseRequested, short: "Pause objects", values: pause, await: &timeout}
	cmd := c.changing(what, `Pause objects: until they are resumed, their providers do nothing for them, not even when they
are deleted. The external resources stay as they are, and changes of the spec wait.

The command waits until the provider says of each object that it is paused. The exit code is 1 if it
does not: it may be stopped, busy, or of another library that does not know the annotation.`, `
# One object
kubectl moorage pause stream/orders
# All streams of the namespace with a label
kubectl moorage pause streams -l app=web`)
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Second,
		"How long to wait for the providers. Zero does not wait, and a negative duration waits without end.")

	return cmd
}

// pause returns the step that pauses an object.
func pause(o object.Object) (step, error) {
	if o.GetAnnotations()[reasons.AnnotationKeyReconciliationPaused] != "true" {
		value := "true"

		return step{values: map[string]*string{reasons.AnnotationKeyReconciliationPaused: &value}}, nil
	}

	if o.PauseConfirmed() {
		return step{result: "already paused"}, nil
	}

	return step{result: pauseRequested}, nil
}

// awaitPauses waits until providers say of objects that they are paused, and returns why that is not known of others.
func (c *console) awaitPauses(ctx context.Context, s *session, selections []cluster.Selection, found []item,
	results []changed, timeout time.Duration,
) []error {
	limited, cancel := c.limit(ctx, timeout)
	defer cancel()

	if timeout == 0 {
		cancel()
	}

	var running sync.WaitGroup

	waiters, errs := make([]*pauseWaiter, len(selections)), make([]error, len(selections))
	for i, where := range selections {
		w := &pauseWaiter{c: c, pending: map[types.NamespacedName]int{}, found: found, results: results}
		waiters[i] = w

		for j, it := range found {
			if results[j].Result == pauseRequested && it.kind.Resource == where.Kind.Resource &&
				(where.Name == "" || where.Name == it.object.GetName()) {
				w.pending[keyOf(it.object)] = j
			}
		}

		if len(w.pending) > 0 && timeout != 0 {
			running.Go(func() { errs[i] = s.Follow(limited, where, w) })
		}
	}

	running.Wait()

	var failed []error

	for i, w := range waiters {
		if err := w.unconfirmed(ctx, errs[i], timeout); err != nil {
			failed = append(failed, err)
		}
	}

	return failed
}

// A pauseWaiter follows objects until the provider says of each that it is paused.
type pauseWaiter struct {
	c       *console
	pending map[types.NamespacedName]int // the index in found and in results
	found   []item
	results []changed
}

// Listed implements cluster.Follower.
func (w *pauseWaiter) Listed(objects []object.Object) (bool, error) {
	for _, o := range objects {
		if done, err := w.Changed(o, false); done || err != nil {
			return done, err
		}
	}

	return len(w.pending) == 0, nil
}

// Changed implements cluster.Follower. An object that is deleted meanwhile stays unconfirmed.
func (w *pauseWaiter) Changed(o object.Object, deleted bool) (bool, error) {
	i, waits := w.pending[keyOf(o)]
	if waits && !deleted && o.PauseConfirmed() {
		delete(w.pending, keyOf(o))
		w.results[i].Result = pauseConfirmed
		w.c.report(w.found[i], pauseConfirmed)
	}

	return len(w.pending) == 0, nil
}

// unconfirmed reports the objects that are left, and returns why it is not known whether they are paused, after an end
// of Follow. It returns no error if nobody was waited for.
func (w *pauseWaiter) unconfirmed(ctx context.Context, err error, timeout time.Duration) error {
	if len(w.pending) == 0 {
		return nil
	}

	var left []object.Reference

	for _, i := range slices.Sorted(maps.Values(w.pending)) {
		w.c.report(w.found[i], pauseRequested)

		left = append(left, w.results[i].Reference)
	}

	var lost *cluster.Lost

	switch {
	case timeout == 0:
		return nil
	case ctx.Err() != nil:
		err = errInterrupted
	case errors.As(err, &lost), err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled):
	default:
		err = fmt.Errorf("no provider has said so within %s (--timeout): it may be stopped or busy, or not know the "+
			"annotation %s", timeout, reasons.AnnotationKeyReconciliationPaused)
	}

	is := "they are"
	if len(left) == 1 {
		is = "it is"
	}

	return fmt.Errorf("cannot confirm the pause of %s (%s): it is not known whether %s paused: %w", count(len(left)),
		names(left), is, err)
}

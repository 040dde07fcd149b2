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
		"How long to wait for the next provider to say so. Zero does not wait, and a negative duration waits without end.")

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
) (failed []error) {
	var running sync.WaitGroup

	shown := c.progress("paused", len(found))
	waiters := make([]*pauseWaiter, len(selections))

	taken := map[int]bool{}
	for i, where := range selections {
		waiters[i] = newPauseWaiter(c, where, found, results, shown, taken)
	}

	for _, w := range waiters { // they have read the results, which they change
		if len(w.pending) > 0 && timeout != 0 {
			running.Go(func() { w.await(ctx, s, timeout) })
		}
	}

	running.Wait()
	shown.end()

	for _, w := range waiters {
		if err := w.unconfirmed(ctx, timeout); err != nil {
			failed = append(failed, err)
		}
	}

	return failed
}

// A pauseWaiter follows objects until the provider says of each that it is paused.
type pauseWaiter struct {
	c       *console
	where   cluster.Selection
	found   []item
	results []changed
	shown   *progress

	pending map[types.NamespacedName]int // the index in found and in results
	err     error                        // of the last Follow
}

// newPauseWaiter returns a waiter for the objects of a selection whose pause was requested. Those that are taken have a
// waiter already.
func newPauseWaiter(c *console, where cluster.Selection, found []item, results []changed,
	shown *progress, taken map[int]bool,
) *pauseWaiter {
	w := &pauseWaiter{
		c: c, where: where, found: found, results: results, shown: shown, pending: map[types.NamespacedName]int{},
	}

	for i, it := range found {
		if !taken[i] && results[i].Result == pauseRequested && it.kind.Resource == where.Kind.Resource &&
			(where.Name == "" || where.Name == it.object.GetName()) {
			w.pending[keyOf(it.object)], taken[i] = i, true
		}
	}

	return w
}

// await waits until all objects are paused, or none was for a time: a provider may be busy with many objects.
func (w *pauseWaiter) await(ctx context.Context, s *session, timeout time.Duration) {
	for left := len(w.pending) + 1; left > len(w.pending); {
		left = len(w.pending)

		limited, cancel := w.c.limit(ctx, timeout)
		w.err = s.Follow(limited, w.where, w)
		over := limited.Err() != nil

		cancel()

		var lost *cluster.Lost
		if over && !errors.As(w.err, &lost) {
			w.err = nil // the time is over
		}

		if !over || w.err != nil || ctx.Err() != nil {
			return
		}
	}
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
	i, pending := w.pending[keyOf(o)]
	if pending && !deleted && o.PauseConfirmed() {
		delete(w.pending, keyOf(o))
		w.results[i].Result = pauseConfirmed
		w.shown.step()
		w.c.report(w.found[i], pauseConfirmed)
	}

	return len(w.pending) == 0, nil
}

// unconfirmed reports the objects that are left, and returns why it is not known whether they are paused. It returns no
// error if there are none, or the timeout is zero.
func (w *pauseWaiter) unconfirmed(ctx context.Context, timeout time.Duration) error {
	var left []object.Reference

	for _, i := range slices.Sorted(maps.Values(w.pending)) {
		w.c.report(w.found[i], pauseRequested)

		left = append(left, w.results[i].Reference)
	}

	err := w.err

	switch {
	case len(left) == 0, timeout == 0:
		return nil
	case ctx.Err() != nil:
		err = errInterrupted
	case err == nil:
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

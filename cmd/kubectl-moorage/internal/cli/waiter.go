package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/cluster"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
)

// follow watches the selections at the same time, until each is reached, one cannot be, or ctx ends. It calls cancel to
// end the others, once all were read. It returns an error for each selection whose present state is not known.
func (c *console) follow(ctx context.Context, cancel func(), s *session, selections []cluster.Selection,
	o waitOptions,
) (waiters []*waiter, failed []error) {
	var running, unread sync.WaitGroup

	unread.Add(len(selections))

	errs := make([]error, len(selections))

	for i, where := range selections {
		w := newWaiter(c, where, o, sync.OnceFunc(unread.Done))
		waiters = append(waiters, w)

		running.Go(func() {
			defer w.read()

			errs[i] = w.known(ctx, s.Follow(ctx, where, w))

			if w.blocked || errs[i] != nil {
				w.read()
				unread.Wait()
				cancel()
			}
		})
	}

	running.Wait()

	for _, err := range errs {
		if err != nil {
			failed = append(failed, err)
		}
	}

	return waiters, failed
}

// lookTimeout bounds the requests of the last look.
const lookTimeout = 5 * time.Second

// lookOnceMore reads the objects again whose state was not reached in time: a watch does not tell at once that the API
// server is away, and then the state that it has shown is old.
func lookOnceMore(ctx context.Context, s *session, waiters []*waiter) (failed []error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()

	if slices.ContainsFunc(waiters, func(w *waiter) bool { return w.blocked || w.options.timeout == 0 }) {
		return nil // that ended the wait
	}

	for _, w := range waiters {
		if w.done() {
			continue
		}

		objects, _, err := s.List(ctx, w.where)
		if err == nil {
			_, err = w.Listed(objects)
		} else {
			err = w.unknown(fmt.Errorf("the connection to the API server was lost: %w", err))
		}

		if err != nil {
			failed = append(failed, err)
		}
	}

	return failed
}

// A waiter follows the objects of a selection until each has the state, or one cannot reach it.
type waiter struct {
	c       *console
	where   cluster.Selection
	options waitOptions

	read    func() // is called after the first list
	listed  bool
	pending map[types.NamespacedName]verdict
	reached []waited
	over    map[types.NamespacedName]bool // the objects of reached
	blocked bool                          // an object cannot reach the state
}

// errOnce ends a wait that looks only once.
var errOnce = errors.New("looked once")

func newWaiter(c *console, where cluster.Selection, o waitOptions, read func()) *waiter {
	return &waiter{
		c: c, where: where, options: o, read: read, pending: map[types.NamespacedName]verdict{},
		over: map[types.NamespacedName]bool{},
	}
}

// Listed implements cluster.Follower.
func (w *waiter) Listed(objects []object.Object) (bool, error) {
	defer w.read()

	w.listed = true
	present := map[types.NamespacedName]types.UID{}

	for _, o := range objects {
		present[keyOf(o)] = o.GetUID()

		if err := (item{w.where.Kind, o}).check(); err != nil && w.options.state != forGone {
			return false, err
		}
	}

	for key, v := range w.pending {
		uid, found := present[key]
		if replaced := uid != v.object.GetUID(); !found || replaced && w.options.state == forGone {
			w.judge(v.object, true)
		}
	}

	if len(objects)+len(w.pending)+len(w.reached) == 0 {
		if w.options.state != forGone {
			return false, fmt.Errorf("there is no %s", w.where)
		}

		w.c.note("There is no %s.", w.where)
	}

	for _, o := range objects {
		w.judge(o, false)
	}

	if w.done() {
		return true, nil
	}

	if w.options.timeout == 0 {
		return false, errOnce
	}

	return false, nil
}

// Changed implements cluster.Follower.
func (w *waiter) Changed(o object.Object, deleted bool) (bool, error) {
	w.judge(o, deleted)

	return w.done(), nil
}

func (w *waiter) done() bool { return w.blocked || len(w.pending) == 0 }

func keyOf(o object.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// judge looks at an object that is new, has changed or is gone.
func (w *waiter) judge(o object.Object, gone bool) {
	if w.over[keyOf(o)] {
		return
	}

	v := state(item{w.where.Kind, o}, w.options.state, gone)
	if !v.reached {
		w.pending[keyOf(o)] = v
		w.blocked = w.blocked || v.blocked

		return
	}

	delete(w.pending, keyOf(o))
	w.over[keyOf(o)] = true
	w.reached = append(w.reached, waited{Reference: o.Reference(), Reached: true, Note: v.note})

	if w.c.json() {
		return
	}

	w.c.say("%s is %s", w.c.name(o, w.where.Kind), w.options.state)

	if v.note != "" {
		w.c.note("%s %s", w.c.name(o, w.where.Kind), v.note)
	}
}

// results returns what became of each object.
func (w *waiter) results() []waited {
	out := w.reached

	for _, v := range w.pending {
		out = append(out, waited{
			Reference: v.object.Reference(), Unknown: v.unknown, Because: v.because, WhatToDo: v.remedy,
			name: w.c.name(v.object, w.where.Kind),
		})
	}

	slices.SortFunc(out, func(a, b waited) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})

	return out
}

// known returns why the present state of the objects is not known, after an end of Follow.
func (w *waiter) known(ctx context.Context, err error) error {
	var lost *cluster.Lost

	switch {
	case err == nil, errors.Is(err, errOnce):
		return nil
	case errors.As(err, &lost):
		return w.unknown(err)
	case ctx.Err() == nil:
		return err
	case !w.listed:
		return w.unknown(errors.New("the API server has not answered in time"))
	}

	return nil
}

// unknown returns the error of a waiter for objects whose state is not known.
func (w *waiter) unknown(err error) error {
	is := "is"
	if w.where.Name == "" {
		is = "are"
	}

	return fmt.Errorf("it is not known whether %s %s %s: %w", w.where, is, w.options.state, err)
}

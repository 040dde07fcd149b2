package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/cluster"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
)

// The states that wait waits for.
const (
	forReady   = "ready"
	forApplied = "applied"
	forGone    = "gone"
)

// A waitOptions has the flags of wait.
type waitOptions struct {
	state   string
	timeout time.Duration
	all     bool
}

func (c *console) waitCommand() *cobra.Command {
	var o waitOptions

	cmd := &cobra.Command{
		Use:   "wait (KIND/NAME... | KIND NAME... | KIND (-l SELECTOR | --all)) [--for STATE]",
		Short: "Wait until objects are ready, applied or gone, and say why they are not",
		Long: `Wait until objects have a state:

  ready    the external resource exists and can be used, for the present spec
  applied  ready, and the external resource is as the present spec says
  gone     the object is deleted, and with it its external resource

The command watches the objects. It ends at once, with the reason, if an object is paused, or waits
for a change by a user, because waiting does not help then. After a correction outside the spec, run
"kubectl moorage why" first: then the provider has looked again.

The exit code is 2 if the state is not reached.`,
		Example: example(`
# Until a stream can be used
kubectl moorage wait stream/orders
# Until the last change of the spec is in effect
kubectl moorage wait stream/orders --for applied --timeout 2m
# Until all streams with a label are gone
kubectl moorage wait streams -l app=web --for gone`),
		ValidArgsFunction: c.completeObjects,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.wait(cmd.Context(), args, o) },
	}
	cmd.Flags().StringVar(&o.state, "for", forReady, "State: ready, applied or gone.")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second,
		"How long to wait. Zero looks once, and a negative duration waits without end.")
	cmd.Flags().BoolVar(&o.all, "all", false, "All objects of the kind.")
	complete(cmd, "for", forReady, forApplied, forGone)
	c.addSelection(cmd)
	c.addOutput(cmd, formatJSON, formatWide)

	return cmd
}

// waitSelections returns what to wait for. The objects have to be of one kind, so that one watch is enough.
func (c *console) waitSelections(s *session, args []string, o waitOptions) ([]cluster.Selection, error) {
	targets, err := parse(args)

	switch named := len(targets) > 0 && targets[0].name != ""; {
	case err != nil:
		return nil, err
	case !slices.Contains([]string{forReady, forApplied, forGone}, o.state):
		return nil, fmt.Errorf("there is no state %q to wait for; use --for %s, %s or %s", o.state, forReady, forApplied,
			forGone)
	case len(targets) == 0:
		return nil, errors.New("name objects: KIND/NAME, or a kind with -l or --all")
	case named && o.all:
		return nil, errors.New("use either names of objects or --all")
	case !named && !o.all && c.flags.labels == "":
		return nil, fmt.Errorf("name objects of %s, or use -l or --all", args[0])
	case s == nil:
		return nil, nil // the arguments are valid
	}

	return c.selections(s, targets)
}

func (c *console) wait(ctx context.Context, args []string, o waitOptions) error {
	if _, err := c.waitSelections(nil, args, o); err != nil {
		return err
	}

	s, err := c.connect(ctx)
	if err != nil {
		return err
	}

	selections, err := c.waitSelections(s, args, o)
	if err != nil {
		return err
	}

	limited, cancel := c.limit(ctx, o.timeout)
	defer cancel()

	results, err := c.follow(limited, cancel, s, selections, o)

	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return err
	}

	return c.showWaited(results, o)
}

// follow watches the selections at the same time, until each is reached, one cannot be, or ctx ends. It calls cancel to
// end the others, once all were read.
func (c *console) follow(ctx context.Context, cancel func(), s *session, selections []cluster.Selection,
	o waitOptions,
) (results []waited, err error) {
	var (
		waiters = make([]*waiter, len(selections))
		failed  = make([]error, len(selections))
		running sync.WaitGroup
		unread  sync.WaitGroup
	)

	unread.Add(len(selections))

	for i, where := range selections {
		w := newWaiter(c, where, o, sync.OnceFunc(unread.Done))
		waiters[i] = w

		running.Go(func() {
			defer w.read()

			if err := s.Follow(ctx, where, w); err != nil && ctx.Err() == nil && !errors.Is(err, errOnce) {
				failed[i] = err
			}

			if w.blocked || failed[i] != nil {
				w.read()
				unread.Wait()
				cancel()
			}
		})
	}

	running.Wait()

	for _, w := range waiters {
		results = append(results, w.results()...)
	}

	return results, errors.Join(failed...)
}

// limit returns a context that ends after a positive duration. With another duration it has no end of its own.
func limit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d > 0 {
		return context.WithTimeout(ctx, d)
	}

	return context.WithCancel(ctx)
}

// A waited is the JSON of an object that was waited for.
type waited struct {
	object.Reference

	Reached  bool   `json:"reached"`
	Because  string `json:"because,omitempty"` // why the state was not reached
	WhatToDo string `json:"whatToDo,omitempty"`

	name string // for people
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
	w.reached = append(w.reached, waited{Reference: o.Reference(), Reached: true})

	if !w.c.json() {
		w.c.say("%s is %s", w.c.name(o, w.where.Kind), w.options.state)
	}
}

// results returns what became of each object.
func (w *waiter) results() []waited {
	out := w.reached

	if !w.listed {
		out = append(out, waited{
			Reference: object.Reference{
				APIVersion: w.where.Kind.Resource.GroupVersion().String(), Kind: w.where.Kind.Name, Name: w.where.Name,
			},
			Because: "the API server has not answered in time", name: w.where.String(),
		})
	}

	for _, v := range w.pending {
		out = append(out, waited{
			Reference: v.object.Reference(), Because: v.because, WhatToDo: v.remedy, name: w.c.name(v.object, w.where.Kind),
		})
	}

	slices.SortFunc(out, func(a, b waited) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})

	return out
}

func (c *console) showWaited(results []waited, o waitOptions) error {
	missed := 0

	for _, r := range results {
		if r.Reached {
			continue
		}

		missed++

		if c.json() {
			continue
		}

		line := fmt.Sprintf("%s is not %s: %s", r.name, o.state, r.Because)
		if r.WhatToDo != "" {
			line = strings.TrimSuffix(line, ".") + ". What to do: " + r.WhatToDo
		}

		c.note("%s", line)
	}

	if c.json() {
		list := map[string]any{"apiVersion": apiVersion, "kind": "WaitList", "for": o.state, "items": results}
		if err := c.writeJSON(list); err != nil {
			return err
		}
	}

	if missed > 0 {
		return no{}
	}

	return nil
}

package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/cluster"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/reasons"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

// A change is what a command does to an object.
type change struct {
	verb   string // such as pause
	done   string // such as paused
	short  string // what the list of commands says
	values func(o object.Object) (step, error)

	await *time.Duration // how long to wait until providers confirm the change; nil: they need not
}

// A step changes the annotations of one object.
type step struct {
	values  map[string]*string          // nil: nothing is to be done
	result  string                      // instead of that of the change
	depends bool                        // on what was read
	check   func(o object.Object) error // of the changed object; may be nil
	note    string                      // for the user
}

func (c *console) resumeCommand() *cobra.Command {
	what := change{
		verb: "resume", done: "resumed", short: "Resume objects that were paused", values: resume,
	}

	return c.changing(&what, `Resume objects that were paused.`, `
# One object
kubectl moorage resume stream/orders
# All objects of a kind in the namespace, without a question
kubectl moorage resume streams --all --yes`)
}

func (c *console) reconcileCommand() *cobra.Command {
	what := change{
		verb: "reconcile", done: "reconcile requested", short: "Request a reconcile of objects now", values: c.reconcile,
	}

	return c.changing(&what, `Request a reconcile of objects now, instead of at the end of their poll interval. The command
does not wait for it: "kubectl moorage why" does, and shows the answer.`, `
# One object
kubectl moorage reconcile stream/orders
# All streams of all namespaces, without a question
kubectl moorage reconcile streams -A --all --yes`)
}

// changing returns a command that annotates objects.
func (c *console) changing(what *change, long, examples string) *cobra.Command {
	var all, yes bool

	cmd := &cobra.Command{
		Use:               what.verb + " (KIND/NAME... | KIND NAME... | KIND (-l SELECTOR | --all))",
		Short:             what.short,
		Long:              long,
		Example:           example(examples),
		ValidArgsFunction: c.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			targets, err := parse(args)

			switch named := len(targets) > 0 && targets[0].name != ""; {
			case err != nil:
				return err
			case len(targets) == 0:
				return errors.New("name objects: KIND/NAME, or a kind with -l or --all")
			case named && all:
				return errors.New("use either names of objects or --all")
			case !named && !all && c.flags.labels == "":
				return fmt.Errorf("name objects of %s, or use -l or --all", text.Line(args[0]))
			}

			return c.change(cmd.Context(), *what, targets, yes)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "All objects of the kind.")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "Do not ask before several objects are changed.")
	c.addSelection(cmd)
	c.addOutput(cmd, formatJSON, formatWide)

	return cmd
}

// resume returns the step that resumes an object. If another runtime pauses the object by its annotation, or may do so
// without ours, ours has to be "false" instead of missing.
func resume(o object.Object) (step, error) {
	switch by := o.Paused(); by {
	case object.ByPolicies:
		return step{}, fmt.Errorf("%s is paused by %s: %s", o, by, allowActions)
	case "":
		return step{result: "not paused"}, nil
	}

	s := step{
		values: map[string]*string{reasons.AnnotationKeyReconciliationPaused: nil}, depends: true, check: resumed,
	}

	if other := cmp.Or(o.OtherPause(), o.MayPause()); other != "" {
		value := "false"
		s.values[reasons.AnnotationKeyReconciliationPaused] = &value
		s.note = fmt.Sprintf("%s still has the annotation %s of another runtime, which %s=false overrides.", o, other,
			reasons.AnnotationKeyReconciliationPaused)
	}

	return s, nil
}

// allowActions is what to do about an object that its policies pause.
const allowActions = "add the actions that are allowed, such as \"*\""

// resumed returns an error if an object is paused after it was resumed.
func resumed(o object.Object) error {
	switch by := o.Paused(); by {
	case "":
		return nil
	case object.ByPolicies:
		return fmt.Errorf("%s is still paused by %s: %s", o, by, allowActions)
	default:
		return fmt.Errorf("%s is still paused by %s; run the command again", o, by)
	}
}

// reconcile returns the step that requests a reconcile of an object.
func (c *console) reconcile(o object.Object) (step, error) {
	value := c.request()
	s := step{values: map[string]*string{reasons.AnnotationKeyReconcileRequestedAt: &value}}

	if by := o.Paused(); by != "" {
		s.note = fmt.Sprintf("%s is paused by %s: it is reconciled after it was resumed.", o, by)
	}

	return s, nil
}

// request returns the value of a new request for a reconcile.
func (c *console) request() string { return c.now().UTC().Format(time.RFC3339Nano) }

// A changed is the JSON of an object that was changed, or not.
type changed struct {
	object.Reference

	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (c *console) change(ctx context.Context, what change, targets []target, yes bool) error {
	s, err := c.connect(ctx)
	if err != nil {
		return err
	}

	selections, err := c.selections(s, targets)
	if err != nil {
		return err
	}

	found, failed := s.find(ctx, selections)
	if ctx.Err() != nil {
		return fmt.Errorf("%w: nothing was changed", errInterrupted)
	}

	if targets[0].name == "" {
		if err := c.agree(ctx, s, what, found, failed, yes); err != nil {
			return err
		}
	}

	results, errs := c.applyAll(ctx, s, what, found)
	if what.await != nil && ctx.Err() == nil {
		errs = append(errs, c.awaitPauses(ctx, s, selections, found, results, *what.await)...)
	}

	if c.json() {
		if err := c.writeJSON(map[string]any{"apiVersion": apiVersion, "kind": "ChangeList", "items": results}); err != nil {
			return err
		}
	}

	return c.joined(append(failed, errs...))
}

// applyAll changes objects, several at the same time, and returns a result for each of them. After an interrupt it
// returns one error for all that are left.
func (c *console) applyAll(ctx context.Context, s *session, what change, found []item) ([]changed, []error) {
	var (
		results = make([]changed, len(found))
		errs    = make([]error, len(found))
		next    atomic.Int64
		running sync.WaitGroup
	)

	shown := c.progress(what.verb, len(found))
	defer shown.end()

	for range min(max(1, c.workers), len(found)) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(found); i = int(next.Add(1)) - 1 {
				results[i].Reference = found[i].object.Reference()

				results[i].Result, errs[i] = c.apply(ctx, s, what, found[i])
				if errs[i] == nil && (what.await == nil || results[i].Result != what.done) {
					c.report(found[i], results[i].Result)
				}

				shown.step()
			}
		})
	}

	running.Wait()

	return results, c.failures(ctx, results, errs)
}

// report writes what became of an object.
func (c *console) report(it item, result string) {
	if !c.json() {
		c.say("%s %s", c.name(it.object, it.kind), result)
	}
}

// failures returns the errors of the results, and one for all that are left after an interrupt.
func (c *console) failures(ctx context.Context, results []changed, errs []error) (failed []error) {
	var left []object.Reference

	for i, err := range errs {
		switch {
		case err == nil:
		case ctx.Err() != nil:
			left = append(left, results[i].Reference)
			results[i].Error = errInterrupted.Error()
		default:
			failed = append(failed, err)
			results[i].Error = text.Line(err.Error())
		}
	}

	if len(left) > 0 {
		failed = append(failed, fmt.Errorf("%w: %d of %s may be unchanged (%s)", errInterrupted, len(left),
			count(len(results)), names(left)))
	}

	return failed
}

// attempts is how often a step is chosen anew for an object that changes meanwhile.
const attempts = 3

// apply changes an object, and returns the result in words. If the object was changed since it was read, the step is
// chosen anew.
func (c *console) apply(ctx context.Context, s *session, what change, it item) (string, error) {
	for attempt := 1; ; attempt++ {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}

		step, err := what.values(it.object)
		if err != nil {
			return "", err
		}

		if step.values == nil {
			return step.result, nil
		}

		err = s.Annotate(ctx, it.kind, it.object, step.values, step.depends)
		if cluster.Conflict(err) && step.depends && attempt < attempts && s.reread(ctx, it) {
			continue
		}

		if err == nil && step.check != nil {
			err = step.check(it.object)
		}

		if err != nil {
			return "", err
		}

		if step.note != "" {
			c.note("%s", step.note)
		}

		return what.done, nil
	}
}

// reread reads an object again. It returns false if it cannot, or the object was replaced by another one of its name.
func (s *session) reread(ctx context.Context, it item) bool {
	o, err := s.Get(ctx, it.selection())
	if err != nil || o.GetUID() != it.object.GetUID() {
		return false
	}

	it.object.Object = o.Object

	return true
}

// agree returns an error unless all objects of the kinds were found, and the user confirms their change.
func (c *console) agree(ctx context.Context, s *session, what change, found []item, failed []error, yes bool) error {
	switch {
	case len(failed) > 0:
		return fmt.Errorf("nothing was changed: %w", c.joined(failed))
	case len(found) == 0:
		return fmt.Errorf("no object was found %s", c.where(s))
	}

	return c.confirm(ctx, what, found, yes)
}

// errNotConfirmed is returned if the user does not confirm a change.
var errNotConfirmed = errors.New("nothing was changed: it was not confirmed (--yes does not ask)")

// confirm asks before objects are changed that were not named.
func (c *console) confirm(ctx context.Context, what change, found []item, yes bool) error {
	if yes {
		return nil
	}

	var of []object.Reference
	for _, it := range found {
		of = append(of, it.object.Reference())
	}

	fmt.Fprint(c.err, text.Line(fmt.Sprintf("%s %s (%s)? [y/N]", what.verb, count(len(found)), names(of)))+" ")

	line, err := interruptible(ctx, func() (string, error) { return bufio.NewReader(c.in).ReadString('\n') })
	if err != nil {
		fmt.Fprintln(c.err)
	}

	if errors.Is(err, errInterrupted) {
		return fmt.Errorf("%w: nothing was changed", err)
	}

	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}

	return errNotConfirmed
}

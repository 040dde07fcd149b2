package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/cluster"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/reasons"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

func (c *console) whyCommand() *cobra.Command {
	var (
		timeout time.Duration
		ask     bool
	)

	cmd := &cobra.Command{
		Use:   "why (KIND/NAME | KIND NAME)",
		Short: "Ask the provider why an object is as it is, and what to do",
		Long: `Ask the provider why an object is as it is: the command requests a reconcile, waits for the
event that answers the request, and shows the answer with the conditions of the object, what they
mean, and what to do.

Without the right to patch the object, or with --ask=false, the command shows what the object says,
and changes nothing.`,
		Example: example(`
# Why is the stream not ready?
kubectl moorage why stream/orders
# Only what the object says, without a request to the provider
kubectl moorage why stream orders --ask=false`),
		ValidArgsFunction: c.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.why(cmd.Context(), args, ask, timeout)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second,
		"How long to wait for the answer. Zero waits without end.")
	cmd.Flags().BoolVar(&ask, "ask", true, "Request a reconcile, which the provider answers.")
	c.addOutput(cmd, formatJSON, formatWide)

	return cmd
}

// An explanation is the JSON of why. Fields are added, never renamed.
type explanation struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Object     object.Reference   `json:"object"`
	Deletion   *deletion          `json:"deletion,omitempty"`
	Answer     string             `json:"answer,omitempty"`   // of the provider
	NoAnswer   string             `json:"noAnswer,omitempty"` // why there is no answer
	Conditions []explainedReasons `json:"conditions"`
	Drift      object.Drift       `json:"drift"`
}

// A deletion is the JSON of an object that is being deleted.
type deletion struct {
	RequestedAt metav1.Time `json:"requestedAt"`
	Finalizers  []string    `json:"finalizers,omitempty"` // that keep the object
}

type explainedReasons struct {
	object.Condition

	Meaning  string `json:"meaning,omitempty"`
	WhatToDo string `json:"whatToDo,omitempty"`
}

func (c *console) why(ctx context.Context, args []string, ask bool, timeout time.Duration) error {
	s, it, err := c.one(ctx, args)
	if err != nil {
		return err
	}

	e := explanation{APIVersion: apiVersion, Kind: "Explanation"}

	if ask {
		e.Answer, e.NoAnswer = c.ask(ctx, s, it, timeout)

		if ctx.Err() != nil {
			return errInterrupted
		}

		if it.object, err = s.Get(ctx, it.selection()); err != nil {
			if cluster.Missing(err, it.object.GetName()) {
				return fmt.Errorf("%w any more: it was deleted meanwhile", err)
			}

			return err
		}
	} else {
		e.NoAnswer = "the provider was not asked (--ask=false)"
	}

	e.Object, e.Drift = it.object.Reference(), it.object.Drift()
	e.Conditions = it.explain()

	if at, deleted := it.object.Deleted(); deleted {
		e.Deletion = &deletion{metav1.NewTime(at), it.object.Finalizers()}
	}

	if c.json() {
		return c.writeJSON(e)
	}

	return c.showExplanation(e)
}

// selection returns the selection of the object alone.
func (i item) selection() cluster.Selection {
	return cluster.Selection{Kind: i.kind, Namespace: i.object.GetNamespace(), Name: i.object.GetName()}
}

// An asker requests a reconcile once it sees the events of an object, and waits for the answer.
type asker struct {
	ask    func() error
	value  string // of the request
	asked  bool
	answer string
}

// Listed implements cluster.Follower.
func (a *asker) Listed(events []object.Object) (bool, error) {
	if !a.asked {
		if err := a.ask(); err != nil {
			return false, err
		}

		a.asked = true
	}

	for _, e := range events {
		if done, err := a.Changed(e, false); done || err != nil {
			return done, err
		}
	}

	return false, nil
}

// Changed implements cluster.Follower.
func (a *asker) Changed(o object.Object, deleted bool) (bool, error) {
	e, ok := cluster.EventOf(o)
	if !ok || deleted || e.Annotations[reasons.AnnotationKeyReconcileRequestedAt] != a.value {
		return false, nil
	}

	a.answer = e.Message

	return true, nil
}

// A handledWaiter waits until the status of an object says that a request was handled. It stands in for an asker if the
// user may not read events.
type handledWaiter struct{ value string }

// Listed implements cluster.Follower.
func (h handledWaiter) Listed(objects []object.Object) (bool, error) {
	return len(objects) == 0 || objects[0].Handled() == h.value, nil
}

// Changed implements cluster.Follower.
func (h handledWaiter) Changed(o object.Object, deleted bool) (bool, error) {
	return deleted || o.Handled() == h.value, nil
}

// ask requests a reconcile, and returns the answer of the provider, or why there is none.
func (c *console) ask(ctx context.Context, s *session, it item, timeout time.Duration) (answer, none string) {
	if by := it.object.Paused(); by != "" {
		return "", fmt.Sprintf("the object is paused by %s, and its provider answers no request", by)
	}

	ctx, cancel := c.limit(ctx, timeout)
	defer cancel()

	value := c.request()
	a := &asker{value: value, ask: func() error {
		return s.Annotate(ctx, it.kind, it.object, map[string]*string{
			reasons.AnnotationKeyReconcileRequestedAt: &value,
		}, false)
	}}

	var lost *cluster.Lost

	err := s.Follow(ctx, cluster.Events(it.kind, it.object.GetNamespace(), it.object.GetName(),
		string(it.object.GetUID())), a)

	switch {
	case err == nil:
		return a.answer, ""
	case errors.As(err, &lost):
		return "", lost.Error()
	case ctx.Err() != nil:
		return "", silence(timeout)
	case !cluster.Forbidden(err) || a.asked:
		return "", err.Error()
	}

	events := err
	if err := a.ask(); err != nil {
		return "", err.Error()
	}

	return "", c.await(ctx, s, it, value, timeout, events)
}

// await waits until a request was handled whose answer cannot be read, and returns why there is no answer.
func (c *console) await(ctx context.Context, s *session, it item, value string, timeout time.Duration,
	events error,
) string {
	var lost *cluster.Lost

	switch err := s.Follow(ctx, it.selection(), handledWaiter{value}); {
	case errors.As(err, &lost):
		return lost.Error()
	case ctx.Err() != nil:
		return silence(timeout)
	case err != nil:
		return fmt.Sprintf("the provider was asked, and its answer cannot be read: %v; %v", events, err)
	}

	return fmt.Sprintf("the provider has handled the request, and its answer cannot be read: %v", events)
}

// silence returns why the provider may not have answered.
func silence(timeout time.Duration) string {
	return fmt.Sprintf("the provider has not answered within %s (--timeout): it may be stopped, or busy, or wait for a "+
		"list or for a limit of its connection, or be of a version that does not answer", timeout)
}

// explain returns the conditions with what their reasons mean, and what to do.
func (i item) explain() []explainedReasons {
	out := []explainedReasons{}

	for _, cond := range i.object.Conditions() {
		t, _ := reasons.Of(cond.Type, cond.Reason)

		if by := i.object.Paused(); cond.Type == reasons.TypeSynced && cond.Reason == reasons.ReasonReconcilePaused {
			t.Remedy = i.resumption(by)
			if by == "" {
				t.Remedy = "Wait: nothing pauses the object any more, and its provider has not reconciled it yet."
			}
		}

		out = append(out, explainedReasons{cond, t.Meaning, t.Remedy})
	}

	return out
}

func (c *console) showExplanation(e explanation) error {
	c.say("%s/%s", strings.ToLower(e.Object.Kind), e.Object.Name)

	if e.Answer != "" {
		c.say("The provider answers: %s", text.Quote(e.Answer))
	} else {
		c.say("No answer of the provider: %s.", strings.TrimSuffix(e.NoAnswer, "."))
		c.say("This is what the object says:")
	}

	if d := e.Deletion; d != nil {
		c.say("The deletion was requested %s ago. Finalizers that keep the object: %s.",
			text.Age(c.now(), d.RequestedAt.Time), strings.Join(d.Finalizers, ", "))
	}

	fmt.Fprintln(c.out)

	if err := c.showConditions(e); err != nil {
		return err
	}

	if len(e.Drift.Fields) > 0 {
		fmt.Fprintln(c.out)

		table := text.NewTable(c.out, "FIELD", "DESIRED", "OBSERVED")
		for _, f := range c.fields(e.Drift) {
			table.Row(f[:]...)
		}

		if err := table.Flush(); err != nil {
			return err
		}
	}

	if todo := remedies(e.Conditions); len(todo) > 0 {
		fmt.Fprintln(c.out, "\nWhat to do:")

		for _, line := range todo {
			fmt.Fprintln(c.out, "  "+text.Line(line))
		}
	}

	return nil
}

func (c *console) showConditions(e explanation) error {
	if len(e.Conditions) == 0 {
		c.say("The object has no conditions: its provider has not reconciled it yet, or is not running.")

		return nil
	}

	table := text.NewTable(c.out, "CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE")

	for _, cond := range e.Conditions {
		status := string(cond.Status)
		if cond.ObservedGeneration != 0 && cond.ObservedGeneration < e.Object.Generation {
			status += " (earlier spec)"
		}

		message := cond.Message
		if message == "" && !cond.True() {
			message = cond.Meaning
		}

		table.Row(cond.Type, status, text.Age(c.now(), cond.LastTransitionTime.Time), cond.Reason, message)
	}

	return table.Flush()
}

// remedies returns what to do about the conditions that are not True.
func remedies(conditions []explainedReasons) (out []string) {
	for _, cond := range conditions {
		_, known := reasons.Of(cond.Type, cond.Reason)

		switch {
		case cond.True() || cond.Type == reasons.TypeStalled || cond.Type == reasons.TypeReconciling:
		case cond.WhatToDo != "":
			out = append(out, fmt.Sprintf("%s (%s): %s", cond.Type, text.Word(cond.Reason), cond.WhatToDo))
		case !known && cond.Type == reasons.TypeSynced:
			out = append(out, fmt.Sprintf("%s (%s): This reason is one of the provider: see its documentation.", cond.Type,
				text.Word(cond.Reason)))
		}
	}

	return out
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

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

The exit code is 2 if the state is not reached, and 1 if that is not known: the API server is away, or
the provider does not say it.`,
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

	waiters, failed := c.follow(limited, cancel, s, selections, o)
	if len(failed) == 0 && ctx.Err() == nil {
		failed = lookOnceMore(ctx, s, waiters)
	}

	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case len(failed) > 0:
		return c.joined(failed)
	}

	var results []waited
	for _, w := range waiters {
		results = append(results, w.results()...)
	}

	return c.showWaited(results, o)
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
	Unknown  bool   `json:"unknown,omitempty"` // the provider does not say whether the state was reached
	Note     string `json:"note,omitempty"`    // what is not known of a state that was reached
	Because  string `json:"because,omitempty"` // why the state was not reached, or is not known
	WhatToDo string `json:"whatToDo,omitempty"`

	name string // for people
}

// showWaited shows which objects do not have the state, and why.
func (c *console) showWaited(results []waited, o waitOptions) error {
	if c.json() {
		list := map[string]any{"apiVersion": apiVersion, "kind": "WaitList", "for": o.state, "items": results}
		if err := c.writeJSON(list); err != nil {
			return err
		}
	}

	var (
		answer  error
		unknown []error
	)

	for _, r := range results {
		switch {
		case r.Reached:
		case r.Unknown:
			unknown = append(unknown, fmt.Errorf("it is not known whether %s is %s: %s", r.name, o.state, r.Because))
		case c.json():
			answer = no{}
		default:
			answer = no{}

			c.note("%s", r.sentence(o))
		}
	}

	if len(unknown) > 0 {
		return c.joined(unknown)
	}

	return answer
}

// sentence says why an object does not have the state, and what to do.
func (r waited) sentence(o waitOptions) string {
	line := fmt.Sprintf("%s is not %s: %s", r.name, o.state, r.Because)
	if r.WhatToDo != "" {
		line = strings.TrimSuffix(line, ".") + ". What to do: " + r.WhatToDo
	}

	return line
}

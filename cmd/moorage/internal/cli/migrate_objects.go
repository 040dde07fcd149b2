package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/migrate/objects"
)

type migrateObjectsCommand struct {
	Kinds      []string            `arg:"" optional:"" name:"kind" help:"${help_migrateobjects_kinds}"`
	Configs    []string            `placeholder:"KIND" help:"${help_migrateobjects_configs}"`
	BackTo     objects.Predecessor `enum:"${origins}" default:"" placeholder:"ORIGIN" help:"${help_migrateobjects_backto}"`
	Apply      bool                `help:"Change the objects. The default is to print the kubectl commands that would."`
	Kubeconfig string              `placeholder:"FILE" help:"Kubeconfig of the cluster. The default is that of kubectl."`
	Context    string              `placeholder:"NAME" help:"${help_migrateobjects_context}"`
}

// errUndecided is returned after objects were printed that need a decision.
var errUndecided = errors.New("some objects are left: decide as printed above, and run this again")

// Run prints the changes that objects need, or makes them. It is idempotent.
func (c *migrateObjectsCommand) Run(in *invocation) error {
	if len(c.Kinds)+len(c.Configs) == 0 {
		return errors.New("name the kinds of managed resources, and those of configurations by --configs")
	}

	if _, err := exec.LookPath("kubectl"); err != nil {
		return errors.New(
			"kubectl is missing on this machine, and is what reads and changes objects: moorage doctor says how to get it")
	}

	var changes []objects.Change

	for i, resource := range append(c.Kinds, c.Configs...) {
		role := objects.Managed
		if i >= len(c.Kinds) {
			role = objects.Configuration
		}

		found, err := c.plan(in.ctx, resource, role)
		if err != nil {
			return err
		}

		changes = append(changes, found...)
	}

	return c.carryOut(in, changes)
}

// plan returns the changes of the objects of a kind.
func (c *migrateObjectsCommand) plan(ctx context.Context, resource string, role objects.Role) ([]objects.Change,
	error) {
	if c.BackTo != "" {
		return objects.PlanBack(ctx, c.kubectl, resource, role, c.BackTo)
	}

	return objects.Plan(ctx, c.kubectl, resource, role)
}

// cluster returns the options of kubectl that select the cluster.
func (c *migrateObjectsCommand) cluster() (options []string) {
	if c.Kubeconfig != "" {
		options = append(options, "--kubeconfig="+c.Kubeconfig)
	}

	if c.Context != "" {
		options = append(options, "--context="+c.Context)
	}

	return options
}

// kubectl runs kubectl.
func (c *migrateObjectsCommand) kubectl(ctx context.Context, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "kubectl", append(args, c.cluster()...)...).Output()

	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}

	return out, err
}

// carryOut prints each change, and makes it if requested. A failure of one does not prevent the others.
func (c *migrateObjectsCommand) carryOut(in *invocation, changes []objects.Change) error {
	made, waiting, left := 0, 0, 0

	for _, change := range changes {
		for _, conflict := range change.Conflicts {
			left++

			fmt.Fprintf(in.err, "%s: %s\n", change.Key(), conflict)
		}

		for _, note := range change.Notes {
			fmt.Fprintf(in.out, "# %s: %s\n", change.Key(), note)
		}

		waiting += len(change.Pending)

		if change.Empty() {
			continue
		}

		fmt.Fprintf(in.out, "# %s: %s\n", change.Key(), change.What())

		if !c.Apply {
			made++

			fmt.Fprintln(in.out, change.Command(c.cluster()...))
		} else if err := objects.Apply(in.ctx, c.kubectl, change); err != nil {
			left++

			fmt.Fprintf(in.err, "%s: %v\n", change.Key(), err)
		} else {
			made++
		}
	}

	c.report(in, made, waiting, left)

	if left > 0 {
		return errUndecided
	}

	return nil
}

// report prints a summary and the next step.
func (c *migrateObjectsCommand) report(in *invocation, made, waiting, left int) {
	done := "would change: run the commands, or ask again with --apply"
	if c.Apply {
		done = "were changed"
	}

	fmt.Fprintf(in.out, "# %d objects %s.\n", made, done)

	if c.BackTo != "" {
		fmt.Fprintf(in.out, "# When nothing is left, start the provider of %s.\n", c.BackTo)
	}

	if c.BackTo != "" && left > 0 {
		fmt.Fprintln(in.out, "# To let Moorage do what is left: run the command without --back-to, with --apply, "+
			"and start the provider on Moorage after that.")
	}

	if waiting > 0 {
		fmt.Fprintf(in.out,
			"# %d finalizers of the runtime before stay until Moorage's are there: start the new provider, and ask again when "+
				"its objects are Synced.\n", waiting)
	}
}

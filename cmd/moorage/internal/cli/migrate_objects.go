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
	Kinds      []string            `arg:"" optional:"" name:"kind" help:"Kinds of managed resources, as kubectl get takes them, such as roles.example.org."`
	Configs    []string            `placeholder:"KIND" help:"Kinds of provider configurations, as kubectl get takes them, such as providerconfigs.example.org."`
	BackTo     objects.Predecessor `enum:",krateo-v0.7,krateo-v0.9,crossplane-v1,crossplane-v2" default:"" placeholder:"ORIGIN" help:"Give the objects back to the runtime before: krateo-v0.7, krateo-v0.9, crossplane-v1 or crossplane-v2. The provider on Moorage has to be stopped. Before you start it again, run the command without this flag, with --apply: it takes over what went back."`
	Apply      bool                `help:"Change the objects. The default is to print the kubectl commands that would."`
	Kubeconfig string              `placeholder:"FILE" help:"Kubeconfig of the cluster. The default is that of kubectl."`
	Context    string              `placeholder:"NAME" help:"Context of the kubeconfig. The default is its current context."`
}

// errUndecided is that objects are left to a person. They were told.
var errUndecided = errors.New("some objects are left: decide what is told above, and ask again")

// Run shows what has to change in objects, or changes it. It can be run again at any time:
// what is done is not done again.
func (c *migrateObjectsCommand) Run(in *invocation) error {
	if len(c.Kinds)+len(c.Configs) == 0 {
		return errors.New("name the kinds of managed resources, and those of configurations by --configs")
	}

	if _, err := exec.LookPath("kubectl"); err != nil {
		return errors.New("kubectl is missing on this machine, and is what reads and changes objects: moorage doctor says how to get it")
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

// plan returns what is to be done with the objects of a kind.
func (c *migrateObjectsCommand) plan(ctx context.Context, resource string, role objects.Role) ([]objects.Change, error) {
	if c.BackTo != "" {
		return objects.PlanBack(ctx, c.kubectl, resource, role, c.BackTo)
	}

	return objects.Plan(ctx, c.kubectl, resource, role)
}

// cluster returns the options of kubectl that say which cluster is meant.
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

// carryOut tells each change, and makes it if that is asked for. One that fails keeps no
// other from being made.
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

		waiting += len(change.Waits)

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

	c.tell(in, made, waiting, left)

	if left > 0 {
		return errUndecided
	}

	return nil
}

// tell says what was done, and what comes next.
func (c *migrateObjectsCommand) tell(in *invocation, made, waiting, left int) {
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
		fmt.Fprintf(in.out, "# %d finalizers of the runtime before stay until Moorage's are there: start the new provider, and ask again when its objects are Synced.\n", waiting)
	}
}

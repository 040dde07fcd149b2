package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/cluster"
)

// completionTimeout bounds the requests for a completion: a shell waits for it.
const completionTimeout = 3 * time.Second

// complete adds the values of a flag to the completion of a shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}

// must panics with an error that only a defect of this package causes.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// completeFlags adds contexts and namespaces to the completion of a shell.
func (c *console) completeFlags(root *cobra.Command) {
	must(root.RegisterFlagCompletionFunc("context",
		func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return c.access.Contexts(), cobra.ShellCompDirectiveNoFileComp
		}))
	must(root.RegisterFlagCompletionFunc("namespace",
		func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return c.candidates(cmd.Context(), []string{"namespaces"}), cobra.ShellCompDirectiveNoFileComp
		}))
}

// completeObjects completes kinds of managed resources, and names of their objects.
func (c *console) completeObjects(cmd *cobra.Command, args []string, word string) ([]cobra.Completion,
	cobra.ShellCompDirective,
) {
	kind, _, named := strings.Cut(word, "/")

	switch {
	case named:
		var out []string
		for _, name := range c.candidates(cmd.Context(), []string{kind}) {
			out = append(out, kind+"/"+name)
		}

		return out, cobra.ShellCompDirectiveNoFileComp
	case len(args) == 0:
		return c.candidates(cmd.Context(), nil), cobra.ShellCompDirectiveNoFileComp
	case !strings.Contains(args[0], "/"):
		return slices.DeleteFunc(c.candidates(cmd.Context(), args[:1]), func(name string) bool {
			return slices.Contains(args[1:], name)
		}), cobra.ShellCompDirectiveNoFileComp
	}

	return nil, cobra.ShellCompDirectiveNoFileComp
}

// candidates returns the kinds of managed resources, or the names of the objects of a kind. It returns nothing if that
// cannot be read: a completion reports no errors.
func (c *console) candidates(ctx context.Context, kind []string) (out []string) {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()

	s, err := c.connect(ctx)
	if err != nil {
		return nil
	}

	if len(kind) == 0 {
		for _, k := range s.kinds.Managed() {
			name := k.Resource.Resource
			if !s.kinds.Unique(name) {
				name = k.String()
			}

			out = append(out, name)
		}

		return out
	}

	k, err := s.kinds.Find(kind[0])
	if err != nil {
		return nil
	}

	out, err = s.Names(ctx, cluster.Selection{Kind: k, Namespace: s.Namespace})
	if err != nil {
		return nil
	}

	return out
}

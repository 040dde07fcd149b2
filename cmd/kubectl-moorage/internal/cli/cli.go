// Package cli is the command line of kubectl moorage. Start with [Main].
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/cluster"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

// Exit codes.
const (
	exitFailed = 1 // the command failed, or could not judge everything
	exitNo     = 2 // the answer is no: something differs, or the awaited state was not reached
)

// A no is the error of a command whose answer is no. Its text was printed already, if it is empty.
type no struct{ text string }

func (n no) Error() string { return n.text }

// A console is what every command uses.
type console struct {
	access   *cluster.Access
	in       io.Reader
	out, err io.Writer
	now      func() time.Time
	limit    func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	flags    common
	workers  int  // how many objects are changed at the same time; 0: one
	terminal bool // err is a terminal

	mu    sync.Mutex // for out, err and drawn
	drawn bool       // the last line of err is a progress
}

// common are the flags that most commands have.
type common struct {
	everywhere bool
	labels     string
	output     string
}

// workers is how many objects are changed at the same time. The API server says if that is too much: a client waits as
// long as its priority and fairness demands.
const workers = 8

// Main runs the command that the arguments name. It returns the exit code: 0 for success, 1 if the command failed, and
// 2 if the answer of the command is no.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(ctx, args, &console{
		in: stdin, out: stdout, err: stderr, now: time.Now, limit: limit, workers: workers, terminal: terminal(stderr),
	})
}

func run(ctx context.Context, args []string, c *console) int {
	out := &output{to: c.out}
	c.out = out

	root := newRoot(c)
	root.SetArgs(args)

	err := root.ExecuteContext(ctx)
	if out.err != nil {
		err = out.err // the user does not have the answer
	}

	var answer no

	switch {
	case err == nil:
		return 0
	case errors.As(err, &answer):
		if answer.text != "" {
			fmt.Fprintln(c.err, text.Line(answer.text))
		}

		return exitNo
	default:
		fmt.Fprintln(c.err, "kubectl moorage: "+text.Line(err.Error()))

		return exitFailed
	}
}

const about = `kubectl moorage answers questions about managed resources: in which fields they differ from their
spec (drift), why they are as they are (why), and what happened to them (history). It also waits for
them, and pauses, resumes and reconciles them.

It needs no rights but those on the objects and on their events, and says which right is missing.
Objects are named as for kubectl: "stream orders" or "stream/orders".

Exit codes: 0 success; 1 the command failed, or could not judge everything; 2 the answer is no.`

// newRoot returns the command with all its subcommands.
func newRoot(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:               "kubectl-moorage",
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl moorage"},
		Short:             "Ask managed resources in what they differ, and why",
		Long:              about,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("there is no command %q; kubectl moorage --help lists the commands", args[0])
			}

			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	root.SetHelpCommand(helpCommand())

	c.access = cluster.NewAccess(root.PersistentFlags())
	root.AddCommand(c.driftCommand(), c.whyCommand(), c.historyCommand(), c.waitCommand(), c.pauseCommand(),
		c.resumeCommand(), c.reconcileCommand(), completionCommand(), c.versionCommand())

	c.completeFlags(root)

	return root
}

// helpCommand returns the command help, which is the same as the flag --help of the command that it names.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return fmt.Errorf("there is no command %q; kubectl moorage --help lists the commands",
					strings.Join(args, " "))
			}

			found.InitDefaultHelpFlag()

			return found.Help()
		},
	}
}

// example returns the examples of a command, as its help shows them.
func example(lines string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n  ")
}

// addOutput adds the flag -o.
func (c *console) addOutput(cmd *cobra.Command, formats ...string) {
	help := "Format of the output: " + strings.Join(formats, " or ") + "."
	cmd.Flags().StringVarP(&c.flags.output, "output", "o", "", help)
	complete(cmd, "output", formats...)

	cmd.PreRunE = func(*cobra.Command, []string) error {
		for _, f := range append(formats, "") {
			if f == c.flags.output {
				return nil
			}
		}

		return fmt.Errorf("there is no format %q of the output; use -o %s", c.flags.output,
			strings.Join(formats, " or -o "))
	}
}

// addSelection adds the flags -A and -l.
func (c *console) addSelection(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&c.flags.everywhere, "all-namespaces", "A", false, "All namespaces.")
	cmd.Flags().StringVarP(&c.flags.labels, "selector", "l", "", "Selector of labels, such as app=web.")
}

// json reports whether the output is JSON, for programs.
func (c *console) json() bool { return c.flags.output == formatJSON }

// wide reports whether the output has additional columns.
func (c *console) wide() bool { return c.flags.output == formatWide }

// The formats of the output.
const (
	formatJSON = "json"
	formatWide = "wide"
)

// name returns an object for a line of the output: with its namespace if objects of several are looked at.
func (c *console) name(o object.Object, k cluster.Kind) string {
	out := o.String()
	if c.wide() && k.Resource.Group != "" {
		out = strings.ToLower(k.Name) + "." + k.Resource.Group + "/" + o.GetName()
	}

	if (c.wide() || c.flags.everywhere) && o.GetNamespace() != "" {
		out += " in namespace " + o.GetNamespace()
	}

	return text.Line(out)
}

// note writes a line for the user, beside the output.
func (c *console) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()

	fmt.Fprintln(c.err, text.Line(fmt.Sprintf(format, args...)))
}

// say writes a line of the output.
func (c *console) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()

	fmt.Fprintln(c.out, text.Line(fmt.Sprintf(format, args...)))
}

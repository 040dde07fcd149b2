// Package command is the command line of devcluster: flags, what is printed,
// and when the program ends. [Run] is the place to start.
package command

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/component-base/version"
)

const usage = `Usage:
  devcluster serve --dir D [flags]        run a Kubernetes API server on 127.0.0.1
  devcluster kubeconfig --dir D --user U  print a kubeconfig for a user of it
  devcluster version                      print what is inside

"devcluster COMMAND --help" lists the flags.
`

// streams are the standard ones, or a test's.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// Run runs the command that args name and returns the exit code: 0, 1 if it
// failed, 2 if it was called wrongly.
func Run(args []string, in io.Reader, out, err io.Writer) int {
	s := streams{in: in, out: out, err: err}
	failure := dispatch(args, s)
	switch {
	case failure == nil || errors.Is(failure, pflag.ErrHelp):
		return 0
	case errors.As(failure, new(misuse)):
		fmt.Fprintf(s.err, "devcluster: %v\n\n%s", failure, usage)
		return 2
	default:
		fmt.Fprintf(s.err, "devcluster: %v\n", failure)
		return 1
	}
}

// misuse is an error that the usage helps with.
type misuse string

func (m misuse) Error() string { return string(m) }

func dispatch(args []string, s streams) error {
	if len(args) == 0 {
		return misuse("no command given")
	}
	switch args[0] {
	case "serve":
		return serve(args[1:], s)
	case "kubeconfig":
		return kubeconfig(args[1:], s)
	case "version":
		return printVersion(args[1:], s)
	case "help", "--help", "-h":
		_, err := io.WriteString(s.out, usage)
		return err
	default:
		return misuse(fmt.Sprintf("there is no command %q", args[0]))
	}
}

// parse reads the flags of one command, which has no other arguments.
func parse(flags *pflag.FlagSet, args []string, s streams) error {
	flags.SortFlags = false
	flags.SetOutput(s.out)
	flags.Usage = func() {
		fmt.Fprintf(s.out, "Flags of devcluster %s:\n%s", flags.Name(), flags.FlagUsages())
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case err != nil:
		return misuse(flags.Name() + ": " + err.Error())
	case flags.NArg() > 0:
		return misuse(fmt.Sprintf("%s: does not take %q", flags.Name(), flags.Args()))
	}
	return nil
}

func printVersion(args []string, s streams) error {
	if err := parse(pflag.NewFlagSet("version", pflag.ContinueOnError), args, s); err != nil {
		return err
	}
	own, etcd := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		own = info.Main.Version
		for _, m := range info.Deps {
			if strings.HasPrefix(m.Path, "go.etcd.io/etcd/server/") {
				etcd = m.Version
			}
		}
	}
	_, err := fmt.Fprintf(s.out, "devcluster %s\nkubernetes %s\netcd %s\n", own, version.Get().GitVersion, etcd)
	return err
}

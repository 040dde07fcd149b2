// Package cli is the command line of moorage. Start with [Main].
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

// A grammar is the command line as kong parses it.
type grammar struct {
	Init initCommand `cmd:"" help:"Make the repository of a new provider in an empty folder."`
	Add  struct {
		Kind           kindCommand           `cmd:"" help:"${help_kind}"`
		Providerconfig providerConfigCommand `cmd:"" help:"${help_providerconfig}"`
	} `cmd:"" help:"Add something to the provider in this folder."`
	Diff    diffCommand `cmd:"" help:"${help_diff}"`
	Migrate struct {
		Code    migrateCommand        `cmd:"" default:"withargs" help:"${help_code}"`
		Objects migrateObjectsCommand `cmd:"" help:"${help_objects}"`
	} `cmd:"" help:"Bring a provider from another runtime to Moorage: its code, and its objects in a cluster."`
	Dev    devCommand    `cmd:"" help:"${help_dev}"`
	Test   testCommand   `cmd:"" help:"Run the tests of the provider: units, conformance, and budgets of requests."`
	Doctor doctorCommand `cmd:"" help:"Say what is missing on this machine, what it is for and how to get it."`
}

// An invocation is passed to every command.
type invocation struct {
	ctx context.Context //nolint:containedctx // kong hands this to the command as its only argument
	in  io.Reader
	out io.Writer
	err io.Writer
}

// errConflict is returned by a command that left files alone, after it has reported them.
var errConflict = errors.New("some files were left alone")

// An exit is the panic by which kong returns for --help, without ending the process.
type exit int

// Main runs the command that the arguments name. It returns the exit code: 0 for success, 1 for failure and 2 for
// arguments that cannot be parsed.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if e := recover(); e != nil {
			status, ok := e.(exit)
			if !ok {
				panic(e)
			}

			code = int(status)
		}
	}()

	var g grammar

	parser, err := kong.New(&g,
		kong.Name("moorage"),
		kong.Description(
			"Moorage makes Kubernetes providers: repositories that compile, and whose tests pass, before their author wrote a "+
				"line."),
		kong.Writers(stdout, stderr),
		helpTexts(),
		kong.Exit(func(status int) { panic(exit(status)) }),
		kong.UsageOnError(),
	)
	if err != nil {
		fmt.Fprintln(stderr, "moorage:", err)

		return 1
	}

	if len(args) == 0 {
		args = []string{"--help"}
	}

	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "moorage: %v\nmoorage --help lists what there is.\n", err)

		return 2
	}

	if err := parsed.Run(&invocation{ctx, stdin, stdout, stderr}); err != nil {
		fmt.Fprintln(stderr, "moorage:", err)

		return 1
	}

	return 0
}

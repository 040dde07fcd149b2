// Package cli is the command line of moorage. Start with [Main].
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

// A grammar is what can be asked for.
type grammar struct {
	Init initCommand `cmd:"" help:"Make the repository of a new provider in an empty folder."`
	Add  struct {
		Kind           kindCommand           `cmd:"" help:"Add a kind of managed resource: its type, its client, a fake of its API, and its tests."`
		Providerconfig providerConfigCommand `cmd:"" help:"Add ProviderConfig and ClusterProviderConfig, which say where the API is and with which credentials."`
	} `cmd:"" help:"Add something to the provider in this folder."`
	Diff    diffCommand `cmd:"" help:"Show what the templates of this moorage would change in the provider in this folder, and change it, hunk by hunk."`
	Migrate struct {
		Code    migrateCommand        `cmd:"" default:"withargs" help:"Show what has to change in the code of a provider that was written for another runtime, or change it. This is the default command: moorage migrate --apply is moorage migrate code --apply."`
		Objects migrateObjectsCommand `cmd:"" help:"Show what has to change in the annotations and finalizers of objects that another runtime left in a cluster, or change it."`
	} `cmd:"" help:"Bring a provider from another runtime to Moorage: its code, and its objects in a cluster."`
	Dev    devCommand    `cmd:"" help:"Run the provider on this machine, with an API server and the fake of its API; make both again when their source changes."`
	Test   testCommand   `cmd:"" help:"Run the tests of the provider: units, conformance, and budgets of requests."`
	Doctor doctorCommand `cmd:"" help:"Say what is missing on this machine, what it is for and how to get it."`
}

// An invocation is what commands share.
type invocation struct {
	ctx context.Context //nolint:containedctx // kong hands this to the command as its only argument
	in  io.Reader
	out io.Writer
	err io.Writer
}

// errConflict is the failure of a command that left files alone. It was told.
var errConflict = errors.New("some files were left alone")

// exit is how kong leaves, for --help, without ending the process.
type exit int

// Main does what the arguments say and returns the exit code: 0 for success, 1 for
// failure and 2 for arguments that nobody understands.
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
		kong.Description("Moorage makes Kubernetes providers: repositories that compile, and whose tests pass, before their author wrote a line."),
		kong.Writers(stdout, stderr),
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

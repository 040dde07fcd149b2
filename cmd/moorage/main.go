// Command moorage makes providers: a repository that compiles and whose tests
// pass, and kinds that are added to it. "moorage --help" lists what it does.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)

	stop()
	os.Exit(code)
}

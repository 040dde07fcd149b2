// Command moorage generates providers: a repository that compiles and whose tests pass, and kinds that are added to
// it. "moorage --help" lists its commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/cli"
)

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		ends = append(ends, syscall.SIGHUP)
	}

	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	code := cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)

	stop()
	os.Exit(code)
}

// Command kubectl-moorage answers questions about managed resources: in which fields they differ, why they are as
// they are, and what happened to them. It also pauses, resumes and reconciles them. kubectl runs it as "kubectl
// moorage", and it works without kubectl. "kubectl-moorage --help" lists its commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	code := cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)

	stop()
	os.Exit(code)
}

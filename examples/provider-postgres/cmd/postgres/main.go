// Command postgres runs a throw-away PostgreSQL server until it is interrupted, and prints a configuration for it.
// It is for local runs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := pgserver.Start(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
		os.Exit(1)
	}
	defer server.Close()
	fmt.Print(pgserver.Manifest(server))
	<-ctx.Done()
}

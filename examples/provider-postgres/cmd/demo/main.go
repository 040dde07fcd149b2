// Command demo shows what the provider does, step by step, on a real API server and a real PostgreSQL server.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/demo"
)

func main() {
	once := flag.Bool("once", false, "end after the tour; the exit code is 0 only if every step held")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := demo.Run(ctx, os.Stdout, *once)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

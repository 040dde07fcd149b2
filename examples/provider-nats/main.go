// Command provider-nats manages streams, consumers, key-value buckets and object stores of NATS JetStream
// as Kubernetes objects. "provider-nats help" lists its commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := app.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)

	stop()
	os.Exit(code)
}

// Command service-provider shows a service across cluster borders: it starts a platform,
// an onboarding cluster, a tenant's control plane and a workload cluster, each a real API
// server, and a NATS server; gives tenants NATS accounts whose credentials are delivered
// to their control plane; and walks through what may happen. Then it stays up, unless it
// is once only. It ends with exit code 0 only if every step held.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// patience is how long a step may take. Each needs a few seconds.
const patience = time.Minute

func main() { os.Exit(demo(newTour(os.Stdout))) }

// demo runs the tour until it is over or a person ends it, and returns the exit code.
func demo(t *walk) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The steps are the output.
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	flag.BoolVar(&t.once, "once", false, "end after the tour")
	flag.Parse()

	return exit(os.Stderr, t.run(ctx))
}

// exit tells what went wrong, if something did, and returns the exit code.
func exit(out io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(out, "service-provider:", err)

	return 1
}

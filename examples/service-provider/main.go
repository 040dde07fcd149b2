// Command service-provider demonstrates a service that spans clusters. It starts a platform, an onboarding cluster, a
// tenant's control plane and a workload cluster, each a real API server, and a NATS server. The service gives tenants
// NATS accounts, and delivers the credentials to their control planes. The tour shows each step of the lifecycle; then
// the demo stays up, unless -once is set. The exit code is 0 only if every step held.
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

// patience is the time limit of a step. Each needs a few seconds.
const patience = time.Minute

func main() { os.Exit(demo(newTour(os.Stdout))) }

// demo runs the tour until it is over or interrupted, and returns the exit code.
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

// exit prints the error, if there is one, and returns the exit code.
func exit(out io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(out, "service-provider:", err)

	return 1
}

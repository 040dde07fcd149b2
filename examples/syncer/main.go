// Command syncer demonstrates the synchronization of two clusters. It starts a host and a tenant, each a real API
// server, runs four syncers between them, and shows each of their functions. Then it stays up, unless -once is set. The
// exit code is 0 only if every step held.
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

// patience is the time limit of a step. Each needs a second or two.
const patience = 30 * time.Second

func main() { os.Exit(demo(newTour(os.Stdout))) }

// demo runs the tour until it is over or interrupted, and returns the exit code.
func demo(t *walk) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The steps are the output, so logs are discarded. A real syncer sets a logger.
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
	fmt.Fprintln(out, "syncer:", err)
	return 1
}

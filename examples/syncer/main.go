// Command syncer shows two clusters kept in step: it starts a host and a tenant,
// each a real API server of its own, runs four syncers between them, and walks
// through what they do. Then it stays up, unless it is once only. It ends with exit
// code 0 only if every step held.
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

// patience is how long a step may take. Each needs a second or two.
const patience = 30 * time.Second

func main() { os.Exit(demo(newTour(os.Stdout))) }

// demo runs the tour until it is over or a person ends it, and returns the exit code.
func demo(t *walk) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The steps are the output: whoever writes a syncer of his own sets a logger.
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
	fmt.Fprintln(out, "syncer:", err)
	return 1
}

// Command edge is a provider without Kubernetes, in one binary: an embedded NATS server stores the objects, the managed
// reconciler keeps files as their objects specify, and the same binary is the command line for the objects.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/examples/edge/internal/cli"
	"github.com/moorage-dev/moorage/examples/edge/internal/device"
	"github.com/moorage-dev/moorage/examples/edge/internal/tour"
	"github.com/moorage-dev/moorage/examples/edge/internal/trim"
)

const usage = `edge keeps files on a device as objects say, without Kubernetes.

  edge serve          run the device
  edge apply -f FILE  create objects or change them ("-": standard input)
  edge get [NAME]     list objects, or show one
  edge watch          follow objects
  edge delete NAME    delete an object
  edge demo           show that all of this works

Flags, after the command:
`

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "edge:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	command := "help"
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("edge "+command, flag.ContinueOnError)
	dir := flags.String("dir", "edge-data", "directory of the device")
	poll := flags.Duration("poll", 10*time.Second, "serve: how often each file is looked at")
	verbose := flags.Bool("v", false, "serve: log what happens")
	supervised := flags.Bool("exit-on-stdin-eof", false,
		"serve: end when standard input does, as it does when the parent is killed")
	from := flags.String("f", "-", "apply: file with objects, in YAML")
	once := flags.Bool("once", false, "demo: end after the tour")
	namespace := flags.String("n", "default", "namespace of objects")
	if command == "help" {
		fmt.Fprint(out, usage)
		flags.SetOutput(out)
		flags.PrintDefaults()

		return nil
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if command == "serve" {
		if *supervised {
			ctx = untilEOF(ctx, in)
		}

		return serve(ctx, *dir, *poll, *verbose, out)
	}
	if command == "demo" {
		return tour.Run(ctx, out, *once)
	}
	line, err := cli.Dial(ctx, *dir, *namespace, out)
	if err != nil {
		return err
	}
	defer line.Close()
	switch command {
	case "apply":
		return line.Apply(ctx, *from, in)
	case "get":
		return line.Get(ctx, flags.Args())
	case "watch":
		return line.Watch(ctx)
	case "delete":
		return line.Delete(ctx, flags.Args())
	default:
		return fmt.Errorf("unknown command %q: try edge help", command)
	}
}

// untilEOF returns a context that is also canceled when the input ends.
func untilEOF(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in)
	}()

	return ctx
}

// A device has little memory: the garbage collector runs early, and returns memory to the system. trim.Program returns
// the pages of the binary that only the start needs.
const (
	garbage = 50       // percent
	memory  = 24 << 20 // bytes
)

func serve(ctx context.Context, dir string, poll time.Duration, verbose bool, out io.Writer) error {
	debug.SetGCPercent(garbage)
	debug.SetMemoryLimit(memory)
	log := logr.Discard()
	if verbose {
		write := func(prefix, line string) { fmt.Fprintln(os.Stderr, prefix, line) }
		log = funcr.New(write, funcr.Options{LogTimestamp: true})
	}
	ctrllog.SetLogger(log)

	ready := func() {
		fmt.Fprintln(out, "ready")
		trim.Program()
	}

	return device.Serve(ctx, device.Options{Dir: dir, Poll: poll, Logger: log, Ready: ready})
}

package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/moorage-dev/moorage/devcluster/internal/controlplane"
	"github.com/moorage-dev/moorage/devcluster/internal/folder"
	"github.com/moorage-dev/moorage/devcluster/internal/pki"
)

// Why the server ends, if not by SIGTERM.
var (
	errInterrupted = errors.New("interrupted")
	errAbandoned   = errors.New("standard input has ended")
	errIdle        = errors.New("it is not used any more")
)

type serveFlags struct {
	dir              string
	port             uint16
	durable          bool
	audit            bool
	exitOnStdinEOF   bool
	idleExit         time.Duration
	discardAbandoned bool
}

func parseServe(args []string, s streams) (serveFlags, error) {
	var f serveFlags
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.StringVar(&f.dir, "dir", "",
		"folder for data, certificates and logs; the same folder gives the same cluster again (required)")
	flags.Uint16Var(&f.port, "port", 0,
		"port on 127.0.0.1 (default: the one the folder was last served on, or any free one)")
	flags.BoolVar(&f.durable, "durable", false,
		"wait for the disk at every write, so that data outlives a crash of the machine")
	flags.BoolVar(&f.audit, "audit", false,
		"note every request in the file audit.log in the folder: who, what and the answer's code")
	flags.BoolVar(&f.exitOnStdinEOF, "exit-on-stdin-eof", false,
		"stop when standard input ends, as it does when the parent is killed")
	flags.DurationVar(&f.idleExit, "idle-exit", 0,
		"stop when no process has touched the file heartbeat in the folder for so long (default: never)")
	flags.BoolVar(&f.discardAbandoned, "discard-abandoned", false,
		"remove the folder at the end, unless stopped by SIGTERM")
	if err := parse(flags, args, s); err != nil {
		return f, err
	}
	switch {
	case f.dir == "":
		return f, misuse("serve: --dir is required")
	case f.idleExit < 0:
		return f, misuse(fmt.Sprintf("serve: --idle-exit must not be negative, but is %s", f.idleExit))
	}
	return f, nil
}

func serve(args []string, s streams) error {
	begin := time.Now()
	flags, err := parseServe(args, s)
	if err != nil {
		return err
	}
	// A reader of our output that has gone must not end the server.
	signal.Ignore(syscall.SIGPIPE)
	f, lock, err := folder.Open(flags.dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer endSoon(cancel, flags, s)()
	failure := run(ctx, f, flags, func() error {
		if err := endWhenIdle(ctx, cancel, f, flags.idleExit); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.out, "devcluster: ready in %.1f s; export KUBECONFIG=%s\n", time.Since(begin).Seconds(),
			f.Kubeconfig())
		return err
	})
	if failure == nil && flags.discardAbandoned && !errors.Is(context.Cause(ctx), context.Canceled) {
		failure = os.RemoveAll(string(f))
	}
	return failure
}

// endSoon cancels the context, with the reason as its cause, when a signal
// comes or the parent goes. SIGTERM is the end that needs no reason. A second
// signal does not wait for a clean stop. What it returns ends the watch for
// signals; that of standard input lasts as long as the input.
func endSoon(cancel context.CancelCauseFunc, flags serveFlags, s streams) (stop func()) {
	signals, quit := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		for first := true; ; first = false {
			select {
			case received := <-signals:
				switch {
				case !first:
					os.Exit(1)
				case received == os.Interrupt:
					cancel(errInterrupted)
				default:
					cancel(context.Canceled)
				}
			case <-quit:
				return
			}
		}
	}()
	if flags.exitOnStdinEOF {
		go func() {
			_, _ = io.Copy(io.Discard, s.in)
			cancel(errAbandoned)
		}()
	}
	return func() {
		signal.Stop(signals)
		close(quit)
	}
}

// endWhenIdle starts to look for users. It is called when they can come, not
// before: a slow start must not count as idleness.
func endWhenIdle(ctx context.Context, cancel context.CancelCauseFunc, f folder.Folder, ttl time.Duration) error {
	if ttl == 0 {
		return nil
	}
	if err := f.MakeHeartbeat(); err != nil {
		return err
	}
	go func() {
		if err := f.AwaitIdle(ctx, ttl); !errors.Is(err, context.Canceled) {
			cancel(errors.Join(errIdle, err))
		}
	}()
	return nil
}

// run prepares the folder and serves from it until the context ends.
func run(ctx context.Context, f folder.Folder, flags serveFlags, ready func() error) error {
	authority, err := pki.Open(f.PKI(), time.Now)
	if err != nil {
		return err
	}
	o := controlplane.Options{Data: f.Etcd(), EtcdLog: f.EtcdLog(), Durable: flags.durable,
		Authority: authority.CertificateFile()}
	if flags.audit {
		o.AuditPolicy, o.AuditLog = f.AuditPolicy(), f.AuditLog()
	}
	if o.ServerCertificate, o.ServerKey, err = authority.Server(); err != nil {
		return err
	}
	if o.ServiceAccountKey, err = authority.ServiceAccountKeyFile(); err != nil {
		return err
	}
	admin, err := authority.Admin()
	if err != nil {
		return err
	}
	sockets, removeSockets, err := f.Sockets()
	if err != nil {
		return err
	}
	defer func() { _ = removeSockets() }()
	o.Sockets = sockets
	closeLog, err := logTo(f.APIServerLog())
	if err != nil {
		return err
	}
	defer closeLog()
	if o.Listener, err = f.Listen(int(flags.port)); err != nil {
		return err
	}
	port, err := f.Port()
	if err != nil {
		return err
	}
	config := folder.Config(port, authority.Certificate(), "admin", admin)
	if o.Admin, err = clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig(); err != nil {
		return fmt.Errorf("cannot use kubeconfig: %w", err)
	}
	return controlplane.Run(ctx, o, func() error { return errors.Join(f.WriteKubeconfig(config), ready()) })
}

// logTo sends everything that Kubernetes logs to a file, about 200 lines at
// each start, and says where it is if Kubernetes ends the process.
func logTo(path string) (closeLog func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot write log: %w", err)
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := errors.Join(flags.Set("logtostderr", "false"), flags.Set("stderrthreshold", "FATAL")); err != nil {
		return nil, fmt.Errorf("cannot set up log: %w", err)
	}
	klog.SetOutput(file)
	log.SetOutput(file)
	klog.OsExit = func(code int) {
		fmt.Fprintf(os.Stderr, "devcluster: kube-apiserver gave up; its log is %s\n", path)
		os.Exit(code)
	}
	return func() {
		klog.Flush()
		klog.SetOutput(io.Discard)
		log.SetOutput(io.Discard)
		_ = file.Close()
	}, nil
}

// Package controlplane runs etcd, kube-apiserver, and the namespace and
// garbage-collection controllers in this process. [Run] is all of it. Much of
// what it links keeps its state in globals, so that there can be one at a time.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"

	"k8s.io/client-go/rest"
)

// Options are all required, but for Durable and the two of the audit.
type Options struct {
	Listener net.Listener // on 127.0.0.1; closed when Run returns
	Data     string       // etcd's folder
	Sockets  string       // a folder for unix sockets, short and without odd characters
	EtcdLog  string       // a file
	Durable  bool         // wait for the disk at every write

	Authority         string // file that clients' certificates are checked with
	ServerCertificate string // file
	ServerKey         string // file
	ServiceAccountKey string // file

	AuditPolicy string // a file that is written; empty: nothing is audited
	AuditLog    string // a file that requests are appended to

	Admin *rest.Config // for the controllers; not changed
}

// Run serves until the context ends, and then stops what it started in order:
// controllers, API server, etcd. It calls ready once, when clients can come.
func Run(ctx context.Context, o Options, ready func() error) (err error) {
	defer o.Listener.Close()
	etcd, etcdURL, err := startEtcd(ctx, o)
	if ctx.Err() != nil {
		return nil // stopped while starting
	}
	if err != nil {
		return err
	}
	defer etcd.Close()

	server := begin(func(ctx context.Context) error { return runAPIServer(ctx, o, etcdURL) })
	defer func() { err = errors.Join(err, server.end()) }()

	config := rest.CopyConfig(o.Admin)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	if err := during(ctx, server, func(ctx context.Context) error { return awaitReady(ctx, config) }); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	controllers := begin(func(ctx context.Context) error { return runControllers(ctx, config) })
	defer func() { err = errors.Join(err, controllers.end()) }()
	if err := ready(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-etcd.Err():
		return fmt.Errorf("etcd failed (its log is %s): %w", o.EtcdLog, err)
	case <-server.done:
		return nil // its error is added above
	case <-controllers.done:
		return nil
	}
}

// part is something that runs until it is ended.
type part struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error // read after done
}

// begin starts a part. It has a context of its own, because it must outlive
// the caller's until it is its turn to stop.
func begin(run func(context.Context) error) *part {
	ctx, cancel := context.WithCancel(context.Background())
	p := &part{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = run(ctx)
	}()
	return p
}

func (p *part) end() error {
	p.cancel()
	<-p.done
	return p.err
}

// during calls f, whose context ends when the part does.
func during(ctx context.Context, p *part, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.done:
			cancel(errors.New("kube-apiserver ended"))
		case <-ctx.Done():
		}
	}()
	return f(ctx)
}

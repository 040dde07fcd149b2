package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/syncer"
)

const (
	tenantName = "red"     // the suffix of host names
	target     = "tenants" // where on the host the tenant's objects are
	home       = "default" // where in the tenant they come from
)

// A tour starts two clusters and the syncers and goes through the steps. What a step
// claims is asked of the API servers themselves, not of the syncers.
type tour struct {
	out      io.Writer
	patience time.Duration
	before   func(step int) // called before each step, for tests

	host, tenant *cluster
	stop         context.CancelFunc // ends the syncers
	ended        chan error
}

// A cluster is an API server and a client with every permission.
type cluster struct {
	*devcluster.Cluster
	client.Client

	config *rest.Config
}

// A step does something and then holds, within the tour's patience, or does not.
type step struct {
	what  string
	do    func(ctx context.Context) error
	holds func(ctx context.Context) error
}

func newTour(out io.Writer) *tour {
	return &tour{out: out, patience: patience, before: func(int) {}}
}

// run returns an error if a step did not hold.
func (t *tour) run(ctx context.Context) (err error) {
	fmt.Fprintln(t.out, "Starting two API servers: a host and a tenant.")
	if t.host, err = newCluster(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.host.Stop()) }()
	if t.tenant, err = newCluster(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.tenant.Stop()) }()
	defer func() { err = errors.Join(err, t.stopSyncers()) }()
	if err := t.prepare(ctx); err != nil {
		return err
	}
	steps := t.steps()
	for i, s := range steps {
		t.before(i)
		fmt.Fprintf(t.out, "%2d/%d  %s\n", i+1, len(steps), s.what)
		if err := t.take(ctx, s); err != nil {
			return fmt.Errorf("step %d did not hold: %w", i+1, err)
		}
	}
	fmt.Fprintln(t.out, "Every step held.")
	return nil
}

func (t *tour) take(ctx context.Context, s step) error {
	if err := s.do(ctx); err != nil {
		return err
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, t.patience, true, func(ctx context.Context) (bool, error) {
		last = s.holds(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

func newCluster(ctx context.Context) (*cluster, error) {
	c, err := devcluster.Start(ctx, devcluster.Options{Own: true, Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	config, err := c.RESTConfig()
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return &cluster{Cluster: c, Client: api, config: config}, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme))
}

// startSyncers is what the main of a program of one's own would do.
func (t *tour) startSyncers(ctx context.Context) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	reg, err := syncer.NewRegisterContext(ctx, syncer.RegisterOptions{
		Virtual: t.tenant.config, Physical: t.host.config, Scheme: scheme, Name: tenantName, TargetNamespace: target,
	})
	if err != nil {
		return err
	}
	secrets, err := newSecrets(reg)
	if err != nil {
		return err
	}
	r := syncer.NewRunner(reg)
	for _, item := range []syncer.Base{newFerries(reg), secrets, nodes{}} {
		if err := r.Register(item); err != nil {
			return err
		}
	}
	ctx, t.stop = context.WithCancel(ctx)
	t.ended = make(chan error, 1)
	go func() { t.ended <- r.Start(ctx) }()
	select {
	case <-r.Ready():
		return nil
	case err := <-t.ended:
		t.stop = nil
		return errors.Join(errors.New("the syncers ended"), err)
	}
}

// stopSyncers returns when they have ended. Without any it does nothing.
func (t *tour) stopSyncers() error {
	if t.stop == nil {
		return nil
	}
	t.stop()
	t.stop = nil
	return <-t.ended
}

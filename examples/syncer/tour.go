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

	"github.com/moorage-dev/moorage/examples/tour"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/syncer"
)

const (
	tenantName = "red"     // the suffix of host names
	target     = "tenants" // the namespace of the tenant's objects on the host
	home       = "default" // their namespace in the tenant
	north      = "north"   // another namespace of the tenant
)

// A walk starts two clusters and the syncers, and runs the steps. The checks of a step ask the API servers, not the
// syncers.
type walk struct {
	out      io.Writer
	once     bool // it ends after the steps
	patience time.Duration
	before   func(step int) // called before each step; for tests

	host, tenant *cluster
	stop         context.CancelFunc // ends the syncers
	ended        chan struct{}      // closed when they have ended
	failure      error              // of the syncers
}

// A cluster is an API server and a client with every permission.
type cluster struct {
	*devcluster.Cluster
	client.Client

	config *rest.Config
}

func newTour(out io.Writer) *walk {
	return &walk{out: out, patience: patience, before: func(int) {}}
}

// run returns an error if a step did not hold.
func (t *walk) run(ctx context.Context) error {
	guide := &tour.Guide{
		Out: t.out, Start: t.start, Once: t.once, Commands: t.commands, Ended: func() <-chan struct{} { return t.ended },
	}
	return errors.Join(guide.Run(ctx), t.halt())
}

// start starts the clusters.
func (t *walk) start(ctx context.Context) (_ *tour.Tour, err error) {
	fmt.Fprintln(t.out, "Starting two API servers: a host and a tenant.")
	if t.host, err = newCluster(ctx); err != nil {
		return nil, err
	}
	if t.tenant, err = newCluster(ctx); err != nil {
		return nil, err
	}
	return &tour.Tour{Out: t.out, Steps: t.steps(), Before: t.before,
		Patience: func(string) time.Duration { return t.patience }}, t.prepare(ctx)
}

// halt stops the syncers and then the clusters, if they were started.
func (t *walk) halt() error {
	errs := []error{t.stopSyncers()}
	for _, c := range []*cluster{t.tenant, t.host} {
		if c != nil {
			errs = append(errs, c.Stop())
		}
	}
	return errors.Join(errs...)
}

// commands returns commands that show one object on both sides.
func (t *walk) commands() []string {
	return []string{
		"export KUBECONFIG=" + t.tenant.Kubeconfig + "   # the tenant",
		"HOST=" + t.host.Kubeconfig,
		`echo '{"apiVersion":"logistics.example.org/v1","kind":"Shipment","metadata":{"name":"mine"},` +
			`"spec":{"route":"home"}}' | kubectl apply -f -`,
		"kubectl --kubeconfig $HOST -n " + target + " get shipments --show-labels",
		"kubectl get shipments,events",
	}
}

// until repeats a check until it holds, or patience ends.
func (t *walk) until(ctx context.Context, what string, holds func(ctx context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, t.patience, true,
		func(ctx context.Context) (bool, error) {
			last = holds(ctx)
			return last == nil, nil
		})
	if err == nil {
		return nil
	}
	return &tour.Missed{Want: what, Saw: errors.Join(err, last)}
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
func (t *walk) startSyncers(ctx context.Context) error {
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
	for _, item := range []syncer.Base{newShipments(reg), newDepots(reg), secrets, nodes{}} {
		if err := r.Register(item); err != nil {
			return err
		}
	}
	ctx, t.stop = context.WithCancel(ctx)
	t.ended = make(chan struct{})
	go func() {
		defer close(t.ended)
		t.failure = r.Start(ctx)
	}()
	select {
	case <-r.Ready():
		return nil
	case <-t.ended:
		t.stop = nil
		return errors.Join(errors.New("the syncers ended"), t.failure)
	}
}

// stopSyncers stops the syncers, and returns after they have ended. If there are none, it does nothing.
func (t *walk) stopSyncers() error {
	if t.stop == nil {
		return nil
	}
	t.stop()
	t.stop = nil
	<-t.ended
	return t.failure
}

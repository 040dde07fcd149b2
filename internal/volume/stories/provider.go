// Package stories has tests of the managed reconciler that must pass wherever its objects are stored: on an API server,
// in stores in memory, or in NATS. A test calls each function that tests, called a story, with a Place.
package stories

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A Place returns a provider whose objects are stored in one place, such as an API server, and a manager for it. The
// requests of both are counted.
type Place func(t *testing.T) (*Provider, manager.Manager)

// A Provider is a provider of volumes whose requests are counted.
type Provider struct {
	*testing.T

	API       client.Client // with every permission, not counted
	Namespace string
	Cloud     *volume.Cloud
	Ledger    *test.Ledger
	Wire      Wire // nil if requests to the store cannot be counted

	decided decisions
	guards  string // the resource that the deletion guard reads; empty where none is on
}

// options returns the options of the controllers. Their logger counts the decisions.
func (p *Provider) options() controller.Options {
	return controller.Options{MaxConcurrentReconciles: 2, Logger: p.Ledger.Logger(&p.decided)}
}

// A Wire counts the requests of the provider that reach a store.
type Wire interface {
	// Count returns the number of reads and of writes of objects since the last Reset.
	Count() (reads, writes int)
	Reset()
}

// Scheme returns a scheme with the kinds of the stories.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()

	return s, errors.Join(clientgoscheme.AddToScheme(s), volume.AddToScheme(s), apiextensionsv1.AddToScheme(s))
}

// ManagerOptions returns the options for the managers of a Place.
func ManagerOptions(scheme *runtime.Scheme) manager.Options {
	return manager.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		Controller:              ctrlconfig.Controller{SkipNameValidation: new(true)},
		GracefulShutdownTimeout: new(3 * time.Minute), // the machine may be busy
	}
}

// InStores returns a provider whose objects are in stores, and its manager. If api is nil, the provider uses the client
// of the cluster.
func InStores(t *testing.T, scheme *runtime.Scheme, api client.Client,
	kinds ...kube.Kind) (*Provider, manager.Manager) {
	t.Helper()
	p := &Provider{T: t, Namespace: "default", Ledger: &test.Ledger{}, API: api}
	c, err := kube.NewCluster(scheme, kube.Options{
		Cache: managed.CacheOptions(),
		Around: func(c client.WithWatch) client.WithWatch {
			if p.API == nil {
				p.API = c
			}

			return p.Ledger.Count(c)
		},
	}, kinds...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := kube.NewManager(c, ManagerOptions(scheme))
	if err != nil {
		t.Fatal(err)
	}

	return p, m
}

// Operate starts a manager. The manager stops at the end of the test.
func Operate(t *testing.T, m manager.Manager) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- m.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("manager: %v", err)
		}
	})
	if !m.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("cache does not sync")
	}
}

// NewVolume returns a Volume of 1 GiB with a namespace and a name.
func NewVolume(namespace, name string) *volume.Volume {
	return &volume.Volume{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       volume.Spec{SizeGiB: 1},
	}
}

// Eventually waits until a condition holds. It fails the test if its time budget ends before.
func Eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	wait.Until(t, what, holds)
}

// Figure prints a name and a value on one line, for programs that read the output.
func Figure(name string, value any) {
	fmt.Printf("%s: %v\n", strings.ReplaceAll(name, " ", "_"), value)
}

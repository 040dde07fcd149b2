// Package stories has tests of the managed reconciler that must pass wherever its objects are:
// on an API server, in stores in memory, in NATS. A test calls each story with a Place.
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

// A Place makes a provider whose objects are at one place, and a manager whose requests are
// counted.
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

// options returns the options of the controllers: their logger counts the decisions.
func (p *Provider) options() controller.Options {
	return controller.Options{MaxConcurrentReconciles: 2, Logger: p.Ledger.Logger(&p.decided)}
}

// A Wire counts the requests of the provider that reach a store.
type Wire interface {
	// Count returns how often objects were read and written since the last Reset.
	Count() (reads, writes int)
	Reset()
}

// Scheme returns one with the kinds of the stories.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()

	return s, errors.Join(clientgoscheme.AddToScheme(s), volume.AddToScheme(s), apiextensionsv1.AddToScheme(s))
}

// ManagerOptions returns those of the managers of a Place.
func ManagerOptions(scheme *runtime.Scheme) manager.Options {
	return manager.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		Controller:              ctrlconfig.Controller{SkipNameValidation: new(true)},
		GracefulShutdownTimeout: new(3 * time.Minute), // the machine may be busy
	}
}

// InStores makes a provider whose objects are in stores of these kinds. Its client is
// that of the cluster unless another one is given.
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

// Operate starts a manager, and stops it with the test.
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

// NewVolume returns one of a name.
func NewVolume(namespace, name string) *volume.Volume {
	return &volume.Volume{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       volume.Spec{SizeGiB: 1},
	}
}

// Eventually waits until a condition holds, while the budget of the test lasts.
func Eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	wait.Until(t, what, holds)
}

// Figure prints a figure alone on its line.
func Figure(name string, value any) {
	fmt.Printf("%s: %v\n", strings.ReplaceAll(name, " ", "_"), value)
}

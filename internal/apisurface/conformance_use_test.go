package apisurface

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A program that uses every name of conformance.golden, as the test of a provider would. If it
// does not compile, neither does that test.

var _ func(*testing.T, conformance.Suite) = conformance.Run
var _ func() []conformance.Property = conformance.Properties

var _ = conformance.Property{Name: "", Sentence: ""}

var _ = conformance.Suite{
	Kind:         resource.ManagedKind{},
	Scheme:       (*runtime.Scheme)(nil),
	Connecter:    managed.ExternalConnecter(nil),
	NewConnecter: func() managed.ExternalConnecter { return nil },
	Class:        conformance.Named,
	Options:      []managed.ReconcilerOption{},
	Samples:      []resource.Managed{},
	Mutations: []conformance.Mutation{{
		Name: "", Change: func(resource.Managed) {}, Want: map[string]string{}, Immutable: true,
	}},
	Probe:                  probe{},
	Secrets:                []string{},
	NewConnecterWithReader: func(client.Reader) managed.ExternalConnecter { return nil },
	ResourceSecrets:        []string{},
	Delay:                  time.Duration(0),
	Patience:               time.Duration(0),
	CallTimeout:            time.Duration(0),
	Within:                 time.Duration(0),
	Server:                 func() (client.Client, error) { return nil, nil },
	Replay:                 "",
}

var _ = []conformance.Class{conformance.Named, conformance.Token, conformance.Findable, conformance.Opaque}

var (
	_ conformance.Probe            = probe{}
	_ conformance.UnownedMaker     = probe{}
	_ conformance.Drifter          = probe{}
	_ conformance.Breaker          = probe{}
	_ conformance.Silencer         = probe{}
	_ conformance.Misrouter        = probe{}
	_ conformance.Interrupter      = probe{}
	_ conformance.Hider            = probe{}
	_ conformance.Holder           = probe{}
	_ conformance.Authenticator    = probe{}
	_ conformance.Protector        = probe{}
	_ conformance.UnmanagedDrifter = probe{}
)

var _ func(testing.TB, string) *conformance.Proxy = conformance.FaultProxy

var (
	_ func(*conformance.Proxy) string                = (*conformance.Proxy).Address
	_ func(*conformance.Proxy, time.Duration) func() = (*conformance.Proxy).Delay
	_ conformance.Breaker                            = (*conformance.Proxy)(nil)
	_                                                = (*conformance.Proxy).Break
	_                                                = (*conformance.Proxy).Silence
	_                                                = (*conformance.Proxy).Interrupt
	_                                                = (*conformance.Proxy).Exchanges
	_ conformance.Silencer                           = (*conformance.Proxy)(nil)
	_ conformance.Interrupter                        = (*conformance.Proxy)(nil)
	_                                                = conformance.Interruption{Exchange: 1, Answered: true, Hang: true}
)

// A probe implements every optional interface.
type probe struct{}

func (probe) List(context.Context) ([]conformance.Resource, error) {
	return []conformance.Resource{{ID: "", State: map[string]string{}, Deleting: true}}, nil
}

func (probe) Remove(context.Context, string) error { return nil }

func (probe) Make(context.Context, resource.Managed) (string, error) { return "", nil }

func (probe) Drift(context.Context, string) error { return nil }

func (probe) Break(context.Context) (func(context.Context) error, error) { return end, nil }

func (probe) Silence(context.Context) (func(context.Context) error, error) { return end, nil }

func (probe) Misroute(context.Context, int) (func(context.Context) error, error) { return end, nil }

func (probe) Exchanges() int { return 0 }

func (probe) Interrupt(context.Context, conformance.Interruption) (func(context.Context) error, error) {
	return end, nil
}

func (probe) Hide(context.Context, string) (func(context.Context) error, error) { return end, nil }

func (probe) Hold(context.Context, string) (<-chan struct{}, func(context.Context) error, error) {
	return nil, end, nil
}

func (probe) Protect(context.Context, string) (func(context.Context) error, error) { return end, nil }

func (probe) Authenticate(context.Context, map[string][]byte) error { return nil }

func (probe) DriftUnmanaged(context.Context, string) error { return nil }

func end(context.Context) error { return nil }

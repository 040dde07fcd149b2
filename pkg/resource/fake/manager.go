package fake

import (
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

var _ manager.Manager = &Manager{}

// A Manager is a manager.Manager for tests. It returns the values of its fields, drops logs and events, and is
// elected from the start. A method that it does not implement calls the embedded manager. Without an embedded manager
// such a call panics.
type Manager struct {
	manager.Manager

	Client     client.Client
	Scheme     *runtime.Scheme
	Config     *rest.Config
	RESTMapper meta.RESTMapper
}

// Elected returns a channel that is closed.
func (m *Manager) Elected() <-chan struct{} {
	e := make(chan struct{})
	close(e)

	return e
}

// GetClient returns Client.
func (m *Manager) GetClient() client.Client { return m.Client }

// GetAPIReader returns Client.
func (m *Manager) GetAPIReader() client.Reader {
	if m.Client == nil {
		return nil // And not an interface that holds a nil one.
	}

	return m.Client
}

// GetCache returns nil.
func (m *Manager) GetCache() cache.Cache { return nil }

// GetScheme returns Scheme.
func (m *Manager) GetScheme() *runtime.Scheme { return m.Scheme }

// GetConfig returns Config.
func (m *Manager) GetConfig() *rest.Config { return m.Config }

// GetRESTMapper returns RESTMapper.
func (m *Manager) GetRESTMapper() meta.RESTMapper { return m.RESTMapper }

// GetLogger returns a logger that drops everything.
func (m *Manager) GetLogger() logr.Logger { return logr.Discard() }

// GetControllerOptions returns no options.
func (m *Manager) GetControllerOptions() config.Controller { return config.Controller{} }

// GetEventRecorder returns a recorder that drops all events.
func (m *Manager) GetEventRecorder(_ string) recorder.EventRecorder { return discard{} }

// GetEventRecorderFor returns a recorder of the older event API that drops all
// events.
func (m *Manager) GetEventRecorderFor(_ string) record.EventRecorder { return &record.FakeRecorder{} }

type discard struct{}

func (discard) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

func (discard) AnnotatedEventf(_, _ runtime.Object, _ map[string]string, _, _, _, _ string, _ ...any) {
}

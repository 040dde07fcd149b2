// Package plugin runs programs that were written as plugins of vcluster-sdk v0.4. The main function of such a program
// adds its kinds to Scheme, and calls MustInit, MustRegister and MustStart as before. The package wraps one Runner of
// package syncer per process. In a new program, use package syncer.
//
// With vcluster-sdk, vcluster passed the configurations of the two clusters to a plugin. Here you set them in
// Options or in environment variables: see InitWithOptions.
package plugin

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/hook"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// Scheme contains the kinds of client-go, CustomResourceDefinition, and the kinds that the program adds. The
// synchronized kinds must be in the Scheme before Init is called.
var Scheme = newScheme()

// newScheme returns a scheme with the kinds of client-go and CustomResourceDefinition.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		must(add(scheme)) // a kind that is registered twice is a programming error
	}
	return scheme
}

// Errors to branch on.
var (
	// ErrNotInitialized is returned, wrapped, by Register and Start if Init was not called.
	ErrNotInitialized = errors.New("plugin is not initialized")

	// ErrInitialized is returned, wrapped, by Init and InitWithOptions if the plugin is initialized
	// already.
	ErrInitialized = errors.New("plugin is initialized already")

	// ErrHook is returned, wrapped, by Register if the item is a hook (an item that mutates objects in requests). Hooks
	// are not supported: nothing would call the hook.
	ErrHook = errors.New("hooks are not supported")
)

// Options are the options of InitWithOptions. The default of the field Scheme is the variable
// Scheme of this package.
type Options = syncer.RegisterOptions

// instance is the plugin of this process. The exported functions of the package use it, because
// they have no receiver in vcluster-sdk.
var instance plugin

// A plugin is the state between Init and the end of Start.
type plugin struct {
	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // from Init until a signal
	stop   context.CancelFunc
	runner *syncer.Runner
}

// Init is InitWithOptions without options. It reads all settings from environment variables.
func Init() (*synccontext.RegisterContext, error) { return InitWithOptions(Options{}) }

// InitWithOptions initializes the plugin and returns the RegisterContext for the constructors of syncers. If an option
// is not set, InitWithOptions reads it from an environment variable:
//
//	VCLUSTER_NAME        Name
//	VCLUSTER_KUBECONFIG  Virtual, the path of a kubeconfig
//	HOST_KUBECONFIG      Physical, the path of a kubeconfig; default: the cluster of the pod
//	TARGET_NAMESPACE     TargetNamespace
//	NAMESPACE            CurrentNamespace
//	SERVICE_NAME         ServiceName
//
// InitWithOptions sets translate.Suffix and translate.Owner. If the program has not set a logger for
// controller-runtime, it sets a logger that writes to standard error. The returned context ends on SIGINT or SIGTERM.
// If the plugin is initialized already, the error wraps ErrInitialized.
func InitWithOptions(o Options) (*synccontext.RegisterContext, error) { return instance.init(o) }

// MustInit is InitWithOptions, but panics if InitWithOptions returns an error. Without an argument
// it is Init. With several arguments, it uses the last one.
func MustInit(options ...Options) *synccontext.RegisterContext {
	o := Options{}
	for _, given := range options {
		o = given
	}
	reg, err := InitWithOptions(o)
	must(err)
	return reg
}

// Register adds an item to the Runner. The error wraps ErrHook if the item is a hook,
// ErrNotInitialized if Init was not called, and syncer.ErrStarted after Start.
func Register(item syncer.Base) error { return instance.register(item) }

// MustRegister is Register, but panics if Register returns an error.
func MustRegister(item syncer.Base) { must(Register(item)) }

// Start runs the registered items. It returns nil after SIGINT or SIGTERM, and an error if an item
// fails or if Init was not called (ErrNotInitialized).
func Start() error { return instance.start() }

// MustStart is Start, but panics if Start returns an error.
func MustStart() { must(Start()) }

// must panics if the error is not nil.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// init performs InitWithOptions.
func (p *plugin) init(o Options) (*synccontext.RegisterContext, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runner != nil {
		return nil, errors.Wrap(ErrInitialized, "cannot initialize the plugin")
	}
	ctrllog.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))) // a logger that was set before is kept
	o, err := fromEnvironment(o)
	if err != nil {
		return nil, errors.Wrap(err, "cannot initialize the plugin")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	reg, err := syncer.NewRegisterContext(ctx, o)
	if err != nil {
		stop()
		return nil, errors.Wrap(err, "cannot initialize the plugin")
	}
	translate.Suffix, translate.Owner = reg.Names.Suffix, reg.Names.Owner
	p.ctx, p.stop, p.runner = ctx, stop, syncer.NewRunner(reg)
	return reg, nil
}

// register performs Register.
func (p *plugin) register(item syncer.Base) error {
	runner, _, err := p.initialized()
	if err != nil {
		return errors.Wrapf(err, "cannot register %q", item.Name())
	}
	if isHook(item) {
		return errors.Wrapf(
			ErrHook, "cannot register %q: use a mutating admission webhook, or the syncer of the kind", item.Name())
	}
	return runner.Register(item)
}

// start performs Start.
func (p *plugin) start() error {
	runner, ctx, err := p.initialized()
	if err != nil {
		return errors.Wrap(err, "cannot start")
	}
	defer p.stop()
	return runner.Start(ctx)
}

// initialized returns the Runner and the context. Before Init it returns ErrNotInitialized.
func (p *plugin) initialized() (*syncer.Runner, context.Context, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runner == nil {
		return nil, nil, ErrNotInitialized
	}
	return p.runner, p.ctx, nil
}

// isHook reports whether an item is a hook that mutates objects in requests.
func isHook(item any) bool {
	switch item.(type) {
	case hook.MutateCreateVirtual, hook.MutateUpdateVirtual, hook.MutateDeleteVirtual, hook.MutateGetVirtual,
		hook.MutateCreatePhysical, hook.MutateUpdatePhysical, hook.MutateDeletePhysical, hook.MutateGetPhysical:
		return true
	default:
		return false
	}
}

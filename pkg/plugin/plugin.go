// Package plugin runs programs that were written as plugins of vcluster-sdk v0.4. Their main
// function calls MustInit, MustRegister and MustStart as before and adds its kinds to Scheme.
// The package wraps one Runner of package syncer per process; new programs use that package.
//
// With vcluster-sdk, vcluster passed the two clusters to a plugin. Here they are set in Options
// or in environment variables: see InitWithOptions.
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

// Scheme contains the synchronized kinds: those of client-go and
// CustomResourceDefinition, and the kinds that packages of the program add before Init.
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
	// ErrNotInitialized is returned, wrapped, by Register and Start before Init.
	ErrNotInitialized = errors.New("plugin is not initialized")

	// ErrInitialized is returned, wrapped, by a second Init.
	ErrInitialized = errors.New("plugin is initialized already")

	// ErrHook is returned, wrapped, by Register for a hook, which would never be called.
	ErrHook = errors.New("hooks are not supported")
)

// Options configure the plugin. The default of Options.Scheme is the Scheme of this
// package.
type Options = syncer.RegisterOptions

// instance is the plugin of this process. The functions of the package, for which plugins
// are written, use it.
var instance plugin

// A plugin is the state between Init and the end of Start.
type plugin struct {
	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // from Init until a signal
	stop   context.CancelFunc
	runner *syncer.Runner
}

// Init is InitWithOptions without options: all settings are read from the environment.
func Init() (*synccontext.RegisterContext, error) { return InitWithOptions(Options{}) }

// InitWithOptions returns the RegisterContext for the constructors of syncers. Options that are
// not set are read from environment variables:
//
//	VCLUSTER_NAME        Name
//	VCLUSTER_KUBECONFIG  Virtual, the path of a kubeconfig
//	HOST_KUBECONFIG      Physical, the path of a kubeconfig; default: the cluster of the pod
//	TARGET_NAMESPACE     TargetNamespace
//	NAMESPACE            CurrentNamespace
//	SERVICE_NAME         ServiceName
//
// It sets translate.Suffix and translate.Owner. If the program has not set a logger for
// controller-runtime, it sets one that writes to standard error. The context ends on SIGINT
// or SIGTERM. A second call returns an error that wraps ErrInitialized.
func InitWithOptions(o Options) (*synccontext.RegisterContext, error) { return instance.init(o) }

// MustInit is InitWithOptions; it panics if that returns an error. Without an argument it
// is Init; with several arguments, the last one is used.
func MustInit(options ...Options) *synccontext.RegisterContext {
	o := Options{}
	for _, given := range options {
		o = given
	}
	reg, err := InitWithOptions(o)
	must(err)
	return reg
}

// Register adds an item to the Runner. The error wraps ErrHook for a hook and
// ErrNotInitialized before Init.
func Register(item syncer.Base) error { return instance.register(item) }

// MustRegister is Register; it panics on an error.
func MustRegister(item syncer.Base) { must(Register(item)) }

// Start runs the registered items until SIGINT or SIGTERM, which is no error, or until
// one of them fails.
func Start() error { return instance.start() }

// MustStart is Start; it panics on an error.
func MustStart() { must(Start()) }

// must panics if the error is not nil.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// init implements InitWithOptions.
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

// register implements Register.
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

// start implements Start.
func (p *plugin) start() error {
	runner, ctx, err := p.initialized()
	if err != nil {
		return errors.Wrap(err, "cannot start")
	}
	defer p.stop()
	return runner.Start(ctx)
}

// initialized returns the Runner and the context, or ErrNotInitialized.
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

// Package plugin is for programs that were written as plugins of vcluster-sdk v0.4: their main
// calls MustInit, MustRegister and MustStart as before, and adds its kinds to Scheme. The
// package wraps the one Runner of package syncer in the process; new programs use that package.
//
// A plugin learned its two clusters from vcluster. Here Options name them, and for those that
// Options leave out environment variables do: see InitWithOptions.
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

// Scheme has the kinds that are synced: those of client-go, CustomResourceDefinition, and what
// packages of the program add to it before Init.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		must(add(scheme)) // kinds that exist twice are a mistake in the program
	}
	return scheme
}

// Errors to branch on.
var (
	// ErrNotInitialized is returned by Register and Start before Init.
	ErrNotInitialized = errors.New("plugin is not initialized")

	// ErrInitialized is returned, wrapped, by Init after Init.
	ErrInitialized = errors.New("plugin is initialized already")

	// ErrHook is returned, wrapped, by Register for a hook: nothing would call it.
	ErrHook = errors.New("hooks are not supported")
)

// Options of the plugin. The default of Options.Scheme is the Scheme of this package.
type Options = syncer.RegisterOptions

// the is the plugin of this process: plugins are written for functions.
var the plugin // there is one in a process

type plugin struct {
	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // ends with a signal, from Init on
	stop   context.CancelFunc
	runner *syncer.Runner
}

// Init is InitWithOptions with no options: the environment says everything.
func Init() (*synccontext.RegisterContext, error) { return InitWithOptions(Options{}) }

// InitWithOptions returns the RegisterContext that syncers are made from. Options that are not
// set are taken from environment variables:
//
//	VCLUSTER_NAME        Name
//	VCLUSTER_KUBECONFIG  Virtual: the path of a kubeconfig
//	HOST_KUBECONFIG      Physical: the path of a kubeconfig; without it, the cluster of the pod
//	TARGET_NAMESPACE     TargetNamespace
//	NAMESPACE            CurrentNamespace
//	SERVICE_NAME         ServiceName
//
// It sets translate.Suffix and translate.Owner. If the program has set no logger for
// controller-runtime, it sets one that writes to standard error. The context ends with SIGINT
// and SIGTERM.
func InitWithOptions(o Options) (*synccontext.RegisterContext, error) { return the.init(o) }

// MustInit is InitWithOptions, and panics if that returns an error. Without an argument it is
// Init; of several arguments only the last counts.
func MustInit(options ...Options) *synccontext.RegisterContext {
	o := Options{}
	for _, given := range options {
		o = given
	}
	reg, err := InitWithOptions(o)
	must(err)
	return reg
}

// Register adds an item, as that of a Runner. It returns an error that wraps ErrHook for a
// hook.
func Register(item syncer.Base) error { return the.register(item) }

// MustRegister is Register, and panics with an error.
func MustRegister(item syncer.Base) { must(Register(item)) }

// Start runs what is registered until the process is told to stop, which is no error, or
// something fails.
func Start() error { return the.start() }

// MustStart is Start, and panics with an error.
func MustStart() { must(Start()) }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (p *plugin) init(o Options) (*synccontext.RegisterContext, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runner != nil {
		return nil, errors.Wrap(ErrInitialized, "cannot initialize the plugin")
	}
	ctrllog.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))) // the first one counts
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

func (p *plugin) register(item syncer.Base) error {
	runner, _, err := p.initialized()
	if err != nil {
		return errors.Wrapf(err, "cannot register %q", item.Name())
	}
	if isHook(item) {
		return errors.Wrapf(ErrHook, "cannot register %q: use a mutating admission webhook, or the syncer of the kind", item.Name())
	}
	return runner.Register(item)
}

func (p *plugin) start() error {
	runner, ctx, err := p.initialized()
	if err != nil {
		return errors.Wrap(err, "cannot start")
	}
	defer p.stop()
	return runner.Start(ctx)
}

func (p *plugin) initialized() (*syncer.Runner, context.Context, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runner == nil {
		return nil, nil, ErrNotInitialized
	}
	return p.runner, p.ctx, nil
}

// isHook tells whether an item wants to change objects in requests.
func isHook(item any) bool {
	switch item.(type) {
	case hook.MutateCreateVirtual, hook.MutateUpdateVirtual, hook.MutateDeleteVirtual, hook.MutateGetVirtual,
		hook.MutateCreatePhysical, hook.MutateUpdatePhysical, hook.MutateDeletePhysical, hook.MutateGetPhysical:
		return true
	default:
		return false
	}
}

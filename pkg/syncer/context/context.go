// Package context is for what a syncer works with: the two clusters and their
// settings. RegisterContext is known before anything runs and is handed to every
// constructor; SyncContext is that of one pass.
//
// Import it as synccontext, since nearly every file needs the standard library's
// package as well.
package context

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/log"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// A SyncContext is what one pass works with. Use it in that pass only. The zero
// value is not usable; a Runner makes them, and ConvertContext does for tests.
type SyncContext struct {
	// Context ends with the pass.
	Context context.Context //nolint:containedctx // part of the API that plugins are written for

	// Log names the object that the pass is about.
	Log log.Logger

	// TargetNamespace is where on the host the objects are.
	TargetNamespace string

	// PhysicalClient reads the host's cache and writes to the host.
	PhysicalClient client.Client

	// VirtualClient reads the virtual cluster's cache and writes to it.
	VirtualClient client.Client

	// CurrentNamespace is where on the host the syncer itself runs.
	CurrentNamespace string

	// CurrentNamespaceClient reads and writes there. It may be the
	// PhysicalClient.
	CurrentNamespaceClient client.Client
}

// A RegisterContext is what syncers are made from. It is shared by all of them and
// not changed after registration. Get one from syncer.NewRegisterContext; tests
// get theirs from the package syncer/testing.
type RegisterContext struct {
	// Context ends when the syncers are to stop.
	Context context.Context //nolint:containedctx // part of the API that plugins are written for

	// Options of the virtual cluster. Nil is none.
	Options *VirtualClusterOptions

	// TargetNamespace is where on the host the objects are.
	TargetNamespace string

	// CurrentNamespace is where on the host the syncer itself runs.
	CurrentNamespace string

	// CurrentNamespaceClient reads and writes there.
	CurrentNamespaceClient client.Client

	// VirtualManager runs the controllers. Its client does not work before it is
	// started.
	VirtualManager ctrl.Manager

	// PhysicalManager has the host's cache, which holds the target namespace only.
	PhysicalManager ctrl.Manager

	// ProcessManager has what there is once in a process: probes, metrics, and the
	// leader election. A Runner starts it first, and the rest when it is elected; it
	// stops it last. Default: nil, which is none of them.
	ProcessManager ctrl.Manager

	// SyncerConfig is a kubeconfig for the virtual cluster. It may be nil.
	SyncerConfig clientcmd.ClientConfig

	// Names that the virtual cluster's objects have on the host. Default: nil,
	// which is the package variables of translate.
	Names *translate.Names

	// RenewOwner returns the UID that the owner of host objects has now. A reconciler asks
	// for it before it creates a host object with Names.Owner as an owner, and takes it
	// instead of that of Names.Owner: a service that was recreated has another one, and what
	// names the former is garbage. Its error is that of the creation. It may be called
	// concurrently. Default: nil, which is that the UID never changes.
	RenewOwner func(ctx context.Context) (types.UID, error)
}

// VirtualClusterOptions are the settings of a virtual cluster that plugins use.
type VirtualClusterOptions struct {
	// Name of the virtual cluster, the suffix of its objects' host names.
	Name string `json:"name,omitempty"`

	// ServiceName is the host service in front of the virtual API server.
	ServiceName string `json:"serviceName,omitempty"`

	// TargetNamespace is where on the host the objects are.
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// SetOwner makes that service the owner of host objects.
	SetOwner bool `json:"setOwner,omitempty"`
}

// NamesOf returns the names that a context says, or the default ones. It may be
// called with nil.
func NamesOf(ctx *RegisterContext) translate.Names {
	if ctx == nil || ctx.Names == nil {
		return translate.Default()
	}
	return *ctx.Names
}

// ConvertContext returns a context for a pass with that name in its log. Its
// Context is that of the registration; a pass puts its own there.
func ConvertContext(registerContext *RegisterContext, logName string) *SyncContext {
	return &SyncContext{
		Context:                registerContext.Context,
		Log:                    log.NewFromExisting(registerContext.VirtualManager.GetLogger(), logName),
		TargetNamespace:        registerContext.TargetNamespace,
		PhysicalClient:         registerContext.PhysicalManager.GetClient(),
		VirtualClient:          registerContext.VirtualManager.GetClient(),
		CurrentNamespace:       registerContext.CurrentNamespace,
		CurrentNamespaceClient: registerContext.CurrentNamespaceClient,
	}
}

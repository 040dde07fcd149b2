// Package context defines the contexts of a syncer: its clients for both clusters and
// their settings. A RegisterContext exists before any controller runs and is passed to
// the constructors of syncers. A SyncContext is passed to a syncer in each pass.
//
// Import the package as synccontext, because most files need the standard library's
// context as well.
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

// A SyncContext is the context of one pass. Do not use it after the pass. Controllers create it; in
// tests, call ConvertContext. The zero value is not usable.
type SyncContext struct {
	// Context ends with the pass.
	Context context.Context //nolint:containedctx // part of the API that plugins are written for

	// Log is a logger with the name of the virtual object.
	Log log.Logger

	// TargetNamespace is the namespace of the host objects.
	TargetNamespace string

	// PhysicalClient reads from the host's cache and writes to the host.
	PhysicalClient client.Client

	// VirtualClient reads from the virtual cluster's cache and writes to the virtual
	// cluster.
	VirtualClient client.Client

	// CurrentNamespace is the namespace on the host in which the syncer runs.
	CurrentNamespace string

	// CurrentNamespaceClient reads and writes in the current namespace. It may be the same client as
	// PhysicalClient.
	CurrentNamespaceClient client.Client
}

// A RegisterContext is the context in which syncers are created. All syncers of a virtual cluster share one
// RegisterContext, which does not change after registration. syncer.NewRegisterContext creates a RegisterContext; for
// tests, package syncer/testing creates one.
type RegisterContext struct {
	// Context ends when the syncers are to stop.
	Context context.Context //nolint:containedctx // part of the API that plugins are written for

	// Options are the options of the virtual cluster. It may be nil.
	Options *VirtualClusterOptions

	// TargetNamespace is the namespace of the host objects.
	TargetNamespace string

	// CurrentNamespace is the namespace on the host in which the syncer runs.
	CurrentNamespace string

	// CurrentNamespaceClient reads and writes in the current namespace.
	CurrentNamespaceClient client.Client

	// VirtualManager runs the controllers. Its client does not work before the manager is started.
	VirtualManager ctrl.Manager

	// PhysicalManager has the cache of the host. The cache contains only the target namespace.
	PhysicalManager ctrl.Manager

	// ProcessManager serves probes and metrics and takes part in the leader election. A Runner starts the ProcessManager
	// first, and stops it last. It starts the other managers when the process is elected. Default: nil, which means no
	// probes, no metrics and no election.
	ProcessManager ctrl.Manager

	// SyncerConfig is a kubeconfig for the virtual cluster. It may be nil.
	SyncerConfig clientcmd.ClientConfig

	// Names translates names of the virtual cluster to host names. Default: nil, which means
	// translate.Default().
	Names *translate.Names

	// RenewOwner returns the current UID of the owner of host objects. A recreated service has another
	// UID, and objects that refer to the former UID are garbage collected. A reconciler therefore
	// calls RenewOwner before it creates a host object whose owner is Names.Owner, and writes the
	// current UID into the owner reference. If RenewOwner returns an error, the creation fails with
	// this error. RenewOwner must be safe for concurrent use. Default: nil, which means that the UID
	// never changes.
	RenewOwner func(ctx context.Context) (types.UID, error)
}

// VirtualClusterOptions are the settings of a virtual cluster that plugins use.
type VirtualClusterOptions struct {
	// Name is the name of the virtual cluster. It is the suffix of host names.
	Name string `json:"name,omitempty"`

	// ServiceName is the service of the virtual API server on the host.
	ServiceName string `json:"serviceName,omitempty"`

	// TargetNamespace is the namespace of the host objects.
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// SetOwner makes the service ServiceName the owner of host objects.
	SetOwner bool `json:"setOwner,omitempty"`
}

// NamesOf returns the Names of a context. If the context or its Names are nil, it returns
// translate.Default().
func NamesOf(ctx *RegisterContext) translate.Names {
	if ctx == nil || ctx.Names == nil {
		return translate.Default()
	}
	return *ctx.Names
}

// ConvertContext returns a SyncContext whose logger has the argument logName as its name. The field Context of the
// result is the Context of the argument registerContext; a controller replaces it by the context of the pass.
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

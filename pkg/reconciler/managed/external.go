package managed

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// An ExternalConnecter produces an ExternalClient for a managed resource.
type ExternalConnecter = TypedExternalConnector[resource.Managed]

// A TypedExternalConnector is an [ExternalConnecter] for one type of managed
// resource. Give it to a reconciler by [WithTypedExternalConnector].
type TypedExternalConnector[T resource.Managed] interface {
	// Connect connects to the external system of the managed resource. It is called at most once per pass, must not
	// change the managed resource, and its context ends with the pass. The client may keep that context; a longer-lived
	// object (a connection in a cache) needs a context of its own.
	Connect(ctx context.Context, mg T) (TypedExternalClient[T], error)
}

// An ExternalDisconnecter releases what an ExternalConnecter acquired.
type ExternalDisconnecter interface {
	// Disconnect is called once per pass whose Connect succeeded, whatever happened since. Its error is reported as an
	// event and changes nothing else.
	Disconnect(ctx context.Context) error
}

// An ExternalConnectDisconnecter connects and disconnects.
type ExternalConnectDisconnecter = TypedExternalConnectDisconnector[resource.Managed]

// A TypedExternalConnectDisconnector connects and disconnects, for one type of
// managed resource.
type TypedExternalConnectDisconnector[T resource.Managed] interface {
	TypedExternalConnector[T]
	ExternalDisconnecter
}

// An ExternalClient manages the lifecycle of one kind of external resource. The author of a provider writes it.
//
// Calls should not block for long: all calls of a pass share one deadline (see [WithTimeout]). They must be
// idempotent: Delete of a resource that does not exist, or is being deleted, is no error. A Create that finds the
// name taken returns [external.AlreadyExists]: the reconciler then observes again and decides by the owner. Other
// errors of package external carry more than a plain error: external.Terminal (a retry is useless until something
// changes), external.NotCreated (Create certainly had no effect), external.MaybeCreated (it may have had one: the
// error of each request of a Create but the first), external.NotFound (the resource does not exist, in answer to
// any call), external.InProgress (the call was accepted and continues: Observe is given its handle),
// external.RetryAfter, and failures of the whole connection: external.Throttled, external.Unauthorized and
// external.Unavailable.
//
// A client may also be an [ExternalDisconnecter], and is then disconnected at the end of the pass, before the
// connecter is; a [CreationRecoverer]; a [BackendIdentifier]; a [ConnectionDescriber]; and an [ExternalLister]. A
// client that wraps another one has a method Unwrap() any that returns it, or the optional interfaces of the inner
// one are lost; a wrapper of a typed lister has to forward the list methods itself.
//
// Changes of the status of the managed resource are kept after each call, and written once at the end of the pass
// if the status differs. Error texts are redacted and bounded to 1 KiB before they are shown. Clients add
// annotations with meta.AddAnnotations. Annotations and finalizers that a call removes are restored, whichever
// owner they have. Marks of the reconciler stay as they were, except the external name, which a client may change,
// but not to the empty string. A client sets an annotation of its own to the empty string when it no longer needs
// it.
type ExternalClient = TypedExternalClient[resource.Managed]

// A TypedExternalClient is an [ExternalClient] for one type of managed resource: its methods are given that type,
// and need no type assertion.
type TypedExternalClient[T resource.Managed] interface {
	// Observe returns whether the external resource exists, whether it is up to date, and its owner. It must not change
	// the external resource. It may change the status of the managed resource; annotations it sets (an external name
	// that was found) are stored; changes to the spec are stored only with ResourceLateInitialized.
	//
	// It is called again after each Create, Update or Delete of the same pass. "Not found" must be a positive answer of
	// the system. If the state cannot be determined, return an error, because absence lets Create run and lets the
	// finalizer be removed.
	Observe(ctx context.Context, mg T) (ExternalObservation, error)

	// Create creates the external resource. Changes to annotations, above all the external name, and to the status of
	// the managed resource are stored; changes to its spec are not. Its context outlives a shutdown by a few seconds,
	// so that a creation under way ends with a known result.
	Create(ctx context.Context, mg T) error

	// Update corrects the external resource. It is called only if the resource exists, and at most once per pass.
	Update(ctx context.Context, mg T) error

	// Delete requests deletion. It is called once, and repeated after one poll interval while the resource still
	// exists.
	Delete(ctx context.Context, mg T) error
}

// An ExternalObservation is the result of Observe.
type ExternalObservation struct {
	// ResourceExists is true if the external resource exists. False means the
	// external system said so.
	ResourceExists bool

	// ResourceUpToDate is true if an Update would change nothing. Only what
	// can be updated should count.
	ResourceUpToDate bool

	// ResourceLateInitialized is true if Observe filled unset fields of the
	// spec that are to be stored. Prefer to show defaults in the status:
	// writing a user's spec fights with the tool that applies it.
	ResourceLateInitialized bool

	// Diff describes the difference for readers of the debug log. It is redacted and bounded like error texts.
	Diff string

	// ConnectionDetails are the details with which a user connects to the external resource. They are written to the
	// Secret that the object names, see resource.ConnectionSecretWriterTo, before the object becomes Ready. Nil leaves
	// the published details as they are. Return the same values from one observation to the next.
	ConnectionDetails ConnectionDetails

	// Owner is the owner of the external resource. The zero value is OwnerUnknown: the client cannot determine it, and
	// a resource with the external name of the object counts as ours.
	Owner Owner

	// OwnerNamespace is the namespace of the owning object, if the Owner is OwnerOther and the namespace is known: see
	// [Stamp.Namespace]. Without it the adoption policy "force" of a namespaced object takes nothing over, unless the
	// operator allows that. A cluster-scoped object needs the OwnerStamp.
	OwnerNamespace string

	// OwnerStamp is the mark of the external resource, if the Owner is OwnerOther and the mark is a [Stamp]. It
	// includes the namespace, so that OwnerNamespace need not be set. Without it an object that was restored from a
	// backup cannot take over the resource of its original.
	OwnerStamp Stamp
}

// ConnectionDetails maps the keys of a Secret to secret values.
type ConnectionDetails map[string][]byte

// An Owner is the owner of an external resource, as far as the metadata of the resource says.
type Owner int

// Owners of an external resource.
const (
	// OwnerUnknown is for systems that cannot store a mark of the owner.
	OwnerUnknown Owner = iota

	// OwnerOurs is the object that is being reconciled.
	OwnerOurs

	// OwnerNone is a resource without any mark. It is left alone unless the object created or adopted it before, or
	// its adoption policy allows adopting it.
	OwnerNone

	// OwnerOther is another object, cluster or tool. The resource is not changed, unless the adoption policy is "force"
	// and that is allowed, see [WithAllowedAdoptionPolicies].
	OwnerOther
)

// String returns the owner in one word.
func (o Owner) String() string {
	names := [...]string{"unknown", "ours", "nobody", "other"}
	if o < 0 || int(o) >= len(names) {
		return "invalid"
	}

	return names[o]
}

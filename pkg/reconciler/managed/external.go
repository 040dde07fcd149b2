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
	// Connect to the system the managed resource belongs to. It is called at
	// most once per pass, must not change the managed resource, and its
	// context ends with the pass, so that the client may keep it: what shall
	// live longer (a connection in a cache) is built under one of its own.
	Connect(ctx context.Context, mg T) (TypedExternalClient[T], error)
}

// An ExternalDisconnecter ends what an ExternalConnecter began.
type ExternalDisconnecter interface {
	// Disconnect is called once per pass whose Connect succeeded, whatever
	// happened since. Its error is told as an event and changes nothing else.
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

// An ExternalClient manages the lifecycle of one kind of external resource. It
// is what the author of a provider writes.
//
// Calls should not block for long: all calls of a pass share one deadline (see
// [WithTimeout]). They must be idempotent: Delete of something that is gone, or
// going, is no error. A Create that finds the name taken returns
// [external.AlreadyExists]: the reconciler then looks again and decides by the
// owner. Other errors of package external say what a plain error cannot:
// external.Terminal (trying again is useless until something changes),
// external.NotCreated (Create surely had no effect), external.MaybeCreated (it may have
// had one: the error of each request of a Create but the first), external.NotFound (the
// answer to any call is that the resource does not exist), external.InProgress (it was accepted
// and goes on: Observe is given its handle), external.RetryAfter, and what is wrong with
// the connection as a whole: external.Throttled, external.Unauthorized and
// external.Unavailable.
//
// A client may also be an [ExternalDisconnecter], and is then disconnected at the
// end of the pass, before the connecter is; a [CreationRecoverer]; a
// [BackendIdentifier]; a [ConnectionDescriber]; and an [ExternalLister]. A client that
// wraps another one has a method Unwrap() any that returns it, or what the inner one can
// do is lost; the lists of an inner typed one it has to forward itself.
//
// Whatever a call puts into the status of the managed resource is kept, and
// written once at the end of the pass if it differs. Error texts are redacted
// and bounded to 1 KiB before they are shown to anybody. Annotations are added to,
// with meta.AddAnnotations: those that a call takes away are put back, whosever they are,
// and so are finalizers. Marks of the reconciler's stay as they were, but for the
// external name, which a client may change, and not empty. An annotation of its own that
// it no longer needs it sets to the empty text.
type ExternalClient = TypedExternalClient[resource.Managed]

// A TypedExternalClient is an [ExternalClient] for one type of managed resource:
// its methods are given that type, and need not assert it.
type TypedExternalClient[T resource.Managed] interface {
	// Observe says whether the external resource exists, whether it is as
	// desired and whose it is. It must not change the external resource. It
	// may change the status of the managed resource; annotations it sets (an
	// external name that was found) are stored; changes to the spec are stored
	// only with ResourceLateInitialized.
	//
	// It is called again after each Create, Update or Delete of the same pass.
	// "Not found" must be a positive answer of the system: what cannot be told
	// is an error, because absence lets Create run and lets the finalizer go.
	Observe(ctx context.Context, mg T) (ExternalObservation, error)

	// Create the external resource. Changes to annotations, above all the
	// external name, and to the status of the managed resource are stored;
	// changes to its spec are not. Its context outlives a shutdown by a few
	// seconds, so that a creation under way ends with a known result.
	Create(ctx context.Context, mg T) error

	// Update makes the external resource as desired. It is called only for
	// what exists, and at most once per pass.
	Update(ctx context.Context, mg T) error

	// Delete asks for the end of the external resource. It is called once;
	// after that the resource is only observed until it is gone, and asked
	// again when a poll interval has passed.
	Delete(ctx context.Context, mg T) error
}

// An ExternalObservation is what Observe found.
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

	// Diff tells a reader of the debug log what differs. It is redacted and
	// bounded like error texts.
	Diff string

	// ConnectionDetails are what a user of the external resource needs to
	// connect to it. They are written to the Secret that the object names, see
	// resource.ConnectionSecretWriterTo, before the object becomes Ready. Nil
	// says nothing about them: what was written stays. Keep them the same from
	// one observation to the next.
	ConnectionDetails ConnectionDetails

	// Owner says whose the external resource is. The zero value is
	// OwnerUnknown: the client cannot tell, and whatever exists under the
	// external name is taken for ours.
	Owner Owner

	// OwnerNamespace is the namespace of the object that the external resource
	// belongs to, if the Owner is OwnerOther and that is known: see
	// [Stamp.Namespace]. Without it the adoption policy "force" of an object that
	// has a namespace takes nothing over, unless the operator allows that. That of a
	// cluster-scoped object needs the OwnerStamp.
	OwnerNamespace string

	// OwnerStamp is what the external resource bears, if the Owner is OwnerOther and
	// that is a [Stamp]. It tells the namespace, too, so that OwnerNamespace need not be
	// set. Without it an object that was restored from a backup cannot take over what
	// the one before it had.
	OwnerStamp Stamp
}

// ConnectionDetails are secret values by the keys under which a Secret has them.
type ConnectionDetails map[string][]byte

// An Owner says to whom an external resource belongs, as far as its own
// metadata tells.
type Owner int

// Owners of an external resource.
const (
	// OwnerUnknown is for systems that cannot carry a mark of their owner.
	OwnerUnknown Owner = iota

	// OwnerOurs is the very object that is being reconciled.
	OwnerOurs

	// OwnerNobody is a resource without any mark. It is left alone unless
	// the object created or adopted it before, or its adoption policy allows
	// to take it.
	OwnerNobody

	// OwnerOther is another object, cluster or tool. It is not changed,
	// unless the adoption policy is "force" and that is allowed, see
	// [WithAllowedAdoptionPolicies].
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

package managed

import (
	"context"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An ExternalConnecter produces an ExternalClient for a managed resource.
type ExternalConnecter = TypedExternalConnector[resource.Managed]

// A TypedExternalConnector is an [ExternalConnecter] for one Go type of managed resource. Pass it to
// [WithTypedExternalConnector].
type TypedExternalConnector[T resource.Managed] interface {
	// Connect connects to the external system of the managed resource. It is called at most once per pass, and must not
	// change the managed resource. Its context ends with the pass. The client may keep that context. A value that outlives
	// the pass, such as a cached connection, needs another context.
	Connect(ctx context.Context, mg T) (TypedExternalClient[T], error)
}

// An ExternalDisconnecter releases what an ExternalConnecter acquired.
type ExternalDisconnecter interface {
	// Disconnect is called once at the end of each pass in which Connect succeeded, also if the pass failed later. The
	// reconciler reports its error as an event and ignores it otherwise.
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

// An ExternalClient manages the lifecycle of one kind of external resource. The author of a provider implements it.
//
// Calls should not block for long: all calls of a pass share one deadline (see [WithTimeout]). Calls must be
// idempotent. Delete must not return an error if the resource does not exist or is being deleted already.
//
// If Create finds the name in use, it returns [external.AlreadyExists]. The reconciler then observes again and decides
// by the owner. Other errors of package external tell the reconciler more than a plain error does:
//
//   - external.Terminal: a retry is useless until something changes.
//   - external.NotCreated: Create had no effect.
//   - external.MaybeCreated: Create may have had an effect. If a Create sends several requests, it marks the errors of
//     all but the first.
//   - external.NotFound: the resource does not exist. Any call may return it.
//   - external.InProgress: the system accepted the call, and the operation continues. Observe receives its handle.
//   - external.RetryAfter: the reconciler retries after the given delay.
//   - external.Throttled, external.Unauthorized and external.Unavailable: the whole connection fails.
//
// A client may implement optional interfaces: [CreationRecoverer], [BackendIdentifier], [ConnectionDescriber],
// [ExternalLister] and [ExternalDisconnecter]. Disconnect of a client is called at the end of the pass, before
// Disconnect of the connecter.
//
// A client that wraps another client needs a method Unwrap() any that returns the wrapped client. The reconciler uses
// the method to find the optional interfaces of the wrapped client. The list methods of a typed lister are not found in
// this way: the wrapper has to forward them.
//
// A call may change the status of the managed resource. The reconciler writes the status once, at the end of the pass,
// if it has changed. Error texts are redacted and limited to 1 KiB before they are shown.
//
// A client adds annotations with meta.AddAnnotations. To remove one of its annotations, the client sets the value to
// the empty string. The reconciler restores any annotation or finalizer that a call removes, and any change of the
// reconciler's own annotations. The exception is the external name: a client may change it, but not to the empty
// string.
type ExternalClient = TypedExternalClient[resource.Managed]

// A TypedExternalClient is an [ExternalClient] for one Go type of managed resource. Its methods receive that type and
// need no type assertion.
type TypedExternalClient[T resource.Managed] interface {
	// Observe returns whether the external resource exists, whether it is up to date, and its owner. The reconciler calls
	// Observe again after each Create, Update or Delete of the same pass.
	//
	// Observe must not change the external resource. It may change the status of the managed resource. It may also set
	// annotations, such as an external name that it found, and they are stored. Changes of the spec are stored only with
	// ResourceLateInitialized.
	//
	// Observe must report that a resource does not exist only if the external system said so. If Observe cannot
	// determine the state, it must return an error. Otherwise the reconciler might create the resource again or remove
	// the finalizer.
	Observe(ctx context.Context, mg T) (ExternalObservation, error)

	// Create creates the external resource. Changes of the status and the annotations of the managed resource, above all
	// the external name, are stored. Changes of its spec are not stored. The context of Create outlives a shutdown by a
	// few seconds, so that a creation in progress ends with a known result.
	Create(ctx context.Context, mg T) error

	// Update corrects the external resource. It is called only if the resource exists, and at most once per pass.
	Update(ctx context.Context, mg T) error

	// Delete requests the deletion of the external resource. While the resource still exists, Delete is called again
	// once per poll interval.
	Delete(ctx context.Context, mg T) error
}

// An ExternalObservation is the result of Observe.
type ExternalObservation struct {
	// ResourceExists is true if the external resource exists. It is false only if the external system said that the
	// resource does not exist.
	ResourceExists bool

	// ResourceUpToDate is true if an Update would change nothing. Compare only fields that an Update can change.
	ResourceUpToDate bool

	// ResourceLateInitialized is true if Observe has set unset fields of the spec, and they are to be stored. Prefer to
	// show defaults of the external system in the status: a write to a user's spec conflicts with the tool that applies
	// the spec.
	ResourceLateInitialized bool

	// Diff describes the difference between the desired and the observed state, for the debug log. It is redacted and
	// limited in length like error texts. If it is empty, the debug log has the Differences.
	Diff string

	// Differences are the fields of the external resource that are not as desired. They are ignored if the resource does
	// not exist, is up to date, or belongs to another owner. The reconciler cleans them with [difference.Clean], records
	// them in the status of a [resource.DriftReporter], and names the fields in the condition UpToDate and in the event of
	// an update. Nil says nothing about the fields. Package difference computes them.
	Differences []commonv1.Difference

	// ConnectionDetails are the details with which a user connects to the external resource. Before the object becomes
	// Ready, they are written to the Secret that the object names, see resource.ConnectionSecretWriterTo. Nil leaves the
	// published details unchanged. Successive observations should return the same values.
	ConnectionDetails ConnectionDetails

	// Owner is the owner of the external resource. The zero value is OwnerUnknown: the client cannot determine the
	// owner. A resource with the external name of the object then counts as a resource of the object.
	Owner Owner

	// OwnerNamespace is the namespace of the owning object. Set it if the Owner is OwnerOther and the namespace is known,
	// see [Stamp.Namespace]. It is for namespaced objects with the adoption policy "force". If OwnerNamespace and
	// OwnerStamp are empty, such an object takes over the resource only if the operator allows that. A cluster-scoped
	// object needs the OwnerStamp instead.
	OwnerNamespace string

	// OwnerStamp is the [Stamp] in the metadata of the external resource, if the Owner is OwnerOther and the resource
	// has one. A stamp includes the namespace, so OwnerNamespace need not be set. Without a stamp an object that was
	// restored from a backup cannot take over the resource of the original object.
	OwnerStamp Stamp
}

// ConnectionDetails maps the keys of a Secret to secret values.
type ConnectionDetails map[string][]byte

// An Owner says who owns an external resource, according to the metadata of the resource.
type Owner int

// Owners of an external resource.
const (
	// OwnerUnknown means that the external system cannot store the owner of a resource.
	OwnerUnknown Owner = iota

	// OwnerOurs means that the object that is being reconciled owns the resource.
	OwnerOurs

	// OwnerNone means that the metadata of the resource name no owner. The reconciler leaves the resource alone unless the
	// object has created or adopted the resource before, or the adoption policy allows the adoption.
	OwnerNone

	// OwnerOther means that another object, cluster or tool owns the resource. The reconciler changes the resource only
	// if the adoption policy is "force" and the operator allows that, see [WithAllowedAdoptionPolicies].
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

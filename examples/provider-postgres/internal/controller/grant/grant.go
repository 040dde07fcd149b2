// Package grant reconciles objects of the kind Grant with privileges of roles on databases. Start with the four
// methods of the client: Observe, Create, Update and Delete.
//
// +kubebuilder:rbac:groups=postgres.moorage.dev,resources=grants,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=postgres.moorage.dev,resources=grants/status,verbs=patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=grants.postgres.moorage.dev,verbs=get
package grant

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/difference"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/reference"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/connect"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/postgres"
)

// Setup adds a controller of the kind to a manager. The UID identifies the cluster, see managed.ClusterUID. The given
// reconciler options are applied last.
func Setup(
	m ctrl.Manager, cluster types.UID, connections *connect.Connections, o controller.Options,
	ro ...managed.ReconcilerOption,
) error {
	options, err := connections.Options(&v1alpha1.Grant{})
	if err != nil {
		return err
	}
	options = append(options, Options()...)
	options = append(options, managed.WithTypedExternalConnector(NewConnector(connections, cluster)))

	return managed.Setup(m, Kind(), o, append(options, ro...)...)
}

// Kind returns the kind of this package.
func Kind() resource.ManagedKind {
	return resource.ManagedKind(v1alpha1.GroupVersion().WithKind(v1alpha1.GrantKind))
}

// Options returns the reconciler options that describe PostgreSQL.
func Options() []managed.ReconcilerOption {
	return []managed.ReconcilerOption{
		// The role and the database identify the privileges, and both are in the spec. The external name, which is the name
		// of the object, means nothing to the server. So a creation with an unknown result can be repeated.
		managed.WithDeterministicExternalName(true),
		// The server shows at once what it has done.
		managed.WithCreationGracePeriod(0),
		managed.WithKindDeletionGuard(),
		managed.WithKstatusConditions(),
	}
}

// A Linker returns a connection for an object, and all Grants that use the same configuration.
type Linker interface {
	Link(ctx context.Context, mg resource.Managed) (*connect.Link, error)
	Grants(ctx context.Context, mg *v1alpha1.Grant) ([]v1alpha1.Grant, error)
}

// A Connector creates the clients that reconcile objects of the kind. Use NewConnector.
type Connector struct {
	to      Linker
	cluster types.UID
}

// NewConnector returns a connector for objects of the cluster with this UID, see managed.ClusterUID.
func NewConnector(to Linker, cluster types.UID) Connector { return Connector{to, cluster} }

// Connect returns the client for one pass over an object.
func (c Connector) Connect(
	ctx context.Context, mg *v1alpha1.Grant,
) (managed.TypedExternalClient[*v1alpha1.Grant], error) {
	link, err := c.to.Link(ctx, mg)
	if err != nil {
		return nil, err
	}

	return client{link, c}, nil
}

type client struct {
	*connect.Link
	Connector
}

// older returns a Grant for the same role and database that is older than mg and owns the privileges, or nil.
// Privileges have no place for a stamp, so the oldest Grant that manages them owns them.
func (c client) older(ctx context.Context, mg *v1alpha1.Grant) (*v1alpha1.Grant, error) {
	all, err := c.to.Grants(ctx, mg)
	if err != nil {
		return nil, err
	}
	want := desired(mg)
	for i := range all {
		other := &all[i]
		is := desired(other)
		if other.UID != mg.UID && is.Role == want.Role && is.Database == want.Database && before(other, mg) &&
			manages(other) {
			return other, nil
		}
	}

	return nil, nil
}

// manages reports whether a Grant manages privileges. One that only observes never changes any. One that is paused, or
// whose policies are not valid, has changed some if it has the finalizer, which the reconciler adds first.
func manages(mg *v1alpha1.Grant) bool {
	policies := mg.GetManagementPolicies()
	switch {
	case meta.IsPaused(mg), policies.Paused(), policies.Validate() != nil, meta.ValidatePolicies(mg) != nil:
		return meta.FinalizerExists(mg, managed.FinalizerName)
	case meta.ShouldOnlyObserve(mg):
		return false
	default:
		return policies.Allow(commonv1.ManagementActionCreate) || policies.Allow(commonv1.ManagementActionUpdate) ||
			policies.Allow(commonv1.ManagementActionDelete)
	}
}

// owns returns an error if an older Grant owns the privileges: it may have appeared since Observe.
func (c client) owns(ctx context.Context, mg *v1alpha1.Grant) error {
	owner, err := c.older(ctx, mg)
	if err != nil || owner == nil {
		return err
	}

	return errors.Errorf("the Grant %s/%s is older and is for the same role and database: delete one of the two",
		owner.Namespace, owner.Name)
}

// before reports whether a is older than b. If the two were created in the same second, the UIDs decide.
func before(a, b *v1alpha1.Grant) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.UID < b.UID
	}

	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// Observe reports which privileges the role has on the database. They belong to the oldest Grant for the two.
func (c client) Observe(ctx context.Context, mg *v1alpha1.Grant) (managed.ExternalObservation, error) {
	want := desired(mg)
	found, err := c.Grant(ctx, want.Role, want.Database)
	if err != nil || len(found.Privileges) == 0 {
		return managed.ExternalObservation{}, err
	}
	owner, err := c.older(ctx, mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if owner != nil {
		of := v1alpha1.GroupVersion().WithKind(v1alpha1.GrantKind).GroupKind()

		return managed.ExternalObservation{
			ResourceExists: true, Owner: managed.OwnerOther, OwnerStamp: managed.NewStamp(c.cluster, of, owner),
		}, nil
	}
	mg.Status.AtProvider = v1alpha1.GrantObservation{Privileges: found.Privileges}
	mg.SetConditions(commonv1.Available())

	differences, err := difference.Between(fields{want.Privileges}, fields{found.Privileges}, difference.Set("privileges"))

	return managed.ExternalObservation{
		ResourceExists: true, ResourceUpToDate: len(differences) == 0, Differences: differences,
	}, err
}

// fields are what is compared.
type fields struct {
	Privileges []string `json:"privileges"`
}

// desired returns the privileges that the spec asks for.
func desired(mg *v1alpha1.Grant) postgres.Grant {
	p := mg.Spec.ForProvider
	out := postgres.Grant{Role: reference.FromPtrValue(p.Role), Database: reference.FromPtrValue(p.Database)}
	for _, privilege := range p.Privileges {
		out.Privileges = append(out.Privileges, string(privilege))
	}
	slices.Sort(out.Privileges)

	return out
}

// Create grants the privileges, unless an older Grant is about to do that.
func (c client) Create(ctx context.Context, mg *v1alpha1.Grant) error {
	if err := c.owns(ctx, mg); err != nil {
		return external.NotCreated(err)
	}

	return c.CreateGrant(ctx, desired(mg))
}

// Update grants what is missing and revokes what is too much, unless an older Grant owns the privileges.
func (c client) Update(ctx context.Context, mg *v1alpha1.Grant) error {
	if err := c.owns(ctx, mg); err != nil {
		return err
	}

	return c.UpdateGrant(ctx, desired(mg))
}

// Delete revokes all privileges of the role on the database, unless an older Grant owns them.
func (c client) Delete(ctx context.Context, mg *v1alpha1.Grant) error {
	if err := c.owns(ctx, mg); err != nil {
		return err
	}
	of := desired(mg)

	return c.Revoke(ctx, of.Role, of.Database)
}

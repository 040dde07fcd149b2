// Package schema reconciles objects of the kind Schema with schemas of a database. Start with the four methods
// of the client: Observe, Create, Update and Delete.
//
// +kubebuilder:rbac:groups=postgres.moorage.dev,resources=schemas,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=postgres.moorage.dev,resources=schemas/status,verbs=patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=schemas.postgres.moorage.dev,verbs=get
package schema

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/difference"
	"github.com/moorage-dev/moorage/pkg/errors"
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
	options, err := connections.Options(&v1alpha1.Schema{})
	if err != nil {
		return err
	}
	options = append(options, Options()...)
	options = append(options, managed.WithTypedExternalConnector(NewConnector(connections, cluster)))

	return managed.Setup(m, Kind(), o, append(options, ro...)...)
}

// Kind returns the kind of this package.
func Kind() resource.ManagedKind {
	return resource.ManagedKind(v1alpha1.GroupVersion().WithKind(v1alpha1.SchemaKind))
}

// Options returns the reconciler options that describe PostgreSQL.
func Options() []managed.ReconcilerOption {
	return []managed.ReconcilerOption{
		// The external name is the name of the object, or the value of its annotation, and the server refuses a
		// second one with the same name. So a creation with an unknown result can be repeated.
		managed.WithDeterministicExternalName(true),
		// The server shows at once what it has done.
		managed.WithCreationGracePeriod(0),
		managed.WithKindDeletionGuard(),
		managed.WithKstatusConditions(),
	}
}

// A Linker returns a connection for an object.
type Linker interface {
	Link(ctx context.Context, mg resource.Managed) (*connect.Link, error)
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
	ctx context.Context, mg *v1alpha1.Schema,
) (managed.TypedExternalClient[*v1alpha1.Schema], error) {
	link, err := c.to.Link(ctx, mg)
	if err != nil {
		return nil, err
	}

	of := v1alpha1.GroupVersion().WithKind(v1alpha1.SchemaKind).GroupKind()

	return client{link, managed.NewStamp(c.cluster, of, mg), new(string)}, nil
}

type client struct {
	*connect.Link
	stamp managed.Stamp
	seen  *string // the comment that Observe found, on which the decision of the reconciler is based
}

// Observe reports what there is of the schema.
func (c client) Observe(ctx context.Context, mg *v1alpha1.Schema) (managed.ExternalObservation, error) {
	want := c.desired(mg)
	found, err := c.Schema(ctx, want.Database, want.Name)
	switch {
	case err != nil:
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot read the schema")
	case found == nil:
		return managed.ExternalObservation{}, nil
	}
	*c.seen = found.Comment
	out := managed.ExternalObservation{ResourceExists: true, Owner: c.stamp.Owner(found.Comment)}
	if out.Owner == managed.OwnerOther {
		out.OwnerStamp = managed.Stamp(found.Comment)

		return out, nil // never up to date, and its state is nothing of this object
	}
	mg.Status.AtProvider = v1alpha1.SchemaObservation{Owner: found.Owner}
	mg.SetConditions(commonv1.Available())
	out.Differences, err = difference.Between(fields{want.Owner, want.Comment}, fields{found.Owner, found.Comment})
	out.ResourceUpToDate = len(out.Differences) == 0

	return out, err
}

// fields are what is compared. An empty field of the spec is not.
type fields struct {
	Owner   string `json:"owner,omitempty"`
	Comment string `json:"comment,omitempty"`
}

// desired returns the schema that the spec asks for.
func (c client) desired(mg *v1alpha1.Schema) postgres.Schema {
	p := mg.Spec.ForProvider

	return postgres.Schema{
		Name: meta.GetExternalName(mg), Database: reference.FromPtrValue(p.Database), Owner: reference.FromPtrValue(p.Owner),
		Comment: string(c.stamp),
	}
}

// Create creates the schema with its stamp.
func (c client) Create(ctx context.Context, mg *v1alpha1.Schema) error {
	return c.CreateSchema(ctx, c.desired(mg))
}

// Update corrects the owner and the stamp.
func (c client) Update(ctx context.Context, mg *v1alpha1.Schema) error {
	found, err := c.current(ctx, mg)
	if err != nil || found == nil {
		return err
	}

	return c.UpdateSchema(ctx, *found, c.desired(mg))
}

// Delete drops the schema, if it is empty.
func (c client) Delete(ctx context.Context, mg *v1alpha1.Schema) error {
	found, err := c.current(ctx, mg)
	if err != nil || found == nil {
		return err
	}

	return c.DropSchema(ctx, *found)
}

// current reads the schema once more before a change. That another object owns it since Observe is an error.
func (c client) current(ctx context.Context, mg *v1alpha1.Schema) (*postgres.Schema, error) {
	want := c.desired(mg)
	found, err := c.Schema(ctx, want.Database, want.Name)
	if err != nil || found == nil {
		return nil, errors.Wrap(err, "cannot read the schema")
	}
	if found.Comment != *c.seen && c.stamp.Owner(found.Comment) == managed.OwnerOther {
		return nil, errors.New("its owner has just changed: it is left unchanged, and observed again")
	}

	return found, nil
}

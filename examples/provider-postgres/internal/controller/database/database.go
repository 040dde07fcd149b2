// Package database reconciles objects of the kind Database with databases of a PostgreSQL server. Start with the
// four methods of the client: Observe, Create, Update and Delete.
//
// +kubebuilder:rbac:groups=postgres.moorage.dev,resources=databases,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=postgres.moorage.dev,resources=databases/status,verbs=patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=databases.postgres.moorage.dev,verbs=get
package database

import (
	"context"
	"strings"
	"time"

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
	options, err := connections.Options(&v1alpha1.Database{})
	if err != nil {
		return err
	}
	options = append(options, Options()...)
	options = append(options, managed.WithTypedExternalConnector(NewConnector(connections, cluster)))

	return managed.Setup(m, Kind(), o, append(options, ro...)...)
}

// Kind returns the kind of this package.
func Kind() resource.ManagedKind {
	return resource.ManagedKind(v1alpha1.GroupVersion().WithKind(v1alpha1.DatabaseKind))
}

// Options returns the reconciler options that describe PostgreSQL.
func Options() []managed.ReconcilerOption {
	return []managed.ReconcilerOption{
		// The external name is the name of the object, or the value of its annotation, and the server refuses a
		// second one with the same name. So a creation with an unknown result can be repeated.
		managed.WithDeterministicExternalName(true),
		// A CREATE DATABASE that runs is seen, see find. This is for one that has not reached the server yet.
		managed.WithCreationGracePeriod(arrival),
		managed.WithKindDeletionGuard(),
		managed.WithKstatusConditions(),
	}
}

// arrival is how long a statement whose client is gone may take to reach the server.
const arrival = 5 * time.Second

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
	ctx context.Context, mg *v1alpha1.Database,
) (managed.TypedExternalClient[*v1alpha1.Database], error) {
	link, err := c.to.Link(ctx, mg)
	if err != nil {
		return nil, err
	}

	of := v1alpha1.GroupVersion().WithKind(v1alpha1.DatabaseKind).GroupKind()

	return client{link, managed.NewStamp(c.cluster, of, mg), &seen{}}, nil
}

type client struct {
	*connect.Link
	stamp managed.Stamp
	seen  *seen
}

// seen is what Observe found, on which the decision of the reconciler is based.
type seen struct {
	named   bool
	comment string
}

// Observe reports what there is of the database. One whose creation has not ended belongs to the object, and is
// never up to date.
func (c client) Observe(ctx context.Context, mg *v1alpha1.Database) (managed.ExternalObservation, error) {
	found, err := c.find(ctx, mg)
	switch {
	case err != nil:
		return managed.ExternalObservation{}, err
	case found.Running && !c.ours(found): // nothing can be changed yet
		mg.SetConditions(commonv1.Creating().WithMessage("the server is still creating the database"))

		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, Owner: managed.OwnerOurs}, nil
	case found.Half != nil && !c.ours(found):
		mg.Status.AtProvider = observation(*found.Half)
		mg.SetConditions(commonv1.Creating())

		return managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerOurs}, nil
	case found.Named == nil:
		return managed.ExternalObservation{}, nil
	}
	*c.seen = seen{named: true, comment: found.Named.Comment}
	out := managed.ExternalObservation{ResourceExists: true, Owner: c.stamp.Owner(found.Named.Comment)}
	if out.Owner == managed.OwnerOther {
		out.OwnerStamp = managed.Stamp(found.Named.Comment)

		return out, nil // never up to date, and its state is nothing of this object
	}
	mg.Status.AtProvider = observation(*found.Named)
	mg.SetConditions(readiness(*found.Named))
	out.Differences, err = differences(c.desired(mg), *found.Named)
	out.ResourceUpToDate = len(out.Differences) == 0 && found.Half == nil

	return out, err
}

// find reads what there is of the database, and whether a CREATE DATABASE still runs: the object must neither be
// forgotten nor create a second one.
func (c client) find(ctx context.Context, mg *v1alpha1.Database) (postgres.Databases, error) {
	found, err := c.Databases(ctx, meta.GetExternalName(mg), string(mg.GetUID()))

	return found, errors.Wrap(err, "cannot read the database")
}

// ours reports whether there is a database with the external name and the stamp of the object.
func (c client) ours(found postgres.Databases) bool {
	return found.Named != nil && c.stamp.Owner(found.Named.Comment) == managed.OwnerOurs
}

func observation(found postgres.Database) v1alpha1.DatabaseObservation {
	return v1alpha1.DatabaseObservation{
		Owner: found.Owner, Encoding: found.Encoding, Collate: found.Collate, CharacterType: found.CType,
		ConnectionLimit: found.ConnectionLimit,
	}
}

// interrupted is the connection limit of a database whose DROP DATABASE was interrupted. It can only be dropped.
const interrupted = -2

func readiness(found postgres.Database) commonv1.Condition {
	if *found.ConnectionLimit == interrupted {
		return commonv1.Unavailable().WithMessage("a DROP DATABASE was interrupted: delete this object and create it again")
	}

	return commonv1.Available()
}

// desired returns the database that the spec asks for.
func (c client) desired(mg *v1alpha1.Database) postgres.Database {
	p := mg.Spec.ForProvider

	return postgres.Database{
		Name:            meta.GetExternalName(mg),
		Owner:           reference.FromPtrValue(p.Owner),
		Encoding:        reference.FromPtrValue(p.Encoding),
		Collate:         reference.FromPtrValue(p.Collate),
		CType:           reference.FromPtrValue(p.CharacterType),
		ConnectionLimit: p.ConnectionLimit,
		Comment:         string(c.stamp),
	}
}

// fields are what is compared. An empty field of the spec is not.
type fields struct {
	Owner           string `json:"owner,omitempty"`
	Encoding        string `json:"encoding,omitempty"`
	Collate         string `json:"collate,omitempty"`
	CharacterType   string `json:"characterType,omitempty"`
	ConnectionLimit *int32 `json:"connectionLimit,omitempty"`
	Comment         string `json:"comment,omitempty"`
}

func fieldsOf(d postgres.Database) fields {
	return fields{d.Owner, d.Encoding, d.Collate, d.CType, d.ConnectionLimit, d.Comment}
}

// differences returns the fields in which a database differs from the wanted one.
func differences(want, found postgres.Database) ([]commonv1.Difference, error) {
	return difference.Between(fieldsOf(want), fieldsOf(found),
		difference.Immutable("encoding", "collate", "characterType"))
}

// immutable returns an error if PostgreSQL cannot change a field that differs.
func immutable(want, found postgres.Database) error {
	all, err := differences(want, found)
	if err != nil {
		return err
	}
	var fixed []string
	for _, d := range all {
		if d.Immutable {
			fixed = append(fixed, d.Path)
		}
	}
	if len(fixed) == 0 {
		return nil
	}

	return external.Terminal(postgres.ReasonImmutable, errors.Errorf("PostgreSQL cannot change %s of a database: "+
		"correct spec.forProvider, or delete this object and create it again", strings.Join(fixed, ", ")))
}

// Create creates the database, under another name first.
func (c client) Create(ctx context.Context, mg *v1alpha1.Database) error {
	return c.CreateDatabase(ctx, string(mg.GetUID()), c.desired(mg))
}

// Update completes a creation, and corrects the owner, the connection limit and the stamp.
func (c client) Update(ctx context.Context, mg *v1alpha1.Database) error {
	found, err := c.current(ctx, mg)
	if err != nil {
		return err
	}
	if found.Named != nil && found.Half == nil {
		if err := immutable(c.desired(mg), *found.Named); err != nil {
			return err
		}
	}

	return c.UpdateDatabase(ctx, found, c.desired(mg))
}

// Delete drops the database, and what is left of a creation.
func (c client) Delete(ctx context.Context, mg *v1alpha1.Database) error {
	found, err := c.current(ctx, mg)
	if err != nil {
		return err
	}

	return c.DropDatabase(ctx, found)
}

// current reads the database once more before a change. It is an error if the server still creates the database, and if
// there is only one that another object owns since Observe. Beside a creation of this object that has not been
// completed, that one is left out.
func (c client) current(ctx context.Context, mg *v1alpha1.Database) (postgres.Databases, error) {
	found, err := c.find(ctx, mg)
	switch {
	case err != nil:
		return found, err
	case found.Running:
		return found, external.RetryAfter(arrival, errors.New("the server is still creating the database: it is changed "+
			"or dropped after that"))
	case found.Named == nil, c.ours(found), *c.seen == (seen{true, found.Named.Comment}):
		return found, nil
	}
	if found.Half != nil {
		found.Named = nil

		return found, nil
	}

	return found, errors.New("its owner has just changed: it is left unchanged, and observed again")
}

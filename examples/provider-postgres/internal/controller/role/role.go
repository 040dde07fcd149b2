// Package role reconciles objects of the kind Role with roles of a PostgreSQL server. Start with the four methods
// of the client: Observe, Create, Update and Delete.
//
// +kubebuilder:rbac:groups=postgres.moorage.dev,resources=roles,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=postgres.moorage.dev,resources=roles/status,verbs=patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=roles.postgres.moorage.dev,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch
package role

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/difference"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
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
	options, err := connections.Options(&v1alpha1.Role{})
	if err != nil {
		return err
	}
	options = append(options, Options()...)
	options = append(options, managed.WithTypedExternalConnector(NewConnector(connections, cluster)))

	return managed.Setup(m, Kind(), o, append(options, ro...)...)
}

// Kind returns the kind of this package.
func Kind() resource.ManagedKind {
	return resource.ManagedKind(v1alpha1.GroupVersion().WithKind(v1alpha1.RoleKind))
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

// A Linker returns a connection for an object, and the Secret that it names for its connection details, or nil.
type Linker interface {
	Link(ctx context.Context, mg resource.Managed) (*connect.Link, error)
	Secret(ctx context.Context, mg resource.Managed, name string) (*corev1.Secret, error)
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
	ctx context.Context, mg *v1alpha1.Role,
) (managed.TypedExternalClient[*v1alpha1.Role], error) {
	link, err := c.to.Link(ctx, mg)
	if err != nil {
		return nil, err
	}

	of := v1alpha1.GroupVersion().WithKind(v1alpha1.RoleKind).GroupKind()

	return client{link, managed.NewStamp(c.cluster, of, mg), new(string), c.to}, nil
}

type client struct {
	*connect.Link
	stamp   managed.Stamp
	seen    *string // the stamp that Observe found, on which the decision of the reconciler is based
	secrets Linker
}

// Observe reports what there is of the role. It reads the Secret only while the password of the server is not yet, or
// not known to be, the one under the key password.
func (c client) Observe(ctx context.Context, mg *v1alpha1.Role) (managed.ExternalObservation, error) {
	found, err := c.Role(ctx, meta.GetExternalName(mg))
	switch {
	case err != nil:
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot read the role")
	case found == nil:
		return managed.ExternalObservation{}, nil
	}
	note := parse(found.Comment)
	*c.seen = note.stamp
	out := managed.ExternalObservation{ResourceExists: true, Owner: c.stamp.Owner(note.stamp)}
	if out.Owner == managed.OwnerOther {
		out.OwnerStamp = managed.Stamp(note.stamp)

		return out, nil // never up to date, and its state is nothing of this object
	}
	before := mg.Status.AtProvider.PasswordID
	mg.Status.AtProvider = v1alpha1.RoleObservation{
		Login: found.Login, CreateDatabase: found.CreateDatabase, CreateRole: found.CreateRole,
		ConnectionLimit: found.ConnectionLimit, PasswordID: before,
	}
	mg.SetConditions(commonv1.Available())
	out.Differences, err = differences(c.desired(mg, note, ""), *found)
	out.ResourceUpToDate = len(out.Differences) == 0
	if err != nil || mg.Spec.WriteConnectionSecretToRef == nil {
		return out, err
	}

	return out, c.observePassword(ctx, mg, found, &out)
}

// fields are what is compared. The password is not: observePassword does that.
type fields struct {
	Login           bool   `json:"login"`
	CreateDatabase  bool   `json:"createDatabase"`
	CreateRole      bool   `json:"createRole"`
	Inherit         bool   `json:"inherit"`
	ConnectionLimit int32  `json:"connectionLimit"`
	Comment         string `json:"comment"`
}

func fieldsOf(r postgres.Role) fields {
	return fields{r.Login, r.CreateDatabase, r.CreateRole, r.Inherit, r.ConnectionLimit, r.Comment}
}

// differences returns the fields in which a role differs from the wanted one. The comment identifies the password, so
// its text is not shown.
func differences(want, found postgres.Role) ([]commonv1.Difference, error) {
	return difference.Between(fieldsOf(want), fieldsOf(found), difference.Sensitive("comment"))
}

// observePassword adds to an observation what is to be done about the password.
func (c client) observePassword(
	ctx context.Context, mg *v1alpha1.Role, found *postgres.Role, out *managed.ExternalObservation,
) error {
	note, asked := parse(found.Comment), mg.Spec.ForProvider.PasswordRotation
	drifted := c.ReadsPasswords() && identify(found.Verifier) != note.password
	status := &mg.Status.AtProvider.PasswordID
	// Synced is false after a pass that could not write the Secret.
	synced := mg.GetCondition(commonv1.TypeSynced).Status == metav1.ConditionTrue
	if note.password != "" && note.rotation == asked && *status == note.password && !drifted && synced {
		return nil
	}
	if note.password == "" {
		mg.SetConditions(commonv1.Creating())
	}
	has, foreign, err := c.stored(ctx, mg)
	if err != nil {
		return err
	}
	if foreign { // at most the password that the server has: a restored object takes it over with the Secret
		working := facts{note: note, secret: has}.working()
		has = passwords{working, working}
	}
	next := plan(facts{note: note, asked: asked, drifted: drifted, secret: has}, generate)
	*status = next.settled
	out.ConnectionDetails = c.details(mg, next.publish)
	if next.apply != "" {
		out.ResourceUpToDate = false
		out.Differences = append(out.Differences, commonv1.Difference{Path: keyPassword, Sensitive: true})
	}

	return nil
}

// stored returns the passwords in the Secret. It reports as foreign a Secret that does not belong to the object.
func (c client) stored(ctx context.Context, mg *v1alpha1.Role) (has passwords, foreign bool, err error) {
	secret, err := c.secrets.Secret(ctx, mg, mg.Spec.WriteConnectionSecretToRef.Name)
	if err != nil || secret == nil {
		return passwords{}, false, err
	}
	external.Conceal(ctx, secret.Data[keyPassword], secret.Data[keyNext])
	has = passwords{current: string(secret.Data[keyPassword]), next: string(secret.Data[keyNext])}

	return has, !metav1.IsControlledBy(secret, mg), nil
}

// details returns what an application needs to connect.
func (c client) details(mg *v1alpha1.Role, p passwords) managed.ConnectionDetails {
	host, port := c.Address()

	return managed.ConnectionDetails{
		keyUser: []byte(meta.GetExternalName(mg)), keyPassword: []byte(p.current), keyNext: []byte(p.next),
		"host": []byte(host), "port": []byte(strconv.Itoa(int(port))),
	}
}

// desired returns the role that the spec asks for, with a new password unless that is empty.
func (c client) desired(mg *v1alpha1.Role, n note, password string) postgres.Role {
	p := mg.Spec.ForProvider
	out := postgres.Role{
		Name: meta.GetExternalName(mg), Login: or(p.Login, true), CreateDatabase: p.CreateDatabase,
		CreateRole: p.CreateRole, Inherit: or(p.Inherit, true), ConnectionLimit: or(p.ConnectionLimit, -1),
	}
	n.stamp = string(c.stamp)
	if password != "" {
		out.Verifier = verifier(password)
		n.password, n.rotation = identify(out.Verifier), p.PasswordRotation
	}
	out.Comment = n.String()

	return out
}

// or returns the value of a field that may be unset.
func or[T any](field *T, unset T) T {
	if field == nil {
		return unset
	}

	return *field
}

// Create creates the role, without a password: the next pass stores one in the Secret, and sets it after that.
func (c client) Create(ctx context.Context, mg *v1alpha1.Role) error {
	return c.CreateRole(ctx, c.desired(mg, note{}, ""))
}

// Update corrects the attributes and the stamp, and sets the password that the Secret has under the key for the next.
// A role that is taken over from another object keeps its password: the Secret is taken over after that.
func (c client) Update(ctx context.Context, mg *v1alpha1.Role) error {
	found, err := c.current(ctx, mg)
	if err != nil || found == nil {
		return err
	}
	note, password := parse(found.Comment), ""
	if mg.Spec.WriteConnectionSecretToRef != nil && c.stamp.Owner(note.stamp) != managed.OwnerOther {
		if password, err = c.password(ctx, mg, found); err != nil {
			return err
		}
	}

	return c.UpdateRole(ctx, c.desired(mg, note, password))
}

// password returns the password to be set in the server, or "". It is an error if the Secret belongs to another owner:
// that owner sets and rotates the passwords in it.
func (c client) password(ctx context.Context, mg *v1alpha1.Role, found *postgres.Role) (string, error) {
	has, foreign, err := c.stored(ctx, mg)
	switch {
	case err != nil:
		return "", err
	case foreign:
		return "", errors.Errorf("the Secret %q does not belong to this object: name another one in "+
			"spec.writeConnectionSecretToRef", mg.Spec.WriteConnectionSecretToRef.Name)
	}
	note := parse(found.Comment)
	drifted := c.ReadsPasswords() && identify(found.Verifier) != note.password

	return apply(facts{note, mg.Spec.ForProvider.PasswordRotation, drifted, has})
}

// Delete drops the role.
func (c client) Delete(ctx context.Context, mg *v1alpha1.Role) error {
	found, err := c.current(ctx, mg)
	if err != nil || found == nil {
		return err
	}

	return c.DropRole(ctx, found.Name)
}

// current reads the role once more before a change. That another object owns it since Observe is an error.
func (c client) current(ctx context.Context, mg *v1alpha1.Role) (*postgres.Role, error) {
	found, err := c.Role(ctx, meta.GetExternalName(mg))
	if err != nil || found == nil {
		return nil, errors.Wrap(err, "cannot read the role")
	}
	if stamp := parse(found.Comment).stamp; stamp != *c.seen && c.stamp.Owner(stamp) == managed.OwnerOther {
		return nil, errors.New("its owner has just changed: it is left unchanged, and observed again")
	}

	return found, nil
}

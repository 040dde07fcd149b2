package reference_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reference"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test"
)

// A Database and a Role are kinds to which others refer.
type (
	Database struct{ fake.Managed }
	Role     struct{ fake.Managed }
)

// A DatabaseList is a list of databases.
type DatabaseList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []Database
}

// DeepCopyObject is not called in the examples.
func (l *DatabaseList) DeepCopyObject() runtime.Object { return l }

// A Grant gives roles rights on a database.
type Grant struct {
	fake.Managed

	Spec GrantSpec
}

type GrantSpec struct {
	// Database is the external name of the database. DatabaseRef or DatabaseSelector fills it.
	Database         string                        `json:"database,omitempty"`
	DatabaseRef      *commonv1.NamespacedReference `json:"databaseRef,omitempty"`
	DatabaseSelector *commonv1.NamespacedSelector  `json:"databaseSelector,omitempty"`

	// Roles are the external names of the roles. RoleRefs fill them.
	Roles    []string                       `json:"roles,omitempty"`
	RoleRefs []commonv1.NamespacedReference `json:"roleRefs,omitempty"`
}

// ResolveReferences fills spec.database and spec.roles.
func (g *Grant) ResolveReferences(ctx context.Context, r client.Reader) error {
	if err := g.resolveDatabase(ctx, r); err != nil {
		return errors.Wrap(err, "cannot resolve spec.database")
	}

	return errors.Wrap(g.resolveRoles(ctx, r), "cannot resolve spec.roles")
}

func (g *Grant) resolveDatabase(ctx context.Context, r client.Reader) error {
	rsp, err := reference.NewAPIResolver(r, g).Resolve(ctx, reference.ResolutionRequest{
		CurrentValue: g.Spec.Database,
		Reference:    g.Spec.DatabaseRef,
		Selector:     g.Spec.DatabaseSelector,
		To:           reference.To{Managed: &Database{}, List: &DatabaseList{}},
		Extract:      reference.ExternalName(),
		WaitForReady: true, // a database has its name before it exists
	})
	if err != nil {
		return err
	}
	g.Spec.Database, g.Spec.DatabaseRef = rsp.ResolvedValue, rsp.ResolvedReference

	return nil
}

func (g *Grant) resolveRoles(ctx context.Context, r client.Reader) error {
	rsp, err := reference.NewAPIResolver(r, g).ResolveMultiple(ctx, reference.MultiResolutionRequest{
		CurrentValues: g.Spec.Roles,
		References:    g.Spec.RoleRefs,
		To:            reference.To{Managed: &Role{}},
		WaitForReady:  true,
	})
	if err != nil {
		return err
	}
	g.Spec.Roles, g.Spec.RoleRefs = rsp.ResolvedValues, rsp.ResolvedReferences

	return nil
}

// A grant does not use the name of a database before the database is ready. Later the grant keeps the name.
func ExampleAPIResolver_Resolve_waitForReady() {
	db := &Database{}
	db.Namespace, db.Name = "shop", "orders"
	meta.SetExternalName(db, "orders")
	db.SetConditions(commonv1.Creating())
	c := test.NewMockClient()
	c.MockGet = func(_ context.Context, _ client.ObjectKey, o client.Object) error {
		*o.(*Database) = *db

		return nil
	}

	grant := &Grant{Spec: GrantSpec{DatabaseRef: &commonv1.NamespacedReference{Name: "orders"}}}
	grant.ObjectMeta = metav1.ObjectMeta{Namespace: "shop", Name: "reader"}

	err := grant.ResolveReferences(context.Background(), c)
	fmt.Println(reference.IsExpected(err), err)

	db.SetConditions(commonv1.Available())
	fmt.Println(grant.ResolveReferences(context.Background(), c), grant.Spec.Database)

	db.SetConditions(commonv1.Unavailable())
	fmt.Println(grant.ResolveReferences(context.Background(), c), grant.Spec.Database)
	// Output:
	// true cannot resolve spec.database: waiting for Database "shop/orders": its condition Ready is not True yet
	// <nil> orders
	// <nil> orders
}

// An extractor that is not the external name: a field, and a function of the author.
func ExampleField() {
	arn := reference.Field("status.atProvider.arn")
	address := reference.Typed(func(db *Database) string {
		if meta.GetExternalName(db) == "" {
			return "" // wait
		}

		return "postgres://db.example.org/" + meta.GetExternalName(db)
	})

	db := &Database{}
	fmt.Printf("%q %q\n", arn(db), address(db))
	meta.SetExternalName(db, "orders")
	fmt.Printf("%q\n", address(db))
	// Output:
	// "" ""
	// "postgres://db.example.org/orders"
}

package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/tour"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/provider"
)

func (e *env) steps() []tour.Step {
	return []tour.Step{
		{Name: "ready", Within: 20 * time.Second, Show: e.ready,
			Claim: "A user applies a privilege and a schema, then the database that they are in, and at last its owner."},
		{Name: "steady", Within: 15 * time.Second, Show: e.steady, Claim: "Nothing is changed: nothing is written."},
		{Name: "drift", Within: 15 * time.Second, Show: e.drift, Claim: "An administrator gives the database another owner."},
		{Name: "foreign", Within: 15 * time.Second, Show: e.foreign,
			Claim: "The user asks for a database that exists and belongs to nobody in this cluster."},
		{Name: "rotation", Within: 20 * time.Second, Show: e.rotation,
			Claim: "The user asks for another password; the application logs in all the time."},
		{Name: "outage", Within: 30 * time.Second, Show: e.outage,
			Claim: "PostgreSQL crashes, and the user asks for one more database meanwhile."},
		{Name: "deleted", Within: 30 * time.Second, Show: e.deleted, Claim: "The user deletes everything at once."},
	}
}

// shop returns the objects of the demo.
func shop() []client.Object {
	ref := func(name string) *commonv1.NamespacedReference { return &commonv1.NamespacedReference{Name: name} }
	grant := &v1alpha1.Grant{ObjectMeta: meta("reader")}
	grant.Spec.ForProvider = v1alpha1.GrantParameters{
		DatabaseRef: ref("shop"), RoleRef: ref("reader"), Privileges: []v1alpha1.Privilege{"CONNECT"},
	}
	schema := &v1alpha1.Schema{ObjectMeta: meta("orders")}
	schema.Spec.ForProvider = v1alpha1.SchemaParameters{DatabaseRef: ref("shop"), OwnerRef: ref("shop")}
	database := &v1alpha1.Database{ObjectMeta: meta("shop")}
	database.Spec.ForProvider.OwnerRef = ref("shop")
	owner := &v1alpha1.Role{ObjectMeta: meta("shop")}
	owner.Spec.WriteConnectionSecretToRef = &v1alpha1.SecretReference{Name: "shop"}

	return []client.Object{grant, schema, database, &v1alpha1.Role{ObjectMeta: meta("reader")}, owner}
}

func (e *env) ready(ctx context.Context, r *tour.Report) error {
	if err := e.create(ctx, shop()...); err != nil {
		return err
	}
	for _, o := range shop() {
		if err := e.awaitReady(ctx, r, o); err != nil {
			return err
		}
	}
	r.See("All five are Ready, each as soon as what it refers to was.")
	comment, err := e.ask(ctx, "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = 'shop'")
	r.See("The comment of the database says whose it is: %s", comment)

	return err
}

func (e *env) awaitReady(ctx context.Context, r *tour.Report, o client.Object) error {
	mg, ok := o.(resource.Managed)
	if !ok {
		return errors.Errorf("a %T is no managed resource", o)
	}

	return r.Until(ctx, o.GetName()+" is Ready", func(ctx context.Context) error {
		if err := e.kube.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		if c := mg.GetCondition(commonv1.TypeReady); c.Status != metav1.ConditionTrue {
			return errors.Errorf("%T is not: %s", mg, mg.GetCondition(commonv1.TypeSynced).Message)
		}

		return nil
	})
}

// ask returns the one text that a query of the administrator has.
func (e *env) ask(ctx context.Context, query string) (string, error) {
	var out string
	err := e.server.In(ctx, "postgres", func(conn *pgx.Conn) error { return conn.QueryRow(ctx, query).Scan(&out) })

	return out, err
}

// reads returns how many queries the provider has sent.
func (e *env) reads() (int, error) {
	text, err := e.server.Log()

	return strings.Count(text, pgserver.Provider+": LOG:  execute"), err
}

func (e *env) steady(ctx context.Context, r *tour.Report) error {
	before, err := e.reads()
	if err != nil {
		return err
	}
	requests, err := e.cluster.Requests(provider.Name)
	if err != nil {
		return err
	}
	const looks = 15 // three at each object
	if err := r.Until(ctx, "the provider looks three times at each", func(context.Context) error {
		now, err := e.reads()
		if err == nil && now < before+looks {
			err = errors.Errorf("%d queries", now-before)
		}

		return err
	}); err != nil {
		return err
	}
	after, err := e.cluster.Requests(provider.Name)
	if err != nil {
		return err
	}
	for _, request := range after[len(requests):] {
		if request.Verb != "watch" && request.Verb != "list" {
			return errors.Errorf("the provider sent %s %s", request.Verb, request.Name)
		}
	}
	r.See("The provider sent %d queries to PostgreSQL, and neither wrote nor read an object: no Secret either.", looks)

	return nil
}

func (e *env) drift(ctx context.Context, r *tour.Report) error {
	if err := e.server.Exec(ctx, "ALTER DATABASE shop OWNER TO reader"); err != nil {
		return err
	}
	err := r.Until(ctx, "the owner is the one of the spec", func(ctx context.Context) error {
		owner, err := e.ask(ctx, "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'shop'")
		if err == nil && owner != "shop" {
			err = errors.Errorf("it is %s", owner)
		}

		return err
	})
	if err == nil {
		r.See("The database belongs to the role shop again.")
	}

	return err
}

func (e *env) foreign(ctx context.Context, r *tour.Report) error {
	if err := e.server.Exec(ctx, "CREATE DATABASE accounting"); err != nil {
		return err
	}
	mg := &v1alpha1.Database{ObjectMeta: meta("accounting")}
	if err := e.create(ctx, mg); err != nil {
		return err
	}
	err := r.Until(ctx, "the object says that the database is not its own", func(ctx context.Context) error {
		if err := e.kube.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		if c := mg.GetCondition(commonv1.TypeSynced); c.Reason != commonv1.ReasonExternalResourceNotOwned {
			return errors.Errorf("it says %s: %s", c.Reason, c.Message)
		}

		return nil
	})
	if err != nil {
		return err
	}
	r.See("Synced=False: %s", mg.GetCondition(commonv1.TypeSynced).Message)
	if err := e.kube.Delete(ctx, mg); err != nil {
		return err
	}
	if err := e.awaitGone(ctx, r, mg); err != nil {
		return err
	}
	left, err := e.ask(ctx, "SELECT datname::text FROM pg_database WHERE datname = 'accounting'")
	r.See("The object is deleted, and the database %s is still there.", left)

	return err
}

func (e *env) awaitGone(ctx context.Context, r *tour.Report, o client.Object) error {
	return r.Until(ctx, o.GetName()+" is gone", func(ctx context.Context) error {
		err := e.kube.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			return errors.New("it exists")
		}

		return resource.IgnoreNotFound(err)
	})
}

func (e *env) rotation(ctx context.Context, r *tour.Report) error {
	before, err := e.secret(ctx)
	if err != nil {
		return err
	}
	owner := &v1alpha1.Role{ObjectMeta: meta("shop")}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"forProvider":{"passwordRotation":"2026-01"}}}`))
	if err := e.kube.Patch(ctx, owner, patch); err != nil {
		return err
	}
	logins := 0
	err = r.Until(ctx, "both keys have a new password", func(ctx context.Context) error {
		has, err := e.secret(ctx)
		if err != nil {
			return err
		}
		works := e.logsIn(ctx, has.Data["password"]) || e.logsIn(ctx, has.Data["password-next"])
		now, err := e.secret(ctx)
		switch {
		case err != nil:
			return err
		case !works && now.ResourceVersion == has.ResourceVersion:
			return errors.New("neither password of the Secret works")
		case string(now.Data["password"]) == string(before.Data["password"]),
			string(now.Data["password"]) != string(now.Data["password-next"]):
			logins++

			return errors.New("the rotation goes on")
		default:
			return nil
		}
	})
	if err != nil {
		return err
	}
	r.See("Meanwhile the application logged in %d times; the old password works no more: %v.", logins+1,
		!e.logsIn(ctx, before.Data["password"]))

	return nil
}

func (e *env) secret(ctx context.Context) (*corev1.Secret, error) {
	out := &corev1.Secret{}

	return out, e.kube.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "shop"}, out)
}

// logsIn reports whether the application can connect with a password.
func (e *env) logsIn(ctx context.Context, password []byte) bool {
	conn, err := e.server.Connect(ctx, "shop", string(password), "shop")
	if err != nil {
		return false
	}
	_ = conn.Close(ctx)

	return true
}

func (e *env) outage(ctx context.Context, r *tour.Report) error {
	e.server.Suspend()
	config := &v1alpha1.ProviderConfig{ObjectMeta: meta("default")}
	err := r.Until(ctx, "the configuration says that the server is down", func(ctx context.Context) error {
		if err := e.kube.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return err
		}
		if c := config.GetCondition(commonv1.TypeConnected); c.Status != metav1.ConditionFalse {
			return errors.Errorf("Connected is %s", c.Status)
		}

		return nil
	})
	if err != nil {
		return err
	}
	r.See("ProviderConfig: Connected=False: %s", config.GetCondition(commonv1.TypeConnected).Message)
	late := &v1alpha1.Database{ObjectMeta: meta("late")}
	if err := e.create(ctx, late); err != nil {
		return err
	}
	if err := e.server.Resume(ctx); err != nil {
		return err
	}
	if err := e.awaitReady(ctx, r, late); err != nil {
		return err
	}
	r.See("PostgreSQL is back, and the database that was asked for meanwhile is Ready.")

	return nil
}

func (e *env) deleted(ctx context.Context, r *tour.Report) error {
	all := append(shop(), &v1alpha1.Database{ObjectMeta: meta("late")})
	for _, o := range all {
		if err := e.kube.Delete(ctx, o); err != nil {
			return err
		}
	}
	for _, o := range all {
		if err := e.awaitGone(ctx, r, o); err != nil {
			return err
		}
	}
	left, err := e.ask(ctx, `SELECT coalesce(string_agg(datname, ', '), 'none') FROM pg_database
		WHERE datname NOT IN ('postgres', 'template0', 'template1', 'accounting')`)
	if err != nil {
		return err
	}
	roles, err := e.ask(ctx, fmt.Sprintf(`SELECT coalesce(string_agg(rolname, ', '), 'none') FROM pg_roles
		WHERE rolname NOT LIKE 'pg\_%%' AND rolname NOT IN ('%s', '%s')`, pgserver.Superuser, pgserver.Provider))
	if err == nil && left+roles != "nonenone" {
		err = errors.Errorf("left over: databases %s, roles %s", left, roles)
	}
	r.See("Databases that are left over: %s. Roles: %s.", left, roles)

	return err
}

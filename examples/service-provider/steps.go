package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/clusteraccess"
)

var errOfUse = errors.New("the old access is still of use")

func (t *tour) steps() []step {
	var first client.Client // with which amber was served in the beginning

	return slices.Concat(t.living(&first), t.leaving(), t.lasting(&first))
}

// Living are the steps in which something is asked for and kept.
func (t *tour) living(first *client.Client) []step {
	var old client.Client

	return []step{
		{
			"red, violet and amber ask for accounts: access to their control planes is granted, their credentials are there, and NATS accepts them",
			func(ctx context.Context) error {
				return errors.Join(t.ask(ctx, "red"), t.ask(ctx, "violet"), t.ask(ctx, "amber"))
			},
			func(ctx context.Context) (err error) {
				if err := errors.Join(t.served(ctx, "red"), t.served(ctx, "violet"), t.served(ctx, "amber")); err != nil {
					return err
				}
				*first, err = t.access(ctx, "amber")

				return err
			},
		},
		{
			"the configuration changes, and with it what NATS allows every account: nobody polled before an hour was over",
			func(ctx context.Context) error { // from now on every two seconds
				return merge(ctx, t.platform, &Messaging{ObjectMeta: metav1.ObjectMeta{Name: providerName}}, `{"connections":9,"poll":"2s"}`)
			},
			func(ctx context.Context) error {
				return errors.Join(t.allowed(ctx, "red", 9), t.allowed(ctx, "violet", 9))
			},
		},
		{
			"access to red's control plane is rotated: the old one is of no use",
			func(ctx context.Context) (err error) {
				if old, err = t.access(ctx, "red"); err != nil {
					return err
				}

				return t.granter.Rotate(ctx, client.ObjectKeyFromObject(request("red")))
			},
			func(ctx context.Context) error { return over(ctx, "red", old) },
		},
		t.redelivery("red", "red's credentials are deleted: they are delivered again over the new access"),
		{
			"blue asks for an account and is denied access: the object says so, and nothing is delivered",
			func(ctx context.Context) error {
				t.denied.Store(request("blue").Namespace, true)

				return t.ask(ctx, "blue")
			},
			func(ctx context.Context) error {
				return errors.Join(t.says(ctx, "blue", serviceprovider.ReasonClusterAccessDenied), gone(ctx, t.mcp, delivered(account("blue"))))
			},
		},
	}
}

// Leaving are the steps in which what was asked for goes.
func (t *tour) leaving() []step {
	return []step{
		{
			"red has a stream in its account, and deletes the object: the deletion waits",
			func(ctx context.Context) error {
				return errors.Join(t.stream(ctx, "red", true), t.onboarding.Delete(ctx, account("red")))
			},
			func(ctx context.Context) error { return errors.Join(t.says(ctx, "red", "InUse"), t.works(ctx, "red")) },
		},
		{
			"the stream goes: the account goes, with the credentials, the access and the object",
			func(ctx context.Context) error { return t.stream(ctx, "red", false) },
			func(ctx context.Context) error {
				return errors.Join(gone(ctx, t.onboarding, account("red")), gone(ctx, t.mcp, delivered(account("red"))), gone(ctx, t.platform, request("red")), t.refused())
			},
		},
		{
			"green has an account",
			func(ctx context.Context) error { return t.ask(ctx, "green") },
			func(ctx context.Context) error { return t.served(ctx, "green") },
		},
		{
			"somebody takes green's access away first, then the object is deleted: the deletion ends",
			func(ctx context.Context) error {
				return errors.Join(t.platform.Delete(ctx, request("green")), t.onboarding.Delete(ctx, account("green")))
			},
			func(ctx context.Context) error {
				return errors.Join(gone(ctx, t.onboarding, account("green")), gone(ctx, t.platform, request("green")))
			},
		},
	}
}

// Lasting are the steps in which time goes by. They come last because meanwhile it does.
func (t *tour) lasting(first *client.Client) []step {
	return []step{
		{
			"access to amber's control plane is good for half a minute: that of the beginning is of no use any more, and amber does not notice",
			nil,
			func(ctx context.Context) error {
				return errors.Join(over(ctx, "amber", *first), t.served(ctx, "amber"))
			},
		},
		t.redelivery("amber", "amber's credentials are deleted: they are delivered again over the access that was renewed"),
	}
}

// A redelivery is a step in which credentials are deleted when the access is over that they
// came by: what brings them back has a new one.
func (t *tour) redelivery(name, what string) step {
	var before string

	return step{
		what,
		func(ctx context.Context) (err error) {
			if before, err = t.version(ctx, name); err != nil {
				return err
			}

			return t.mcp.Delete(ctx, delivered(account(name)))
		},
		func(ctx context.Context) error {
			now, err := t.version(ctx, name)
			if err == nil && now == before {
				err = errors.New("the credentials are the old ones")
			}

			return errors.Join(err, t.served(ctx, name))
		},
	}
}

func account(name string) *Account {
	return &Account{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name}}
}

// Request is what access to the control plane of a tenant is asked for with.
func request(name string) *clustersv1alpha1.AccessRequest {
	ns := clusteraccess.StableNamespace(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(account(name))})

	return &clustersv1alpha1.AccessRequest{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: providerName + "--" + name + "--mcp"}}
}

// Ask makes a tenant known to the platform, and creates his object.
func (t *tour) ask(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: request(name).Namespace}}
	plane := &clustersv1alpha1.ClusterRequest{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name}, Spec: clustersv1alpha1.ClusterRequestSpec{Purpose: "mcp"}}

	return errors.Join(t.platform.Create(ctx, ns), t.platform.Create(ctx, plane), t.onboarding.Create(ctx, account(name)))
}

// Says looks at the condition Ready of a tenant's object.
func (t *tour) says(ctx context.Context, name, reason string) error {
	a := account(name)
	if err := t.onboarding.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
		return err
	}
	if c := meta.FindStatusCondition(a.Status.Conditions, serviceprovider.ServiceProviderConditionReady); c == nil || c.Reason != reason {
		return fmt.Errorf("%s does not say %s: %+v", name, reason, a.Status)
	}

	return nil
}

// Served says that a tenant has what was asked for.
func (t *tour) served(ctx context.Context, name string) error {
	return errors.Join(t.says(ctx, name, serviceprovider.ReasonReconcileSuccess), t.works(ctx, name))
}

// Works connects to NATS with the credentials in a tenant's control plane.
func (t *tour) works(ctx context.Context, name string) error {
	secret := delivered(account(name))
	if err := t.mcp.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return err
	}
	conn, err := t.hub.connect(secret.Data["creds"])
	if err != nil {
		return fmt.Errorf("NATS does not accept the credentials of %s: %w", name, err)
	}
	conn.Close()

	return nil
}

// Access returns a client with what the platform has granted for the control plane of a
// tenant.
func (t *tour) access(ctx context.Context, name string) (client.Client, error) {
	ar, secret := request(name), &corev1.Secret{}
	if err := t.platform.Get(ctx, client.ObjectKeyFromObject(ar), ar); err != nil {
		return nil, err
	}
	if err := t.platform.Get(ctx, serviceprovider.SecretKeyOf(ar), secret); err != nil {
		return nil, err
	}
	k, err := clusters.ParseKubeconfig(secret.Data["kubeconfig"], "")
	if err != nil {
		return nil, err
	}

	return client.New(k.RESTConfig, client.Options{Scheme: t.scheme})
}

// Over returns an error if the control plane of a tenant still accepts an access.
func over(ctx context.Context, name string, old client.Client) error {
	secret := delivered(account(name))
	err := old.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if kerrors.IsUnauthorized(err) {
		return nil
	}

	return errors.Join(errOfUse, err)
}

// Version returns that of a tenant's credentials.
func (t *tour) version(ctx context.Context, name string) (string, error) {
	secret := delivered(account(name))
	err := t.mcp.Get(ctx, client.ObjectKeyFromObject(secret), secret)

	return string(secret.UID), err
}

// Allowed asks NATS how many connections an account may have.
func (t *tour) allowed(ctx context.Context, name string, want int64) error {
	a := account(name)
	if err := t.onboarding.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
		return err
	}
	got, err := t.hub.allows(a.Status.PublicKey)
	if err == nil && got != want {
		err = fmt.Errorf("%s may have %d connections, not %d", name, got, want)
	}

	return err
}

// Stream makes a stream in a tenant's account, or deletes it.
func (t *tour) stream(ctx context.Context, name string, exists bool) error {
	secret := delivered(account(name))
	if err := t.mcp.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return err
	}
	t.last = secret.Data["creds"]
	conn, err := t.hub.connect(secret.Data["creds"])
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	if !exists {
		return js.DeleteStream(ctx, "orders")
	}
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: "orders", Subjects: []string{"orders.>"}, Storage: jetstream.MemoryStorage})

	return err
}

// Refused connects with credentials whose account is gone.
func (t *tour) refused() error {
	conn, err := t.hub.connect(t.last)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return nil // as it should be
	case err != nil:
		return err
	}
	conn.Close()

	return errors.New("NATS still accepts credentials of an account that is gone")
}

func merge(ctx context.Context, c client.Client, o client.Object, body string) error {
	return c.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(body)))
}

// Gone returns an error if an object is still there.
func gone(ctx context.Context, c client.Client, o client.Object) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(o), o)
	switch {
	case resource.IsNotFound(err):
		return nil
	case err != nil:
		return err
	default:
		return fmt.Errorf("%T %s is still there", o, o.GetName())
	}
}

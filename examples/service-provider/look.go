package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/clusteraccess"
)

// A check observes something once. It returns a description, and an error if the claim of the step does not hold.
type check func(ctx context.Context) (string, error)

func account(name string) *Account {
	return &Account{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name}}
}

// request returns the AccessRequest of the provider for the control plane of a tenant.
func request(name string) *clustersv1alpha1.AccessRequest {
	ns := clusteraccess.StableNamespace(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(account(name))})

	return &clustersv1alpha1.AccessRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: providerName + "--" + name + "--mcp"},
	}
}

// workloadRequest returns the ClusterRequest of the provider for a workload cluster of a tenant.
func workloadRequest(name string) *clustersv1alpha1.ClusterRequest {
	return &clustersv1alpha1.ClusterRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: request(name).Namespace, Name: providerName + "--" + name + "--wl"},
	}
}

func configuration() *Messaging { return &Messaging{ObjectMeta: metav1.ObjectMeta{Name: providerName}} }

// configure returns an action that changes the configuration.
func (t *walk) configure(body string) action {
	return func(ctx context.Context) error { return merge(ctx, t.platform, configuration(), body) }
}

// annotate returns an action that sets the operation annotation of a tenant's object.
func (t *walk) annotate(name, value string) action {
	return func(ctx context.Context) error {
		return merge(ctx, t.onboarding, account(name),
			fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, serviceprovider.OperationAnnotation, value))
	}
}

// ask creates the namespace and the control plane of a tenant on the platform, and the tenant's object.
func (t *walk) ask(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: request(name).Namespace}}
	plane := &clustersv1alpha1.ClusterRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name},
		Spec:       clustersv1alpha1.ClusterRequestSpec{Purpose: "mcp"},
	}

	return errors.Join(t.platform.Create(ctx, ns), t.platform.Create(ctx, plane), t.onboarding.Create(ctx, account(name)))
}

// says returns a check of a condition of a tenant's object.
func (t *walk) says(name, kind string, status metav1.ConditionStatus, reason string) check {
	return func(ctx context.Context) (string, error) {
		a := account(name)
		if err := t.onboarding.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
			return "", err
		}
		c := meta.FindStatusCondition(a.Status.Conditions, kind)
		if c == nil {
			return "", fmt.Errorf("account %s has no condition %s", name, kind)
		}
		text := fmt.Sprintf("onboarding: account %s/%s, condition %s=%s, %s: %s",
			home, name, kind, c.Status, c.Reason, c.Message)
		text = strings.TrimSuffix(text, ": ")
		if c.Status != status || c.Reason != reason {
			return "", errors.New(text)
		}

		return text, nil
	}
}

func (t *walk) ready(name string) check {
	return t.says(name, serviceprovider.ServiceProviderConditionReady, metav1.ConditionTrue,
		serviceprovider.ReasonReconcileSuccess)
}

func (t *walk) unconfigured(name string) check {
	return t.says(name, serviceprovider.ServiceProviderConditionReady, metav1.ConditionFalse,
		serviceprovider.ReasonReconcileError)
}

// works returns a check that NATS accepts the credentials in a tenant's control plane.
func (t *walk) works(name string) check {
	return func(ctx context.Context) (string, error) {
		secret := delivered(account(name))
		if err := t.mcp.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return "", err
		}
		conn, err := t.hub.connect(secret.Data["creds"])
		if err != nil {
			return "", fmt.Errorf("NATS does not accept the credentials of %s: %w", name, err)
		}
		conn.Close()

		text := fmt.Sprintf("control plane: secret %s/%s; NATS accepts a connection with it", secret.Namespace, secret.Name)

		return text, nil
	}
}

// granted returns a check that the request for a workload cluster is granted.
func (t *walk) granted(name string) check {
	return func(ctx context.Context) (string, error) {
		r := workloadRequest(name)
		if err := t.platform.Get(ctx, client.ObjectKeyFromObject(r), r); err != nil {
			return "", err
		}
		text := fmt.Sprintf("platform: clusterrequest %s, purpose: %s, phase: %s", r.Name, r.Spec.Purpose, r.Status.Phase)
		if r.Status.Phase != clustersv1alpha1.RequestGranted {
			return "", errors.New(text)
		}

		return text, nil
	}
}

// deployed returns a check that the gateway of a tenant exists.
func (t *walk) deployed(name string) check {
	return func(ctx context.Context) (string, error) {
		g := gateway(account(name))
		if err := t.workload.Get(ctx, client.ObjectKeyFromObject(g), g); err != nil {
			return "", err
		}

		return fmt.Sprintf("workload: deployment %s/%s", g.Namespace, g.Name), nil
	}
}

// describe returns the phase of a request as text.
func (t *walk) describe(ctx context.Context, r *clustersv1alpha1.AccessRequest) string {
	if err := t.platform.Get(ctx, client.ObjectKeyFromObject(r), r); err != nil {
		return err.Error()
	}

	return fmt.Sprintf("accessrequest %s/%s, phase: %s", r.Namespace, r.Name, r.Status.Phase)
}

// access returns a client with the access that the platform has granted to the control plane of a tenant.
func (t *walk) access(ctx context.Context, name string) (client.Client, error) {
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

// over returns an error unless the control plane of a tenant rejects the old access.
func over(ctx context.Context, name string, old client.Client) (string, error) {
	secret := delivered(account(name))
	err := old.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if kerrors.IsUnauthorized(err) {
		return fmt.Sprintf("control plane: the old access of %s: %v", name, err), nil
	}

	return "", errors.Join(errOfUse, err)
}

// version returns the UID of the Secret with a tenant's credentials.
func (t *walk) version(ctx context.Context, name string) (string, error) {
	secret := delivered(account(name))
	err := t.mcp.Get(ctx, client.ObjectKeyFromObject(secret), secret)

	return string(secret.UID), err
}

// allowed returns a check of the limit of connections that NATS enforces for an account.
func (t *walk) allowed(name string, want int64) check {
	return func(ctx context.Context) (string, error) {
		a := account(name)
		if err := t.onboarding.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
			return "", err
		}
		got, err := t.hub.allows(a.Status.PublicKey)
		text := fmt.Sprintf("NATS: the account of %s may have %d connections", name, got)
		if err == nil && got != want {
			err = errors.New(text)
		}

		return text, err
	}
}

// stream creates a stream in a tenant's account, or deletes it.
func (t *walk) stream(ctx context.Context, name string, exists bool) error {
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
	_, err = js.CreateStream(ctx,
		jetstream.StreamConfig{Name: "orders", Subjects: []string{"orders.>"}, Storage: jetstream.MemoryStorage})

	return err
}

// refused checks that NATS rejects the last credentials of an account that is gone.
func (t *walk) refused(context.Context) (string, error) {
	conn, err := t.hub.connect(t.last)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return fmt.Sprintf("NATS: a connection with the credentials of before: %v", err), nil
	case err != nil:
		return "", err
	}
	conn.Close()

	return "", errors.New("NATS still accepts credentials of an account that is gone")
}

func merge(ctx context.Context, c client.Client, o client.Object, body string) error {
	return c.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(body)))
}

// gone returns a check that an object does not exist.
func (t *walk) gone(where string, c client.Client, o client.Object) check {
	return func(ctx context.Context) (string, error) {
		kind := fmt.Sprintf("%T", o)
		kind = strings.ToLower(strings.TrimPrefix(kind[strings.LastIndex(kind, ".")+1:], "*"))
		now, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			return "", fmt.Errorf("%T is no object", o)
		}
		err := c.Get(ctx, client.ObjectKeyFromObject(o), now)
		switch {
		case resource.IsNotFound(err):
			return fmt.Sprintf("%s: %s %s is not found", where, kind, o.GetName()), nil
		case err != nil:
			return "", err
		default:
			return "", fmt.Errorf("%s: %s %s is still there", where, kind, o.GetName())
		}
	}
}

// An inventory has the objects that the provider has created, each as name and UID, by kind.
type inventory map[string][]string

// made lists the objects that the provider has created on all clusters.
func (t *walk) made(ctx context.Context) (inventory, error) {
	all := inventory{}
	for _, k := range []struct {
		what string
		in   client.Client
		list client.ObjectList
		opts []client.ListOption
	}{
		{"keys of accounts", t.platform, &corev1.SecretList{}, []client.ListOption{client.InNamespace(keepNamespace)}},
		{"AccessRequests", t.platform, &clustersv1alpha1.AccessRequestList{}, nil},
		{"ClusterRequests", t.platform, &clustersv1alpha1.ClusterRequestList{}, nil},
		{"credentials", t.mcp, &corev1.SecretList{}, []client.ListOption{client.InNamespace("default")}},
		{"gateways", t.workload, &appsv1.DeploymentList{}, []client.ListOption{client.InNamespace("default")}},
	} {
		if err := k.in.List(ctx, k.list, k.opts...); err != nil {
			return nil, err
		}
		err := meta.EachListItem(k.list, func(o runtime.Object) error {
			m, err := meta.Accessor(o)
			if err == nil {
				all[k.what] = append(all[k.what], m.GetName()+" "+string(m.GetUID()))
			}

			return err
		})
		if err != nil {
			return nil, err
		}
	}

	return all, nil
}

// without returns the objects that another inventory does not have.
func (i inventory) without(other inventory) (more []string) {
	for what, objects := range i {
		for _, o := range objects {
			if !slices.Contains(other[what], o) {
				more = append(more, what+" "+o)
			}
		}
	}
	slices.Sort(more)

	return more
}

// String counts the objects.
func (i inventory) String() string {
	var parts []string
	for what, objects := range i {
		parts = append(parts, fmt.Sprintf("%d %s", len(objects), what))
	}
	slices.Sort(parts)

	return strings.Join(parts, ", ")
}

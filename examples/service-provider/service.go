package main

import (
	"context"
	"time"

	"github.com/nats-io/nkeys"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// keepNamespace holds the keys of the accounts, on the platform.
const keepNamespace = "messaging"

// A service gives each tenant a NATS account, and a gateway to it in a workload cluster.
type service struct {
	hub      *hub
	platform *clusters.Cluster
}

// CreateOrUpdate creates the account, and delivers its credentials.
func (s *service) CreateOrUpdate(
	ctx context.Context, a *Account, config *Messaging, cc serviceprovider.ClusterContext,
) (ctrl.Result, error) {
	keys, err := s.keys(ctx, a)
	if err != nil {
		return fail(a, err)
	}
	public, err := keys.PublicKey()
	if err != nil {
		return fail(a, err)
	}
	if err := s.hub.offer(public, config.Connections); err != nil {
		return fail(a, err)
	}
	if err := s.deliver(ctx, a, keys, cc.MCPCluster.Client()); err != nil {
		return fail(a, err)
	}
	if err := runGateway(ctx, a, cc.WorkloadCluster.Client()); err != nil {
		return fail(a, err)
	}
	a.Status.PublicKey, a.Status.Connections = public, config.Connections
	serviceprovider.StatusReady(a)

	return ctrl.Result{}, nil
}

// Delete removes the account once its tenant has no streams in it.
func (s *service) Delete(
	ctx context.Context, a *Account, _ *Messaging, cc serviceprovider.ClusterContext,
) (ctrl.Result, error) {
	serviceprovider.StatusTerminating(a)
	keys, err := s.keys(ctx, a)
	if err != nil {
		return ctrl.Result{}, err
	}
	public, err := keys.PublicKey()
	if err != nil {
		return ctrl.Result{}, err
	}
	if _, err := s.hub.allows(public); err == nil {
		creds, err := credentials(keys)
		if err != nil {
			return ctrl.Result{}, err
		}
		streams, err := s.hub.streams(ctx, creds)
		if err != nil {
			return ctrl.Result{}, err
		}
		if streams > 0 {
			serviceprovider.StatusTerminatingWithReason(a, "InUse", "There are streams in the account: delete them first")

			return ctrl.Result{RequeueAfter: time.Second}, nil
		}
		if err := s.hub.remove(public); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := s.withdraw(ctx, a, cc.MCPCluster.Client()); err != nil {
		return ctrl.Result{}, errors.Wrap(err, "cannot take the credentials back")
	}
	if err := resource.IgnoreNotFound(cc.WorkloadCluster.Client().Delete(ctx, gateway(a))); err != nil {
		return ctrl.Result{}, errors.Wrap(err, "cannot remove the gateway")
	}
	err = resource.IgnoreNotFound(s.platform.Client().Delete(ctx, s.kept(a)))

	return ctrl.Result{}, errors.Wrap(err, "cannot remove the keys of the account")
}

func fail(a *Account, err error) (ctrl.Result, error) {
	serviceprovider.StatusProgressing(a, serviceprovider.ReasonReconcileError, err.Error())

	return ctrl.Result{}, err
}

// kept returns the Secret with the keys of an account.
func (s *service) kept(a *Account) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: keepNamespace, Name: "account-" + string(a.GetUID())}}
}

// keys returns the keys of an account. It creates and stores them on first use.
func (s *service) keys(ctx context.Context, a *Account) (nkeys.KeyPair, error) {
	kept := s.kept(a)
	err := s.platform.Client().Get(ctx, client.ObjectKeyFromObject(kept), kept)
	if err == nil {
		return nkeys.FromSeed(kept.Data["seed"])
	}
	if !resource.IsNotFound(err) {
		return nil, errors.Wrap(err, "cannot read the keys of the account")
	}
	made, err := nkeys.CreateAccount()
	if err != nil {
		return nil, err
	}
	seed, err := made.Seed()
	if err != nil {
		return nil, err
	}
	kept.Data = map[string][]byte{"seed": seed}

	return made, errors.Wrap(s.platform.Client().Create(ctx, kept), "cannot keep the keys of the account")
}

// ownerAnnotation marks a Secret with credentials with the UID of its account: a tenant may have another Secret of that
// name.
const ownerAnnotation = "messaging.example.org/account-uid"

// delivered returns the Secret of an account in the tenant's control plane, without data.
func delivered(a *Account) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: a.GetName(), Annotations: map[string]string{ownerAnnotation: string(a.GetUID())},
	}}
}

// find reads the Secret in the tenant's control plane, and reports whether it belongs to the account.
func find(ctx context.Context, a *Account, mcp client.Client) (secret *corev1.Secret, own bool, err error) {
	secret = &corev1.Secret{}
	err = mcp.Get(ctx, client.ObjectKeyFromObject(delivered(a)), secret)

	return secret, err == nil && secret.GetAnnotations()[ownerAnnotation] == string(a.GetUID()), err
}

// deliver creates the Secret with credentials in the tenant's control plane, unless it exists.
func (s *service) deliver(ctx context.Context, a *Account, keys nkeys.KeyPair, mcp client.Client) error {
	secret, own, err := find(ctx, a, mcp)
	switch {
	case own:
		return nil
	case err == nil:
		return errors.Errorf("the Secret %s/%s does not belong to this account and is left as it is: "+
			"delete it, or give the account another name", secret.GetNamespace(), secret.GetName())
	case !resource.IsNotFound(err):
		return errors.Wrap(err, "cannot look for the credentials")
	}
	creds, err := credentials(keys)
	if err != nil {
		return err
	}
	secret = delivered(a)
	secret.Data = map[string][]byte{"creds": creds, "url": []byte(s.hub.server.ClientURL())}

	return errors.Wrap(mcp.Create(ctx, secret), "cannot deliver the credentials")
}

// withdraw deletes the Secret with the credentials from the tenant's control plane. A Secret of that name that does not
// belong to the account stays.
func (s *service) withdraw(ctx context.Context, a *Account, mcp client.Client) error {
	secret, own, err := find(ctx, a, mcp)
	if err != nil || !own {
		return resource.IgnoreNotFound(err)
	}
	uid := secret.GetUID()

	return resource.IgnoreNotFound(mcp.Delete(ctx, secret, client.Preconditions{UID: &uid}))
}

package clusterstest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// grantsNamespace is the namespace of the service accounts in each cluster.
const grantsNamespace = "granted-access"

func secretName(ar *clustersv1alpha1.AccessRequest) string { return accountName(ar) + "-access" }

// accountName returns the name of the service account for an AccessRequest. It is unique, even if an AccessRequest is
// deleted and created again.
func accountName(ar *clustersv1alpha1.AccessRequest) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s", ar.Namespace, ar.Name, ar.UID))

	return "access-" + hex.EncodeToString(sum[:8])
}

func stamp(t time.Time) []byte { return strconv.AppendInt(nil, t.Unix(), 10) }

func expiration(s *corev1.Secret) time.Time {
	seconds, err := strconv.ParseInt(string(s.Data["expirationTimestamp"]), 10, 64)
	if err != nil {
		return time.Time{}
	}

	return time.Unix(seconds, 0)
}

// A token is a token of a service account that is bound to a Secret. It is invalid after the Secret was deleted, so it
// can be ended before it expires.
type token struct {
	secret  string // in grantsNamespace
	expires time.Time
}

// grant creates a service account with the requested permissions, and returns a kubeconfig with a new token of it.
func grant(
	ctx context.Context, config *rest.Config, ar *clustersv1alpha1.AccessRequest, ttl time.Duration,
) ([]byte, token, error) {
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, token{}, errors.Wrap(err, "cannot connect to the cluster")
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: grantsNamespace, Name: accountName(ar)}}
	objects := append([]client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: grantsNamespace}}, account,
	}, permissions(ar)...)
	for _, o := range objects {
		if err := client.IgnoreAlreadyExists(c.Create(ctx, o)); err != nil {
			return nil, token{}, errors.Wrapf(err, "cannot create %T %s", o, o.GetName())
		}
	}
	bound := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: grantsNamespace, GenerateName: accountName(ar) +
			"-", Labels: map[string]string{grantsNamespace: accountName(ar)},
	}}
	if err := c.Create(ctx, bound); err != nil {
		return nil, token{}, errors.Wrap(err, "cannot create what a token is bound to")
	}
	seconds := int64(max(ttl, minTokenTTL) / time.Second)
	asked := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			Kind: "Secret", APIVersion: "v1", Name: bound.Name, UID: bound.UID,
		},
	}}
	if err := c.SubResource("token").Create(ctx, account, asked); err != nil {
		return nil, token{}, errors.Wrap(err, "cannot get a token")
	}
	kubeconfig, err := clusters.New("granted").WithRESTConfig(&rest.Config{
		Host: config.Host, BearerToken: asked.Status.Token, TLSClientConfig: rest.TLSClientConfig{
			CAData: config.CAData, ServerName: config.ServerName,
		},
	}).WriteKubeconfig()

	return kubeconfig, token{bound.Name, clock.RealClock{}.Now().Add(ttl)}, err
}

// end deletes the tokens of an AccessRequest, except those to keep.
func end(
	ctx context.Context, config *rest.Config, ar *clustersv1alpha1.AccessRequest, keep func(secret string) bool,
) error {
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return errors.Wrap(err, "cannot connect to the cluster")
	}
	list := &corev1.SecretList{}
	if err := c.List(
		ctx, list, client.InNamespace(grantsNamespace), client.MatchingLabels{grantsNamespace: accountName(ar)}); err != nil {
		return errors.Wrap(err, "cannot list what tokens are bound to")
	}
	for i := range list.Items {
		if keep(list.Items[i].Name) {
			continue
		}
		if err := gone.Ignore(c.Delete(ctx, &list.Items[i]), list.Items[i].GetName()); err != nil {
			return errors.Wrap(err, "cannot end a token")
		}
	}

	return nil
}

// permissions returns the roles and bindings for an AccessRequest.
func permissions(ar *clustersv1alpha1.AccessRequest) []client.Object {
	if ar.Spec.Token == nil {
		return nil
	}
	var objects []client.Object
	bind := func(i int, namespace, kind, name string) {
		meta := metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("%s-%d", accountName(ar), i),
			Labels: map[string]string{grantsNamespace: accountName(ar)},
		}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
		subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: grantsNamespace, Name: accountName(ar)}}
		if namespace == "" {
			objects = append(objects, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})

			return
		}
		objects = append(objects, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
	}
	for i, p := range ar.Spec.Token.Permissions {
		meta := metav1.ObjectMeta{
			Namespace: p.Namespace, Name: fmt.Sprintf("%s-%d", accountName(ar), i),
			Labels: map[string]string{grantsNamespace: accountName(ar)},
		}
		if p.Namespace == "" {
			objects = append(objects, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: p.Rules})
			bind(i, "", "ClusterRole", meta.Name)

			continue
		}
		objects = append(objects, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: p.Namespace},
		}, &rbacv1.Role{ObjectMeta: meta, Rules: p.Rules})
		bind(i, p.Namespace, "Role", meta.Name)
	}
	for i, ref := range ar.Spec.Token.RoleRefs {
		bind(len(ar.Spec.Token.Permissions)+i, ref.Namespace, ref.Kind, ref.Name)
	}

	return objects
}

// revoke deletes the service account of an AccessRequest, which invalidates its tokens.
func revoke(ctx context.Context, config *rest.Config, ar *clustersv1alpha1.AccessRequest) error {
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return errors.Wrap(err, "cannot connect to the cluster")
	}
	objects := append([]client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: grantsNamespace, Name: accountName(ar)}},
	}, permissions(ar)...)
	for _, o := range objects {
		if _, shared := o.(*corev1.Namespace); shared {
			continue
		}
		if err := gone.Ignore(c.Delete(ctx, o), o.GetName()); err != nil {
			return errors.Wrapf(err, "cannot delete %T %s", o, o.GetName())
		}
	}

	return end(ctx, config, ar, func(string) bool { return false })
}

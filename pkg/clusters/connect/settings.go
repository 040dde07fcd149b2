package connect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A flaw is why a cluster has no connection.
type flaw struct {
	reason commonv1.ConditionReason
	err    error
}

// Error returns what is wrong.
func (f *flaw) Error() string { return redact.Error(f.err).Error() }

// Unwrap returns the error without the reason.
func (f *flaw) Unwrap() error { return f.err }

// read finds out how a cluster is reached. A flaw is something that its user has to
// correct; any other error says that it could not be found out now.
func (r *reconciler) read(ctx context.Context, c *clustersv1alpha1.Cluster) (clusters.Input, error) {
	data, version, err := r.kubeconfig(ctx, c)
	if err != nil {
		return clusters.Input{}, err
	}
	k, err := clusters.ParseKubeconfig(data, c.Spec.Context)
	switch {
	case errors.Is(err, clusters.ErrUnsafeKubeconfig):
		return clusters.Input{}, &flaw{clustersv1alpha1.ReasonKubeconfigRefused, err}
	case err != nil:
		return clusters.Input{}, &flaw{clustersv1alpha1.ReasonKubeconfigInvalid, err}
	}

	in := clusters.Input{RESTConfig: k.RESTConfig, Expires: k.Expires, Revision: revision(string(c.GetUID()), c.Spec.Context, version)}
	key := client.ObjectKeyFromObject(c)
	clusters.OnUnauthorized(in.RESTConfig, func() { r.refused.note(key, in.Revision) })

	return in, nil
}

// kubeconfig returns one, and what tells it from the one before.
func (r *reconciler) kubeconfig(ctx context.Context, c *clustersv1alpha1.Cluster) ([]byte, string, error) {
	ref := c.Spec.SecretRef
	if ref == nil {
		return r.ownKubeconfig()
	}
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: c.GetNamespace(), Name: ref.Name}
	if err := r.live.Get(ctx, key, secret); err != nil {
		if gone.Answered(err, ref.Name) {
			return nil, "", &flaw{clustersv1alpha1.ReasonSecretMissing, errors.Errorf("there is no Secret %s", ref.Name)}
		}

		return nil, "", errors.Wrapf(err, "cannot read Secret %s", ref.Name)
	}
	data := secret.Data[ref.Key]
	if len(data) == 0 {
		return nil, "", &flaw{clustersv1alpha1.ReasonSecretMissing, errors.Errorf("Secret %s has no key %q, or nothing in it", ref.Name, ref.Key)}
	}

	return data, fmt.Sprintf("%s/%s/%s", secret.GetUID(), secret.GetResourceVersion(), ref.Key), nil
}

// ownKubeconfig returns that of the program.
func (r *reconciler) ownKubeconfig() ([]byte, string, error) {
	if r.o.file == "" {
		return nil, "", &flaw{clustersv1alpha1.ReasonKubeconfigRefused, errors.New("a context without a secretRef is not allowed here")}
	}
	data, err := os.ReadFile(r.o.file)
	if err != nil {
		return nil, "", errors.Wrap(err, "cannot read the kubeconfig")
	}
	sum := sha256.Sum256(data)

	return data, hex.EncodeToString(sum[:]), nil
}

// revision makes a short text of what a connection depends on.
func revision(parts ...string) clusters.Revision {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))

	return clusters.Revision(hex.EncodeToString(sum[:8]))
}

// expired returns a flaw if the credentials of a cluster are of no use any more.
func expired(in clusters.Input, now time.Time) error {
	if in.Expires.IsZero() || now.Before(in.Expires) {
		return nil
	}

	return &flaw{clustersv1alpha1.ReasonCredentialsExpired, errors.Wrap(clusters.ErrExpired, in.Expires.UTC().Format(time.RFC3339))}
}

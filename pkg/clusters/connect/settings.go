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

// A connectError is the reason why a cluster has no connection.
type connectError struct {
	reason commonv1.ConditionReason
	err    error
}

// Error returns the text of the error without secrets.
func (f *connectError) Error() string { return redact.Error(f.err).Error() }

// Unwrap returns the original error.
func (f *connectError) Unwrap() error { return f.err }

// buildInput reads the settings of a cluster. A connectError means that the user has to correct them. Any other error
// means that they cannot be read now.
func (r *reconciler) buildInput(ctx context.Context, c *clustersv1alpha1.Cluster) (clusters.Input, error) {
	data, version, err := r.kubeconfig(ctx, c)
	if err != nil {
		return clusters.Input{}, err
	}
	k, err := clusters.ParseKubeconfig(data, c.Spec.Context)
	switch {
	case errors.Is(err, clusters.ErrUnsafeKubeconfig):
		return clusters.Input{}, &connectError{clustersv1alpha1.ReasonKubeconfigRefused, err}
	case err != nil:
		return clusters.Input{}, &connectError{clustersv1alpha1.ReasonKubeconfigInvalid, err}
	}

	in := clusters.Input{
		RESTConfig: k.RESTConfig, Expires: k.Expires, Revision: revision(string(c.GetUID()), c.Spec.Context, version),
	}
	key := client.ObjectKeyFromObject(c)
	clusters.OnUnauthorized(in.RESTConfig, func() { r.unauthorized.report(key, in.Revision) })

	return in, nil
}

// kubeconfig returns the kubeconfig and its version. Two different kubeconfigs have different versions.
func (r *reconciler) kubeconfig(ctx context.Context, c *clustersv1alpha1.Cluster) ([]byte, string, error) {
	ref := c.Spec.SecretRef
	if ref == nil {
		return r.ownKubeconfig()
	}
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: c.GetNamespace(), Name: ref.Name}
	if err := r.apiReader.Get(ctx, key, secret); err != nil {
		if gone.Answered(err, ref.Name) {
			return nil, "", &connectError{clustersv1alpha1.ReasonSecretMissing, errors.Errorf("there is no Secret %s", ref.Name)}
		}

		return nil, "", errors.Wrapf(err, "cannot read Secret %s", ref.Name)
	}
	data := secret.Data[ref.Key]
	if len(data) == 0 {
		return nil, "", &connectError{
			clustersv1alpha1.ReasonSecretMissing, errors.Errorf("Secret %s has no key %q, or nothing in it", ref.Name, ref.Key),
		}
	}

	return data, fmt.Sprintf("%s/%s/%s", secret.GetUID(), secret.GetResourceVersion(), ref.Key), nil
}

// ownKubeconfig returns the kubeconfig of the program, and its hash.
func (r *reconciler) ownKubeconfig() ([]byte, string, error) {
	if r.options.kubeconfigFile == "" {
		return nil, "", &connectError{
			clustersv1alpha1.ReasonKubeconfigRefused, errors.New("a context without a secretRef is not allowed here"),
		}
	}
	data, err := os.ReadFile(r.options.kubeconfigFile)
	if err != nil {
		return nil, "", errors.Wrap(err, "cannot read the kubeconfig")
	}
	sum := sha256.Sum256(data)

	return data, hex.EncodeToString(sum[:]), nil
}

// revision returns a hash of the settings of a connection.
func revision(parts ...string) clusters.Revision {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))

	return clusters.Revision(hex.EncodeToString(sum[:8]))
}

// checkExpiry returns a connectError if the credentials of a cluster have expired.
func checkExpiry(in clusters.Input, now time.Time) error {
	if in.Expires.IsZero() || now.Before(in.Expires) {
		return nil
	}

	return &connectError{
		clustersv1alpha1.ReasonCredentialsExpired, errors.Wrap(clusters.ErrExpired, in.Expires.UTC().Format(time.RFC3339)),
	}
}

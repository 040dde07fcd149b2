package resource

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// GetSecret returns the value of the referenced key of a Secret. It returns an error if ref is nil, or if the Secret
// or the key does not exist. The error for a missing Secret is a Kubernetes NotFound error. No error contains the
// value. If ctx belongs to a reconcile of package managed, the reconciler masks the value in everything that it
// reports.
//
// Use a client that does not read Secrets from a cache. At the first call, a caching client starts to list and watch
// every Secret of the cluster. A provider rarely has the permission for that, and never needs it.
func GetSecret(ctx context.Context, k client.Client, ref *commonv1.SecretKeySelector) (string, error) {
	if ref == nil {
		return "", errors.New("no secret is referenced")
	}

	s := &corev1.Secret{}
	if err := get(ctx, k, ref.Reference, s); err != nil {
		return "", errors.Wrapf(err, "cannot get secret %s/%s", ref.Namespace, ref.Name)
	}

	v, ok := s.Data[ref.Key]
	if !ok {
		return "", errors.Errorf("secret %s/%s has no key %q", ref.Namespace, ref.Name, ref.Key)
	}

	redact.Conceal(ctx, v)

	return string(v), nil
}

// GetConfigMapValue returns the value of the referenced key of a ConfigMap, text or binary. It returns an error if
// ref is nil, or if the ConfigMap or the key does not exist. The error for a missing ConfigMap is a Kubernetes
// NotFound error. Use a client without a cache, as for GetSecret.
func GetConfigMapValue(ctx context.Context, kube client.Client, ref *commonv1.ConfigMapKeySelector) (string, error) {
	if ref == nil {
		return "", errors.New("no config map is referenced")
	}

	cm := &corev1.ConfigMap{}
	if err := get(ctx, kube, ref.Reference, cm); err != nil {
		return "", errors.Wrapf(err, "cannot get config map %s/%s", ref.Namespace, ref.Name)
	}

	if v, ok := cm.Data[ref.Key]; ok {
		return v, nil
	}

	v, ok := cm.BinaryData[ref.Key]
	if !ok {
		return "", errors.Errorf("config map %s/%s has no key %q", ref.Namespace, ref.Name, ref.Key)
	}

	return string(v), nil
}

// get reads an object without read-your-writes, which would start a cluster-wide watch of the
// kind even in a client that is configured not to cache it.
func get(ctx context.Context, k client.Client, ref commonv1.Reference, obj client.Object) error {
	return k.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, obj,
		client.DisableReadYourWritesConsistency)
}

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

// GetSecret returns the value of the referenced key of a Secret. It fails
// without a reference, and if the Secret or the key does not exist; the error for a Secret that
// does not exist is a Kubernetes NotFound. No error contains the value; the pass of
// ctx masks it in everything that it reports.
//
// Use a client that does not read Secrets from a cache. A caching client starts
// to list and watch every Secret of the cluster at the first call, for which a
// provider rarely has the permission and never the need.
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

// GetConfigMapValue returns the value of the referenced key of a ConfigMap,
// text or binary. It fails without a reference, and if the ConfigMap or the
// key does not exist; the error for a ConfigMap that does not exist is a Kubernetes NotFound.
// As for GetSecret, use a client without a cache.
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

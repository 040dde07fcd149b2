package clusteraccess

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/secrecy"
)

// Keys of the Secret of a grant. The platform defines these names.
const (
	keyKubeconfig = "kubeconfig"
	keyExpiration = "expirationTimestamp"
)

// msgCredentialsUnavailable is logged while current credentials stay in use.
const msgCredentialsUnavailable = "Cannot read the credentials of a cluster, using the current ones"

// granted reports whether access was granted. If so, it connects to the cluster.
func (r *Requester) granted(
	ctx context.Context, reg Registration, request reconcile.Request, ar *clustersv1alpha1.AccessRequest,
) (bool, error) {
	current := ar.Status.ObservedGeneration == ar.GetGeneration()
	switch {
	case ar.Status.Phase == clustersv1alpha1.RequestDenied && current:
		r.dropGrant(client.ObjectKeyFromObject(ar))

		return false, errors.Wrapf(serviceprovider.ErrAccessDenied, "AccessRequest %s", client.ObjectKeyFromObject(ar))
	case ar.Status.Phase != clustersv1alpha1.RequestGranted || !current || ar.Status.SecretRef == nil:
		return false, nil
	}
	key := client.ObjectKeyFromObject(ar)
	r.mu.Lock()
	old := r.grants[key]
	r.mu.Unlock()
	good := old != nil && old.version == ar.GetResourceVersion() && old.invalid == nil && !r.expired(old)
	if good && !r.clearStale(key) {
		return true, nil
	}
	unlock, err := r.lockSecret(ctx, key)
	if err != nil {
		return false, err
	}
	defer unlock()
	g := &grant{
		request: request, scheme: reg.ID, version: ar.GetResourceVersion(), secret: serviceprovider.SecretKeyOf(ar),
		ar: ar.DeepCopy(),
	}
	_, err = r.load(ctx, key, g, nil)
	switch {
	case gone.Answered(err, g.secret.Name):
		return false, nil // the Secret is not in place yet
	case err != nil && good && g.invalid == nil && ctx.Err() == nil:
		r.logger.Info(msgCredentialsUnavailable, "accessRequest", key.String(), "error", r.redact(key, err))
		r.markStale(key)

		return true, nil
	}
	if err == nil && r.expired(g) {
		err = errors.Wrapf(clusters.ErrExpired, "Secret %s, on %s", g.secret, g.expires.UTC().Format(time.RFC3339))
	}

	return err == nil, err
}

// expired reports whether the credentials of a grant have expired.
func (r *Requester) expired(g *grant) bool {
	return !g.expires.IsZero() && !r.clock.Now().Before(g.expires)
}

// lockSecret waits until no other goroutine reads the Secret of a grant, so that a newer Secret is
// not replaced by an older one. The caller calls the returned function to unlock it.
func (r *Requester) lockSecret(ctx context.Context, key clusters.Key) (unlock func(), err error) {
	for {
		r.mu.Lock()
		other, locked := r.secretLocks[key]
		if !locked {
			mine := make(chan struct{})
			r.secretLocks[key] = mine
			r.mu.Unlock()

			return func() {
				r.mu.Lock()
				delete(r.secretLocks, key)
				r.mu.Unlock()
				close(mine)
			}, nil
		}
		r.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, errors.Wrap(ctx.Err(), "cannot wait for the Secret of the AccessRequest")
		}
	}
}

// load reads the Secret of a grant, and reports whether the connection was replaced. The caller holds the lock of
// lockSecret. The argument instead is the grant that g replaces. If the map no longer contains it, the object was
// deleted, and load discards g.
func (r *Requester) load(ctx context.Context, key clusters.Key, g, instead *grant) (bool, error) {
	g.read = r.clock.Now()
	secret := &corev1.Secret{}
	if err := r.platform.Client().Get(ctx, g.secret, secret); err != nil {
		return false, errors.Wrap(err, "cannot read the Secret of the AccessRequest")
	}
	g.secretVersion, g.invalid = secret.GetResourceVersion(), nil
	k, err := r.parse(g, secret)
	if err != nil {
		g.invalid = err
		r.followInvalid(key, g, instead)

		return false, err
	}
	r.mu.Lock()
	if instead != nil && r.grants[key] != instead {
		r.mu.Unlock()

		return false, nil
	}
	r.grants[key] = g
	r.mu.Unlock()
	where := k.RESTConfig.Host + " " + k.RESTConfig.ServerName // may have been rewritten
	sum := sha256.Sum256(fmt.Appendf(
		nil, "%q %q %q %q", g.ar.GetUID(), secret.GetUID(), secret.GetResourceVersion(), where))
	rev := clusters.Revision(hex.EncodeToString(sum[:8]))
	clusters.OnUnauthorized(k.RESTConfig, func() { r.onUnauthorized(key, rev) })
	replaced := r.cache.Set(key, clusters.Input{
		RESTConfig: k.RESTConfig, Revision: rev,
		ConnectedAt: metav1.NewMicroTime(r.clock.Now()), Expires: g.expires,
	})
	r.mu.Lock()
	lost := r.grants[key] == nil
	r.mu.Unlock()
	if lost {
		r.cache.Drop(key) // calls listeners, which may call this provider
	}
	r.follow(key, g)

	return replaced, nil
}

// parse returns the kubeconfig in a Secret.
func (r *Requester) parse(g *grant, secret *corev1.Secret) (*clusters.Kubeconfig, error) {
	data, ok := secret.Data[keyKubeconfig]
	if !ok {
		return nil, errors.Wrapf(clusters.ErrInvalidKubeconfig, "there is no key %s of Secret %s", keyKubeconfig,
			g.secret)
	}
	k, err := clusters.ParseKubeconfig(data, "")
	if err != nil {
		return nil, errors.Wrapf(err, "cannot use key %s of Secret %s", keyKubeconfig, g.secret)
	}
	if r.rewrite != nil {
		secrets := secrecy.Of(k.RESTConfig)
		if err := r.rewrite(g.ar.DeepCopy(), k.RESTConfig); err != nil {
			return nil, errors.Wrap(
				redact.NewMask(append(secrets, secrecy.Of(k.RESTConfig)...)...).Error(err),
				"cannot rewrite the configuration of the cluster")
		}
	}
	g.expires = k.Expires
	if said := timestamp(secret.Data[keyExpiration]); !said.IsZero() && (g.expires.IsZero() || said.Before(g.expires)) {
		g.expires = said
	}

	return k, nil
}

// followInvalid watches a Secret with an invalid kubeconfig, so that a correction is detected. It does nothing if a
// valid connection remains in use or the object was deleted.
func (r *Requester) followInvalid(key clusters.Key, g, instead *grant) {
	r.mu.Lock()
	old := r.grants[key]
	follows := (instead == nil || old == instead) && (old == nil || old.invalid != nil)
	if follows {
		r.grants[key] = g
	}
	r.mu.Unlock()
	if follows {
		r.follow(key, g)
	}
}

// redact removes the credentials of the platform and of the connection from an error.
func (r *Requester) redact(key clusters.Key, err error) error {
	in, _ := r.cache.Known(key)

	return redact.NewMask(append(secrecy.OfConnections(
		secrecy.From(r.platform)), secrecy.Of(in.RESTConfig)...)...).Error(err)
}

// timestamp parses seconds since 1970 or an RFC 3339 date. It returns the zero time for other data.
func timestamp(data []byte) time.Time {
	if seconds, err := strconv.ParseInt(string(data), 10, 64); err == nil && seconds > 0 {
		return time.Unix(seconds, 0)
	}
	at, err := time.Parse(time.RFC3339, string(data))
	if err != nil {
		return time.Time{}
	}

	return at
}

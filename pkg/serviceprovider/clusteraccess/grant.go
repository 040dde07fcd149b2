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

// Keys of the Secret that a grant comes with. The names are the platform's.
const (
	keyKubeconfig = "kubeconfig"
	keyExpiration = "expirationTimestamp"
)

const goingOn = "Cannot look at the credentials of a cluster, going on with those there are"

// Granted reports whether access was granted, and sees to it that there is a connection.
func (r *Requester) granted(ctx context.Context, reg Registration, request reconcile.Request, ar *clustersv1alpha1.AccessRequest) (bool, error) {
	current := ar.Status.ObservedGeneration == ar.GetGeneration()
	switch {
	case ar.Status.Phase == clustersv1alpha1.RequestDenied && current:
		r.lose(client.ObjectKeyFromObject(ar))

		return false, errors.Wrapf(serviceprovider.ErrAccessDenied, "AccessRequest %s", client.ObjectKeyFromObject(ar))
	case ar.Status.Phase != clustersv1alpha1.RequestGranted || !current || ar.Status.SecretRef == nil:
		return false, nil
	}
	key := client.ObjectKeyFromObject(ar)
	r.mu.Lock()
	old := r.grants[key]
	r.mu.Unlock()
	good := old != nil && old.version == ar.GetResourceVersion() && old.flaw == nil && !r.expired(old)
	if good && !r.resolve(key) {
		return true, nil
	}
	over, err := r.turn(ctx, key)
	if err != nil {
		return false, err
	}
	defer over()
	g := &grant{request: request, scheme: reg.ID, version: ar.GetResourceVersion(), secret: serviceprovider.SecretKeyOf(ar), ar: ar.DeepCopy()}
	_, err = r.load(ctx, key, g, nil)
	switch {
	case gone.Answered(err, g.secret.Name):
		return false, nil // it is on its way
	case err != nil && good && g.flaw == nil && ctx.Err() == nil:
		r.logger.Info(goingOn, "accessRequest", key.String(), "error", r.redact(key, err))
		r.doubt(key)

		return true, nil
	}
	if err == nil && r.expired(g) {
		err = errors.Wrapf(clusters.ErrExpired, "Secret %s, on %s", g.secret, g.expires.UTC().Format(time.RFC3339))
	}

	return err == nil, err
}

func (r *Requester) expired(g *grant) bool {
	return !g.expires.IsZero() && !r.clock.Now().Before(g.expires)
}

// Turn waits until nobody else reads the Secret of a grant. Whoever reads it later has the
// newer one, and must not be overtaken by what was read before.
func (r *Requester) turn(ctx context.Context, key clusters.Key) (over func(), err error) {
	for {
		r.mu.Lock()
		theirs, taken := r.turns[key]
		if !taken {
			mine := make(chan struct{})
			r.turns[key] = mine
			r.mu.Unlock()

			return func() {
				r.mu.Lock()
				delete(r.turns, key)
				r.mu.Unlock()
				close(mine)
			}, nil
		}
		r.mu.Unlock()
		select {
		case <-theirs:
		case <-ctx.Done():
			return nil, errors.Wrap(ctx.Err(), "cannot wait for the Secret of the AccessRequest")
		}
	}
}

// Load reads the Secret of a grant, in the turn of the caller, and reports whether the
// connection is another one. A grant that takes the place of another one is dropped if that is not there any more:
// then the object went meanwhile.
func (r *Requester) load(ctx context.Context, key clusters.Key, g, instead *grant) (bool, error) {
	g.read = r.clock.Now()
	secret := &corev1.Secret{}
	if err := r.platform.Client().Get(ctx, g.secret, secret); err != nil {
		return false, errors.Wrap(err, "cannot read the Secret of the AccessRequest")
	}
	g.secretVersion, g.flaw = secret.GetResourceVersion(), nil
	k, err := r.parse(g, secret)
	if err != nil {
		g.flaw = err
		r.hope(key, g, instead)

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
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", g.ar.GetUID(), secret.GetUID(), secret.GetResourceVersion(), where))
	rev := clusters.Revision(hex.EncodeToString(sum[:8]))
	clusters.OnUnauthorized(k.RESTConfig, func() { r.refused(key, rev) })
	replaced := r.cache.Set(key, clusters.Input{
		RESTConfig: k.RESTConfig, Revision: rev,
		ConnectedAt: metav1.NewMicroTime(r.clock.Now()), Expires: g.expires,
	})
	r.mu.Lock()
	lost := r.grants[key] == nil
	r.mu.Unlock()
	if lost {
		r.cache.Drop(key) // tells others, who may ask us
	}
	r.follow(key, g)

	return replaced, nil
}

// Parse makes something usable of a Secret.
func (r *Requester) parse(g *grant, secret *corev1.Secret) (*clusters.Kubeconfig, error) {
	data, ok := secret.Data[keyKubeconfig]
	if !ok {
		return nil, errors.Wrapf(clusters.ErrInvalidKubeconfig, "there is no key %s of Secret %s", keyKubeconfig, g.secret)
	}
	k, err := clusters.ParseKubeconfig(data, "")
	if err != nil {
		return nil, errors.Wrapf(err, "cannot use key %s of Secret %s", keyKubeconfig, g.secret)
	}
	if r.rewrite != nil {
		secrets := secrecy.Of(k.RESTConfig)
		if err := r.rewrite(g.ar.DeepCopy(), k.RESTConfig); err != nil {
			return nil, errors.Wrap(redact.NewMask(append(secrets, secrecy.Of(k.RESTConfig)...)...).Error(err), "cannot rewrite the configuration of the cluster")
		}
	}
	g.expires = k.Expires
	if said := timestamp(secret.Data[keyExpiration]); !said.IsZero() && (g.expires.IsZero() || said.Before(g.expires)) {
		g.expires = said
	}

	return k, nil
}

// Hope sees to it that a Secret that cannot be used is noticed when it is corrected, unless
// there is a connection that goes on meanwhile, or the object went.
func (r *Requester) hope(key clusters.Key, g, instead *grant) {
	r.mu.Lock()
	old := r.grants[key]
	hopes := (instead == nil || old == instead) && (old == nil || old.flaw != nil)
	if hopes {
		r.grants[key] = g
	}
	r.mu.Unlock()
	if hopes {
		r.follow(key, g)
	}
}

// Redact returns an error that can be shown to anybody, without the credentials of the platform
// and of the connection.
func (r *Requester) redact(key clusters.Key, err error) error {
	in, _ := r.cache.Known(key)

	return redact.NewMask(append(secrecy.OfConnections(secrecy.From(r.platform)), secrecy.Of(in.RESTConfig)...)...).Error(err)
}

// Timestamp reads seconds since 1970, or a date.
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

// Package natsconn connects to NATS as a ProviderConfig or a ClusterProviderConfig says, and explains to a
// user why a connection fails. Start with [FromProviderConfig], [Resolve] and [Dial].
//
// No error of this package contains a part of a credential.
package natsconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// Settings are everything needed to connect. The zero value connects nowhere.
type Settings struct {
	// Revision changes whenever a Secret that the settings were made from does.
	Revision string

	// Secrets are these Secrets, with the resourceVersion of each that was read.
	Secrets map[types.NamespacedName]string

	servers []string
	domain  string
	prefix  string
	options []nats.Option
}

// A SecretReader reads a Secret.
type SecretReader func(ctx context.Context, secret types.NamespacedName) (*corev1.Secret, error)

// Resolve reads the Secrets that a configuration names, each of them once. Its errors say what a user has
// to correct. An error that proves nothing about the Secrets, because one could not be read now, is marked
// by connection.Unsure; a Secret that does not exist is marked by connection.Missing.
func Resolve(ctx context.Context, cfg Config, read SecretReader) (Settings, error) {
	s := &secrets{read: read, seen: map[types.NamespacedName]*corev1.Secret{}}
	out := Settings{servers: cfg.servers, domain: cfg.domain, prefix: cfg.prefix}

	login, err := authenticate(ctx, cfg.login, s)
	if err != nil {
		return Settings{}, err
	}

	secure, err := tlsConfig(ctx, cfg.tls, s)
	if err != nil {
		return Settings{}, err
	}

	if login != nil {
		out.options = append(out.options, login)
	}

	if secure != nil {
		out.options = append(out.options, nats.Secure(secure))
	}

	out.Revision = strings.Join(s.revisions, ",")
	out.Secrets = map[types.NamespacedName]string{}

	for name, secret := range s.seen {
		out.Secrets[name] = secret.ResourceVersion
	}

	return out, nil
}

// Default keys of Secrets.
const (
	defaultCredsKey = "user.creds"
	defaultSeedKey  = "seed"
	defaultTokenKey = "token"
	defaultCAKey    = "ca.crt"
)

func authenticate(ctx context.Context, l login, s *secrets) (nats.Option, error) {
	const field = "spec.credentials.secretRef"

	if l.source != v1alpha1.CredentialsSecret {
		return nil, nil
	}

	if l.secret == nil {
		return nil, errors.New("spec.credentials.source is Secret, but spec.credentials.secretRef names none: add it")
	}

	switch ref := *l.secret; l.kind {
	case v1alpha1.CredentialsTypeCreds, "":
		creds, err := s.value(ctx, ref, defaultCredsKey, field)
		if err != nil {
			return nil, err
		}

		return credsFile(creds, ref.Name)
	case v1alpha1.CredentialsTypeNKey:
		seed, err := s.value(ctx, ref, defaultSeedKey, field)
		if err != nil {
			return nil, err
		}

		return nkey(seed, ref.Name)
	case v1alpha1.CredentialsTypeToken:
		token, err := s.value(ctx, ref, defaultTokenKey, field)
		if err != nil {
			return nil, err
		}

		return nats.Token(strings.TrimSpace(string(token))), nil
	case v1alpha1.CredentialsTypeUserPassword:
		return userPassword(ctx, ref, s)
	default:
		return nil, errors.Errorf("spec.credentials.type has the unknown value %q", l.kind)
	}
}

func credsFile(creds []byte, secret string) (nats.Option, error) {
	_, err := nkeys.ParseDecoratedJWT(creds)
	if err == nil {
		_, err = nkeys.ParseDecoratedUserNKey(creds)
	}

	if err != nil {
		return nil, errors.Errorf("the Secret %q holds no usable credentials file of NATS: put there what "+
			"nsc generate creds or nats auth user credential writes, with both the JWT and the seed", secret)
	}

	return nats.UserCredentialBytes(creds), nil
}

func nkey(seed []byte, secret string) (nats.Option, error) {
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
	if err != nil {
		return nil, errors.Errorf("the Secret %q holds no seed of an nkey: put there what nk -gen user writes", secret)
	}

	public, err := pair.PublicKey()
	if err != nil {
		return nil, errors.Errorf("the Secret %q holds a seed without a public key", secret)
	}

	return nats.Nkey(public, pair.Sign), nil
}

func userPassword(ctx context.Context, ref secretKey, s *secrets) (nats.Option, error) {
	const field = "spec.credentials.secretRef"

	ref.key = corev1.BasicAuthUsernameKey

	user, err := s.text(ctx, ref, field)
	if err != nil {
		return nil, err
	}

	ref.key = corev1.BasicAuthPasswordKey

	password, err := s.text(ctx, ref, field)
	if err != nil {
		return nil, err
	}

	return nats.UserInfo(user, password), nil
}

func tlsConfig(ctx context.Context, t *security, s *secrets) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}

	cfg := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: t.insecure, // The user asks for it, in a field that says what it is.
	}

	if ref := t.ca; ref != nil {
		ca, err := s.value(ctx, *ref, defaultCAKey, "spec.tls.caSecretRef")
		if err != nil {
			return nil, err
		}

		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.Errorf(
				"the Secret %q, which spec.tls.caSecretRef names, holds no certificate in PEM: put one there", ref.Name)
		}
	}

	if ref := t.cert; ref != nil {
		pair, err := clientCertificate(ctx, *ref, s)
		if err != nil {
			return nil, err
		}

		cfg.Certificates = []tls.Certificate{pair}
	}

	return cfg, nil
}

func clientCertificate(ctx context.Context, ref secretKey, s *secrets) (tls.Certificate, error) {
	const field = "spec.tls.certSecretRef"

	cert, err := s.value(ctx, secretKey{ref.NamespacedName, corev1.TLSCertKey}, "", field)
	if err != nil {
		return tls.Certificate{}, err
	}

	key, err := s.value(ctx, secretKey{ref.NamespacedName, corev1.TLSPrivateKeyKey}, "", field)
	if err != nil {
		return tls.Certificate{}, err
	}

	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, errors.Errorf("the Secret %q, which %s names, holds no certificate with its key in PEM: "+
			"put a pair that belongs together under %s and %s", ref.Name, field, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}

	return pair, nil
}

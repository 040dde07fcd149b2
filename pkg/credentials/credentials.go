// Package credentials extracts the credentials of an external system from the source that a configuration selects: a
// Secret, an environment variable or a file.
//
// A user writes the configuration, and so also determines to which endpoint its credentials are sent. The user must not
// use the environment, the files and the identity of the provider. Therefore these sources are forbidden until the
// operator of the provider allows them: single variables, single folders and the identity. A Secret is read only from
// the namespace of the configuration, unless the configuration is cluster-scoped. Start with New, whose options define
// what the operator allows.
//
// The package redacts extracted credentials in the events, the logs and the status of the pass that extracts them. If
// the Resolver of a connection.Cache extracts them, they are redacted in every pass that uses the connection.
package credentials

import (
	"context"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// MaxSize is the maximum size of credentials in bytes. It equals the maximum size of a Secret.
const MaxSize = 1 << 20

// IsNotAllowed reports whether err says that the configuration may not use the credentials. There are two causes: the
// operator does not allow the source, variable or folder of the credentials, or their Secret is in another namespace. A
// retry helps only after the configuration or the options of the operator were changed.
func IsNotAllowed(err error) bool { return errors.Is(err, errNotAllowed) }

// IsMissing reports whether err says that there are no credentials in the selected place. The selector, Secret, key,
// variable or file does not exist, or its value is empty.
func IsMissing(err error) bool { return errors.Is(err, errMissing) }

var (
	errNotAllowed = errors.New("not allowed")
	errMissing    = errors.New("missing")
)

// An Extractor extracts credentials. It may be used concurrently.
type Extractor struct {
	secrets          client.Reader
	variables        []string
	folders          []string
	injectedIdentity bool
}

// An Option allows a source of credentials.
type Option func(*Extractor)

// AllowEnvironment allows the environment variables with these names. By default none are allowed.
func AllowEnvironment(names ...string) Option {
	return func(e *Extractor) { e.variables = append(e.variables, names...) }
}

// AllowFilesystem allows the files below these folders. By default none are allowed. The paths of the folders must be
// absolute. A symbolic link in a folder is followed if it is relative and its target is in the same folder, such as the
// links of a mounted Secret.
func AllowFilesystem(folders ...string) Option {
	return func(e *Extractor) { e.folders = append(e.folders, folders...) }
}

// AllowInjectedIdentity allows configurations to use the identity of the provider. By default this is not allowed.
func AllowInjectedIdentity() Option {
	return func(e *Extractor) { e.injectedIdentity = true }
}

// New returns an Extractor that reads Secrets with the reader. Use an uncached reader, such as GetAPIReader of a
// manager, because a cache watches all Secrets of the cluster and holds them in memory. If the reader is nil, Secrets
// are not allowed.
func New(secrets client.Reader, opts ...Option) *Extractor {
	e := &Extractor{secrets: secrets}
	for _, opt := range opts {
		opt(e)
	}

	return e
}

// Extract returns the credentials of a configuration. The namespace is the namespace of the configuration, and is empty
// if the configuration is cluster-scoped. For a namespaced configuration, a Secret must be in the namespace of the
// configuration, and the selector of the Secret may omit the namespace. For a cluster-scoped configuration, the
// selector must contain a namespace. For the sources None and InjectedIdentity, Extract returns nil.
//
// Branch on IsNotAllowed and IsMissing. Other errors are errors of the API server or the file system, and the error for
// an unknown source. An error contains the source and the place, but never a value.
func (e *Extractor) Extract(
	ctx context.Context, namespace string, source commonv1.CredentialsSource, s commonv1.CommonCredentialSelectors,
) ([]byte, error) {
	b, err := e.extract(ctx, namespace, source, s)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot extract credentials from source %.64q", string(source))
	}

	redact.Conceal(ctx, b)

	return b, nil
}

// ExtractLocal is like Extract, but takes the selectors of a namespaced configuration. The namespace is required.
func (e *Extractor) ExtractLocal(
	ctx context.Context, namespace string, source commonv1.CredentialsSource, s commonv1.LocalCredentialSelectors,
) ([]byte, error) {
	common := commonv1.CommonCredentialSelectors{Fs: s.Fs, Env: s.Env}
	if ref := s.SecretRef; ref != nil {
		common.SecretRef = &commonv1.SecretKeySelector{Reference: commonv1.Reference{Name: ref.Name}, Key: ref.Key}
	}

	return e.Extract(ctx, namespace, source, common)
}

// extract implements Extract.
func (e *Extractor) extract(
	ctx context.Context, namespace string, source commonv1.CredentialsSource, s commonv1.CommonCredentialSelectors,
) ([]byte, error) {
	switch source {
	case commonv1.CredentialsSourceNone:
		return nil, nil
	case commonv1.CredentialsSourceInjectedIdentity:
		if !e.injectedIdentity {
			return nil, notAllowed("the provider does not allow its own identity")
		}

		return nil, nil
	case commonv1.CredentialsSourceSecret:
		return e.fromSecret(ctx, namespace, s.SecretRef)
	case commonv1.CredentialsSourceEnvironment:
		return e.fromEnvironment(s.Env)
	case commonv1.CredentialsSourceFilesystem:
		return e.fromFile(s.Fs)
	default:
		return nil, errors.New("there is no such source")
	}
}

// fromSecret returns a key of a Secret.
func (e *Extractor) fromSecret(ctx context.Context, namespace string, ref *commonv1.SecretKeySelector) ([]byte, error) {
	switch {
	case ref == nil || ref.Name == "" || ref.Key == "":
		return nil, missing("secretRef needs a name and a key")
	case e.secrets == nil:
		return nil, notAllowed("the provider reads no Secrets")
	case namespace == "" && ref.Namespace == "":
		return nil, missing("secretRef needs a namespace")
	case namespace != "" && ref.Namespace != "" && ref.Namespace != namespace:
		return nil, notAllowed("secretRef names namespace %q, but the configuration is in %q", ref.Namespace, namespace)
	}

	if namespace == "" {
		namespace = ref.Namespace
	}

	secret, key := &corev1.Secret{}, types.NamespacedName{Namespace: namespace, Name: ref.Name}
	if err := e.secrets.Get(ctx, key, secret); err != nil {
		if gone.Answered(err, key.Name) {
			err = &sentinelError{error: err, sentinel: errMissing}
		}

		return nil, errors.Wrapf(err, "cannot get Secret %s", key)
	}

	return nonEmpty(secret.Data[ref.Key], "key %q of Secret %s", ref.Key, key)
}

// fromEnvironment returns an environment variable.
func (e *Extractor) fromEnvironment(env *commonv1.EnvSelector) ([]byte, error) {
	switch {
	case env == nil || env.Name == "":
		return nil, missing("env needs a name")
	case !slices.Contains(e.variables, env.Name):
		return nil, notAllowed("the provider does not allow its environment variable %q", env.Name)
	}

	return nonEmpty([]byte(os.Getenv(env.Name)), "environment variable %q", env.Name)
}

// nonEmpty returns the value, or an error if the value is empty. The format describes the place of the value.
func nonEmpty(b []byte, format string, args ...any) ([]byte, error) {
	if len(b) == 0 {
		return nil, missing(format+" is missing or empty", args...)
	}

	return b, nil
}

// A sentinelError is an error that matches errNotAllowed or errMissing.
type sentinelError struct {
	error
	sentinel error
}

// Is reports whether target is the sentinel of the error.
func (k *sentinelError) Is(target error) bool { return target == k.sentinel }

// Unwrap returns the wrapped error without the sentinel.
func (k *sentinelError) Unwrap() error { return k.error }

// notAllowed returns an error that matches errNotAllowed.
func notAllowed(format string, args ...any) error {
	return &sentinelError{error: errors.Errorf(format, args...), sentinel: errNotAllowed}
}

// missing returns an error that matches errMissing.
func missing(format string, args ...any) error {
	return &sentinelError{error: errors.Errorf(format, args...), sentinel: errMissing}
}

// Package credentials extracts the credentials of an external system from the source that
// a configuration selects: a Secret, an environment variable or a file.
//
// A configuration is written by a user, who also chooses where its credentials are sent.
// The user has no right to the environment and the files of the provider. Therefore both
// sources, and the provider's own identity, are not allowed until the operator of the
// provider allows single variables and folders. Start with New, with options for what the
// operator allows. A Secret is read from the namespace of the configuration only, unless
// the configuration is cluster-scoped.
//
// Extracted credentials are redacted in events, logs and the status of the pass that
// extracts them. If the Resolver of a connection.Cache extracts them, they are redacted in
// every pass that uses the connection.
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

// MaxSize is the greatest size of credentials, in bytes. A Secret cannot hold
// more.
const MaxSize = 1 << 20

// IsNotAllowed reports whether the configuration may not use the credentials: the
// operator does not allow their source, variable or folder, or their Secret is in another
// namespace. A retry helps only after one of these was changed.
func IsNotAllowed(err error) bool { return errors.Is(err, errNotAllowed) }

// IsMissing reports whether there are no credentials in the selected place: no selector,
// Secret, key, variable or file, or an empty one.
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

// AllowEnvironment allows these environment variables. The default is none.
func AllowEnvironment(names ...string) Option {
	return func(e *Extractor) { e.variables = append(e.variables, names...) }
}

// AllowFilesystem allows the files below these folders, which must be absolute. The
// default is none. A symbolic link in a folder is followed if it is relative and its
// target is in the folder, such as the links of a mounted Secret.
func AllowFilesystem(folders ...string) Option {
	return func(e *Extractor) { e.folders = append(e.folders, folders...) }
}

// AllowInjectedIdentity allows the identity of the provider itself. By default it is not
// allowed.
func AllowInjectedIdentity() Option {
	return func(e *Extractor) { e.injectedIdentity = true }
}

// New returns an Extractor that reads Secrets with the reader. The reader should not be
// cached, such as GetAPIReader of a manager: a cache watches, and holds in memory, every
// Secret of the cluster. Without a reader, Secrets are not allowed.
func New(secrets client.Reader, opts ...Option) *Extractor {
	e := &Extractor{secrets: secrets}
	for _, opt := range opts {
		opt(e)
	}

	return e
}

// Extract returns the credentials of a configuration in the namespace, which is
// empty if the configuration is cluster-scoped. A Secret must be in that namespace, which
// its selector may omit; for a cluster-scoped configuration the selector must have one.
// The sources None and InjectedIdentity yield nil.
//
// Branch on IsNotAllowed and IsMissing. Other errors are those of the API server or the
// file system, and that of an unknown source. An error contains the source and the place,
// never a value.
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

// ExtractLocal is Extract with the selectors of a namespaced configuration. The
// namespace is required.
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

// nonEmpty returns the value of a place, or an error if it is empty.
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

// Is reports whether target is the sentinel.
func (k *sentinelError) Is(target error) bool { return target == k.sentinel }

// Unwrap returns the error without the sentinel.
func (k *sentinelError) Unwrap() error { return k.error }

// notAllowed returns an error that matches errNotAllowed.
func notAllowed(format string, args ...any) error {
	return &sentinelError{error: errors.Errorf(format, args...), sentinel: errNotAllowed}
}

// missing returns an error that matches errMissing.
func missing(format string, args ...any) error {
	return &sentinelError{error: errors.Errorf(format, args...), sentinel: errMissing}
}

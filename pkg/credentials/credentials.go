// Package credentials finds the credentials of an external system where a
// configuration says they are: in a Secret, in an environment variable or in a
// file.
//
// A configuration is written by a user, who also chooses where its credentials
// are sent. What is in the provider's environment and files is not his. Both are
// therefore off, as is the provider's own identity, until the operator of the
// provider allows single variables and folders: begin with New, and pass on what
// he allows. A Secret is read from the namespace of the configuration only, unless
// that is cluster-scoped.
//
// What was found is known as a secret in the pass that asked for it, and is masked
// in whatever that pass tells. If the Resolver of a connection.Cache asked, so it is in
// every pass that is given the connection.
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

// IsNotAllowed reports whether credentials were asked for that the configuration
// may not use: their source, variable or folder is not allowed by the operator, or
// their Secret is in another namespace. To try again helps only after one of
// these was changed.
func IsNotAllowed(err error) bool { return errors.Is(err, errNotAllowed) }

// IsMissing reports whether there are no credentials where they should be: no
// selector, Secret, key, variable or file, or an empty one.
func IsMissing(err error) bool { return errors.Is(err, errMissing) }

var (
	errNotAllowed = errors.New("not allowed")
	errMissing    = errors.New("missing")
)

// An Extractor finds credentials. It may be used concurrently.
type Extractor struct {
	secrets  client.Reader
	vars     []string
	folders  []string
	identity bool
}

// An Option allows a source of credentials.
type Option func(*Extractor)

// AllowEnvironment allows these environment variables. The default is none.
func AllowEnvironment(names ...string) Option {
	return func(e *Extractor) { e.vars = append(e.vars, names...) }
}

// AllowFilesystem allows the files below these folders, which must be absolute.
// The default is none. A symbolic link within a folder is followed as long as it
// stays there and is relative, as those of a mounted Secret are.
func AllowFilesystem(folders ...string) Option {
	return func(e *Extractor) { e.folders = append(e.folders, folders...) }
}

// AllowInjectedIdentity allows the identity of the provider itself. The default is
// not to.
func AllowInjectedIdentity() Option {
	return func(e *Extractor) { e.identity = true }
}

// New returns an extractor that reads Secrets with the reader. That should be a
// live one, such as GetAPIReader of a manager: a cached one would watch, and keep
// in memory, every Secret of the cluster. Without a reader, Secrets are not
// allowed.
func New(secrets client.Reader, opts ...Option) *Extractor {
	e := &Extractor{secrets: secrets}
	for _, opt := range opts {
		opt(e)
	}

	return e
}

// Extract returns the credentials of a configuration in the namespace, which is
// empty if it is cluster-scoped. A Secret has to be in that namespace, which its
// selector may leave out; for a cluster-scoped configuration it has to name one.
// The sources None and InjectedIdentity yield nil.
//
// Branch on IsNotAllowed and IsMissing; other errors are those of the API server
// or the file system, and of a source that nobody knows. An error names the source
// and where it looked, never a value.
func (e *Extractor) Extract(ctx context.Context, namespace string, source commonv1.CredentialsSource, s commonv1.CommonCredentialSelectors) ([]byte, error) {
	b, err := e.extract(ctx, namespace, source, s)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot extract credentials from source %.64q", string(source))
	}

	redact.Conceal(ctx, b)

	return b, nil
}

// ExtractLocal is Extract with the selectors of a namespaced configuration. The
// namespace is required.
func (e *Extractor) ExtractLocal(ctx context.Context, namespace string, source commonv1.CredentialsSource, s commonv1.LocalCredentialSelectors) ([]byte, error) {
	common := commonv1.CommonCredentialSelectors{Fs: s.Fs, Env: s.Env}
	if ref := s.SecretRef; ref != nil {
		common.SecretRef = &commonv1.SecretKeySelector{Reference: commonv1.Reference{Name: ref.Name}, Key: ref.Key}
	}

	return e.Extract(ctx, namespace, source, common)
}

func (e *Extractor) extract(ctx context.Context, namespace string, source commonv1.CredentialsSource, s commonv1.CommonCredentialSelectors) ([]byte, error) {
	switch source {
	case commonv1.CredentialsSourceNone:
		return nil, nil
	case commonv1.CredentialsSourceInjectedIdentity:
		if !e.identity {
			return nil, notAllowed("the provider does not lend its own identity")
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
			err = &kind{error: err, is: errMissing}
		}

		return nil, errors.Wrapf(err, "cannot get Secret %s", key)
	}

	return found(secret.Data[ref.Key], "key %q of Secret %s", ref.Key, key)
}

func (e *Extractor) fromEnvironment(env *commonv1.EnvSelector) ([]byte, error) {
	switch {
	case env == nil || env.Name == "":
		return nil, missing("env needs a name")
	case !slices.Contains(e.vars, env.Name):
		return nil, notAllowed("the provider does not lend its environment variable %q", env.Name)
	}

	return found([]byte(os.Getenv(env.Name)), "environment variable %q", env.Name)
}

// found returns what was found at a place, if it is anything.
func found(b []byte, format string, args ...any) ([]byte, error) {
	if len(b) == 0 {
		return nil, missing(format+" is missing or empty", args...)
	}

	return b, nil
}

// A kind is an error of one of the two kinds that may be branched on.
type kind struct {
	error
	is error
}

// Is reports whether target is the kind.
func (k *kind) Is(target error) bool { return target == k.is }

// Unwrap returns the error without its kind.
func (k *kind) Unwrap() error { return k.error }

func notAllowed(format string, args ...any) error {
	return &kind{error: errors.Errorf(format, args...), is: errNotAllowed}
}

func missing(format string, args ...any) error {
	return &kind{error: errors.Errorf(format, args...), is: errMissing}
}

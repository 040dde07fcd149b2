package natsconn

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/credentials"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// secrets reads each Secret once and remembers which versions were read.
type secrets struct {
	read      SecretReader
	seen      map[types.NamespacedName]*corev1.Secret
	revisions []string
}

// value returns one value of a Secret. The field is the one that names the Secret, for errors.
func (s *secrets) value(ctx context.Context, ref secretKey, defaultKey, field string) ([]byte, error) {
	secret, err := s.get(ctx, ref.NamespacedName, field)
	if err != nil {
		return nil, err
	}

	key := ref.key
	if key == "" {
		key = defaultKey
	}

	value, ok := secret.Data[key]
	if !ok || len(value) == 0 {
		return nil, errNoValue(ref.Name, key, field)
	}

	return value, nil
}

// text returns one value of a Secret without the line break that editors, and
// kubectl create secret --from-file, leave at the end.
func (s *secrets) text(ctx context.Context, ref secretKey, field string) (string, error) {
	value, err := s.value(ctx, ref, "", field)
	if err != nil {
		return "", err
	}

	text, broken := strings.CutSuffix(string(value), "\n")
	if broken {
		text = strings.TrimSuffix(text, "\r")
	}

	if text == "" {
		return "", errNoValue(ref.Name, ref.key, field)
	}

	return text, nil
}

func errNoValue(secret, key, field string) error {
	return errors.Errorf("the Secret %q, which %s names, has no value under the key %q: add it, or name another key",
		secret, field, key)
}

func (s *secrets) get(ctx context.Context, name types.NamespacedName, field string) (*corev1.Secret, error) {
	if secret, ok := s.seen[name]; ok {
		return secret, nil
	}

	secret, err := s.read(ctx, name)
	err = credentials.ReadError(err, name.Name)

	switch {
	case connection.IsMissing(err):
		return nil, errors.Wrapf(err, "the Secret %q, which %s names, does not exist: create it in the namespace %q",
			name.Name, field, name.Namespace)
	case apierrors.IsForbidden(err):
		return nil, errors.Wrapf(err, "the provider may not read the Secret %q, which %s names: let its role get secrets",
			name.Name, field)
	case err != nil:
		return nil, errors.Wrapf(err, "cannot read the Secret %q, which %s names", name.Name, field)
	}

	s.seen[name] = secret
	s.revisions = append(s.revisions, fmt.Sprintf("%s@%s", secret.UID, secret.ResourceVersion))

	return secret, nil
}

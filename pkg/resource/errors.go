package resource

import (
	"slices"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// An ErrorIs reports whether an error is of a certain sort.
type ErrorIs func(err error) bool

// Ignore returns nil if err is of the sort, and err otherwise.
func Ignore(is ErrorIs, err error) error {
	return IgnoreAny(err, is)
}

// IgnoreAny returns nil if err is of any of the sorts, and err otherwise.
func IgnoreAny(err error, is ...ErrorIs) error {
	if err == nil || slices.ContainsFunc(is, func(is ErrorIs) bool { return is(err) }) {
		return nil
	}

	return err
}

// IgnoreNotFound returns nil if err says that a Kubernetes object does not
// exist, and err otherwise. Wrapped errors count.
func IgnoreNotFound(err error) error {
	return Ignore(kerrors.IsNotFound, err)
}

// IsAPIError reports whether err itself, not an error that it wraps, is an answer
// of the Kubernetes API server.
func IsAPIError(err error) bool {
	_, ok := err.(kerrors.APIStatus) // The unwrapped error is asked for; see IsAPIErrorWrapped.

	return ok
}

// IsAPIErrorWrapped reports whether err is or wraps an answer of the Kubernetes
// API server.
func IsAPIErrorWrapped(err error) bool {
	var status kerrors.APIStatus

	return errors.As(err, &status)
}

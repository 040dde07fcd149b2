package resource

import (
	"slices"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// An ErrorIs reports whether an error is of a certain kind.
type ErrorIs func(err error) bool

// Ignore returns nil if the function is returns true for err. Otherwise it returns err.
func Ignore(is ErrorIs, err error) error {
	return IgnoreAny(err, is)
}

// IgnoreAny returns nil if any of the functions returns true for err, and err otherwise.
func IgnoreAny(err error, is ...ErrorIs) error {
	if err == nil || slices.ContainsFunc(is, func(is ErrorIs) bool { return is(err) }) {
		return nil
	}

	return err
}

// IsNotFound reports whether err, or an error it wraps, says that a Kubernetes object does not exist. Unlike the
// function of that name in k8s.io/apimachinery, this function requires that the response is about an object. The 404 of
// a proxy, or of an API server that does not serve the kind, proves nothing about the object.
//
// The response to a write may be about a subresource or a namespace, and a cache may be stale. So read the object
// from the API server before you clean up or drop state of an object that was not found.
func IsNotFound(err error) bool { return gone.NoPage(err) }

// IgnoreNotFound returns nil if IsNotFound is true for err, and err otherwise.
func IgnoreNotFound(err error) error {
	return Ignore(IsNotFound, err)
}

// IsAPIError reports whether err itself is a response of the Kubernetes API server. Errors that err wraps do not
// count.
func IsAPIError(err error) bool {
	_, ok := err.(kerrors.APIStatus) // By design without errors.As; see IsAPIErrorWrapped.

	return ok
}

// IsAPIErrorWrapped reports whether err is or wraps a response of the Kubernetes
// API server.
func IsAPIErrorWrapped(err error) bool {
	var status kerrors.APIStatus

	return errors.As(err, &status)
}

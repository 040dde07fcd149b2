package kube

import (
	"net/http"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// unsupported returns the error for a request that only an API server can serve: HTTP status 415, with an alternative.
func unsupported(what, instead string) error {
	return &kerrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType,
		Reason:  metav1.StatusReasonUnsupportedMediaType,
		Message: what + " takes an API server, and the object is in a store: " + instead,
	}}
}

// answer converts an error of a store to an error of an API server. It wraps errors that are not about the object.
func (k *kind) answer(key string, err error) error {
	name := nameOf(key).Name
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return kerrors.NewNotFound(k.Resource, name)
	case errors.Is(err, store.ErrAlreadyExists):
		return kerrors.NewAlreadyExists(k.Resource, name)
	case errors.Is(err, store.ErrConflict):
		return k.Conflict(name)
	case errors.Is(err, store.ErrTooLarge):
		return kerrors.NewRequestEntityTooLargeError(err.Error())
	case errors.Is(err, store.ErrInvalid):
		return kerrors.NewBadRequest(err.Error())
	case errors.Is(err, store.ErrUndecodable):
		return kerrors.NewInternalError(err)
	default:
		return errors.Wrapf(err, "cannot reach the store of %s", strings.ToLower(k.GVK.Kind))
	}
}

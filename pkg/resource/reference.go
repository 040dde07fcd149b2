package resource

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A CanReference is an object whose spec takes values from other objects that it
// names.
type CanReference runtime.Object

// An AttributeReferencer takes one value from a referenced object. It is kept for
// providers that implement it; nothing here calls it. New code resolves
// references with package reference.
type AttributeReferencer interface {
	// GetStatus says of each object that the value depends on whether it can be
	// used.
	GetStatus(ctx context.Context, res CanReference, r client.Reader) ([]ReferenceStatus, error)

	// Build returns the value.
	Build(ctx context.Context, res CanReference, r client.Reader) (value string, err error)

	// Assign puts the value where it belongs in res.
	Assign(res CanReference, value string) error
}

// A ReferenceStatus says of a referenced object whether it can be used. The zero
// value is about no object, and unknown.
type ReferenceStatus struct {
	// Name of the referenced object.
	Name string

	// Status of the referenced object.
	Status ReferenceStatusType
}

// String returns name and status, to be read by people.
func (r ReferenceStatus) String() string {
	return fmt.Sprintf("{reference:%s status:%s}", r.Name, r.Status)
}

// A ReferenceStatusType says whether a referenced object can be used. The zero
// value is ReferenceStatusUnknown.
type ReferenceStatusType int

// Whether a referenced object can be used.
const (
	// ReferenceStatusUnknown: nobody looked, or could tell.
	ReferenceStatusUnknown ReferenceStatusType = iota

	// ReferenceNotFound: the object does not exist.
	ReferenceNotFound

	// ReferenceNotReady: the object exists and has no value to give yet.
	ReferenceNotReady

	// ReferenceReady: the object can be used.
	ReferenceReady
)

// String returns the name of the status without its prefix. A value that is none
// of the constants is Unknown.
func (t ReferenceStatusType) String() string {
	switch t {
	case ReferenceNotFound:
		return "NotFound"
	case ReferenceNotReady:
		return "NotReady"
	case ReferenceReady:
		return "Ready"
	default:
		return "Unknown"
	}
}

// IsMissingReference reports whether err is, or wraps, an error that says by a
// method MissingReference() bool that a reference which an object needs is not
// there.
func IsMissingReference(err error) bool {
	var missing interface{ MissingReference() bool }

	return errors.As(err, &missing) && missing.MissingReference()
}

package resource

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A CanReference is an object whose spec may have references to other objects.
type CanReference runtime.Object

// An AttributeReferencer resolves one value from a referenced object. This module does not call an AttributeReferencer.
// The interface exists for providers that implement it. New code should resolve references with package reference.
type AttributeReferencer interface {
	// GetStatus returns the readiness of each object on which the value depends.
	GetStatus(ctx context.Context, res CanReference, r client.Reader) ([]ReferenceStatus, error)

	// Build returns the value.
	Build(ctx context.Context, res CanReference, r client.Reader) (value string, err error)

	// Assign sets the value in res.
	Assign(res CanReference, value string) error
}

// A ReferenceStatus is the readiness of a referenced object. The zero value has no name and the status
// ReferenceStatusUnknown.
type ReferenceStatus struct {
	// Name of the referenced object.
	Name string

	// Status of the referenced object.
	Status ReferenceStatusType
}

// String returns the name and the status as text for people.
func (r ReferenceStatus) String() string {
	return fmt.Sprintf("{reference:%s status:%s}", r.Name, r.Status)
}

// A ReferenceStatusType is the readiness of a referenced object. The zero value is
// ReferenceStatusUnknown.
type ReferenceStatusType int

// The readiness of a referenced object.
const (
	// ReferenceStatusUnknown means that the readiness was not determined.
	ReferenceStatusUnknown ReferenceStatusType = iota

	// ReferenceNotFound means that the object does not exist.
	ReferenceNotFound

	// ReferenceNotReady means that the object exists and does not have the value yet.
	ReferenceNotReady

	// ReferenceReady means that the object can be used.
	ReferenceReady
)

// String returns the name of the status without its prefix. For an undefined value it returns Unknown.
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

// IsMissingReference reports whether a required reference is missing. That is the case if the method
// MissingReference() bool of err or an error it wraps returns true.
func IsMissingReference(err error) bool {
	var missing interface{ MissingReference() bool }

	return errors.As(err, &missing) && missing.MissingReference()
}

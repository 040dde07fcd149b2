package test

import (
	"errors"
	"reflect"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
)

// EquateErrors returns an option that compares errors. Two errors are equal if errors.Is is true for them in either
// order, or if they have the same type and text. The second rule is for errors such as errors.New("boom") that a test
// makes in place. An error that the runtime has redacted is also equal to an error of another type with the same
// text.
func EquateErrors() cmp.Option {
	return cmp.FilterValues(bothErrors, cmp.Comparer(func(a, b any) bool {
		x, y := a.(error), b.(error) // The filter saw to it that they are.

		// What the runtime returns is redacted, and says the same.
		same := reflect.TypeOf(x) == reflect.TypeOf(y) || redact.IsRedacted(x) || redact.IsRedacted(y)

		return errors.Is(x, y) || errors.Is(y, x) || same && x.Error() == y.Error()
	}))
}

// bothErrors reports whether both errors are not nil. cmp compares nil errors by itself.
func bothErrors(a, b any) bool {
	_, x := a.(error)
	_, y := b.(error)

	return x && y
}

// EquateConditions returns an option that compares conditions by type, status, reason and message. It ignores
// LastTransitionTime and ObservedGeneration. The order of several conditions matters.
func EquateConditions() cmp.Option {
	return cmp.Comparer(func(a, b commonv1.Condition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
	})
}

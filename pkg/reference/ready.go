package reference

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// IsExpected reports whether err consists only of WaitingErrors for which Expected is true. Such a wait is not a
// failure: it should be reported as Normal, not as a Warning. IsExpected returns false if err wraps any other error
// besides, and if err is nil.
func IsExpected(err error) bool {
	switch e := err.(type) { //nolint:errorlint // The tree is walked here, node by node.
	case nil:
		return false
	case *WaitingError:
		return e.Expected
	case interface{ Unwrap() []error }:
		all := e.Unwrap()
		for _, one := range all {
			if !IsExpected(one) {
				return false
			}
		}

		return len(all) > 0
	default:
		return IsExpected(errors.Unwrap(err))
	}
}

// awaitsReady reports whether the reference waits until the referent is ready. A value that the referring object
// already has does not wait again.
func (q *query) awaitsReady(o client.Object) bool {
	return q.waitForReady && !isReady(o) && !q.hasValueOf(o)
}

// isReady reports whether the condition Ready of an object is True.
func isReady(o client.Object) bool {
	if c, ok := o.(interface {
		GetCondition(t commonv1.ConditionType) commonv1.Condition
	}); ok {
		return c.GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue
	}

	image, err := unstructuredOf(o)
	if err != nil {
		return false
	}
	conditions, _ := lookup(image, []string{"status", "conditions"}).([]any)
	for _, one := range conditions {
		c, ok := one.(map[string]any)
		if ok && c["type"] == string(commonv1.TypeReady) {
			return c["status"] == string(metav1.ConditionTrue)
		}
	}

	return false
}

// checkReadable returns an error if objects like this one have no conditions, because only their metadata is read.
func checkReadable(example runtime.Object) error {
	switch example.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return errors.Errorf(
			"cannot wait until a referent is ready: %T has no conditions; use the type of the kind in To", example)
	default:
		return nil
	}
}

package testworld

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// Marked returns a managed resource with the annotations of a creation: the times external-create-pending,
// external-create-succeeded and external-create-failed, and the attempt. An empty value is no annotation.
func Marked(pending, succeeded, failed, attempt string) *fake.Managed {
	annotations := map[string]string{}
	for key, value := range map[string]string{
		meta.AnnotationKeyExternalCreatePending: pending, meta.AnnotationKeyExternalCreateSucceeded: succeeded,
		meta.AnnotationKeyExternalCreateFailed: failed, meta.AnnotationKeyCreateAttempt: attempt,
	} {
		if value != "" {
			annotations[key] = value
		}
	}

	return &fake.Managed{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
}

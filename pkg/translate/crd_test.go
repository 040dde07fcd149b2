package translate_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moorage-dev/moorage/pkg/translate"
)

// TestPreservedFields verifies that a copy never preserves unknown fields. API servers no
// longer accept CRDs that do, so the test uses a CRD in memory.
func TestPreservedFields(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.PreserveUnknownFields = true
	if translate.Portable(crd, "v1").Spec.PreserveUnknownFields {
		t.Error("the copy would be refused")
	}
	if !crd.Spec.PreserveUnknownFields {
		t.Error("the host's own definition was changed")
	}
}

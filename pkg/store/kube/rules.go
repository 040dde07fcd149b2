package kube

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/moorage-dev/moorage/internal/apicore"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// generateName returns a name with a prefix.
func generateName(prefix string) string {
	const most = 63 - 5 // of what an API server keeps of the prefix

	return prefix[:min(len(prefix), most)] + rand.String(5)
}

// check checks the JSON of a new object.
func (k *kind) check(image map[string]any) error {
	if err := k.checkForm(image); err != nil {
		return err
	}

	return k.fits(image)
}

// checkForm checks metadata as an API server does.
func (k *kind) checkForm(image map[string]any) error {
	// PartialObjectMetadata decodes the metadata, so that a field of the wrong type also becomes an error response.
	o := &metav1.PartialObjectMetadata{}
	m := map[string]any{apicore.FieldMetadata: apicore.Metadata(image)}
	if err := errors.Wrap(decode(m, o), "cannot decode metadata"); err != nil {
		return k.Invalid(apicore.Name(image), field.TypeInvalid(field.NewPath(apicore.FieldMetadata), "", err.Error()))
	}
	errs := validation.ValidateObjectMetaAccessor(o, k.namespaced(), validation.NameIsDNSSubdomain,
		field.NewPath(apicore.FieldMetadata))
	if len(errs) > 0 {
		return k.Invalid(apicore.Name(image), errs...)
	}

	return nil
}

// fits checks that a JSON object can be decoded into the Go type, which is the only schema.
func (k *kind) fits(image map[string]any) error {
	if _, err := k.typed(image); err != nil {
		return k.Invalid(apicore.Name(image), field.TypeInvalid(nil, "", err.Error()))
	}

	return nil
}

// revisionOf returns the resourceVersion of a JSON object as a revision of the store.
func revisionOf(image map[string]any) (uint64, error) {
	text, _ := apicore.Metadata(image)["resourceVersion"].(string)
	revision, err := strconv.ParseUint(text, 10, 64)

	return revision, errors.Wrap(err, "cannot read resourceVersion")
}

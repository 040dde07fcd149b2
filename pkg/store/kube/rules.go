package kube

import (
	"maps"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/moorage-dev/moorage/internal/patch"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// generateName gives metadata without a name a name with its prefix generateName.
func generateName(m map[string]any) {
	const most = 63 - 5 // of what an API server keeps of the prefix
	prefix, _ := m["generateName"].(string)
	if name, _ := m["name"].(string); name != "" || prefix == "" {
		return
	}
	m["name"] = prefix[:min(len(prefix), most)] + rand.String(5)
}

// checkForm checks metadata as an API server does.
func (k *kind) checkForm(image map[string]any) error {
	m := metadataOf(image)
	patch.DropEmptyMetadata(m)
	// The metadata is read as that of any object, so that what is of the wrong type
	// is an answer, too.
	o := &metav1.PartialObjectMetadata{}
	name, _ := m["name"].(string)
	if err := decodeMetadata(m, o); err != nil {
		return k.invalid(name, field.TypeInvalid(field.NewPath(fieldMetadata), "", err.Error()))
	}
	errs := validation.ValidateObjectMetaAccessor(o, k.namespaced(), validation.NameIsDNSSubdomain,
		field.NewPath(fieldMetadata))
	if len(errs) > 0 {
		return k.invalid(name, errs...)
	}

	return nil
}

func decodeMetadata(m map[string]any, into *metav1.PartialObjectMetadata) error {
	u := unstructured.Unstructured{Object: map[string]any{fieldMetadata: m}}

	return errors.Wrap(decode(u.Object, into), "cannot decode metadata")
}

// checkFinalizers refuses new finalizers on an object that is being deleted.
func (k *kind) checkFinalizers(before, now map[string]any) error {
	if before["deletionTimestamp"] == nil {
		return nil
	}
	had, want := texts(before["finalizers"]), texts(now["finalizers"])
	errs := validation.ValidateNoNewFinalizers(want, had, field.NewPath(fieldMetadata, "finalizers"))
	if len(errs) > 0 {
		name, _ := before["name"].(string)

		return k.invalid(name, errs...)
	}

	return nil
}

func texts(of any) []string {
	list, _ := of.([]any)
	var out []string
	for _, value := range list {
		text, _ := value.(string)
		out = append(out, text)
	}

	return out
}

// fits checks an image against the Go type, which is the only schema.
func (k *kind) fits(image map[string]any) error {
	if _, err := k.typed(image); err != nil {
		name, _ := metadataOf(image)["name"].(string)

		return k.invalid(name, field.TypeInvalid(nil, "", err.Error()))
	}

	return nil
}

// sameBody reports whether two images are equal but for metadata and status.
func sameBody(a, b map[string]any) bool {
	for _, m := range [][2]map[string]any{{a, b}, {b, a}} {
		for key, value := range m[0] {
			if key != fieldMetadata && key != fieldStatus && !reflect.DeepEqual(value, m[1][key]) {
				return false
			}
		}
	}

	return true
}

// cloned returns a shallow copy.
func cloned(image map[string]any) map[string]any {
	if image = maps.Clone(image); image == nil {
		image = map[string]any{}
	}

	return image
}

// withMetadata returns a shallow copy with a shallow copy of the metadata.
func withMetadata(image map[string]any) map[string]any {
	image = cloned(image)
	image[fieldMetadata] = cloned(metadataOf(image))

	return image
}

func revisionOf(m map[string]any) (uint64, error) {
	text, _ := m["resourceVersion"].(string)
	revision, err := strconv.ParseUint(text, 10, 64)

	return revision, errors.Wrap(err, "cannot read resourceVersion")
}

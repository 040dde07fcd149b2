package apicore

import (
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// notOfClients are the metadata of a new object that only the server sets.
var notOfClients = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "selfLink",
	"uid",
}

// kept are the metadata that an update does not change.
var kept = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generateName", "generation", "namespace",
	"resourceVersion", "uid",
}

// Create returns the image of a new object to store. It removes metadata that only the server sets, and the status if
// that is a subresource. If the object has no name, generate makes one from its generateName. check validates the
// image. An error means that the request is refused.
func (k Kind) Create(
	given map[string]any, generate func(prefix string) string, check func(image map[string]any) error,
) (map[string]any, error) {
	image := k.Named(given)
	m := Metadata(image)
	if prefix, _ := m["generateName"].(string); prefix != "" && Name(image) == "" {
		m["name"] = generate(prefix)
	}
	for _, field := range notOfClients {
		delete(m, field)
	}
	if k.HasStatus {
		delete(image, FieldStatus)
	}
	dropEmpty(m)
	if err := check(image); err != nil {
		return nil, err
	}
	if err := checkVersion(m); err != nil {
		return nil, err
	}
	delete(m, "resourceVersion")

	return image, nil
}

// An Update is a request to replace the stored object, or its status, with the given object.
type Update struct {
	Stored      map[string]any
	Given       map[string]any
	Subresource string // "", or the status

	// Adjust changes the new image before anything is checked. It may change the top level of the image and of its
	// metadata, and no values below. With nil nothing is changed.
	Adjust func(image map[string]any) map[string]any

	// Check validates the new image.
	Check func(image map[string]any) error
}

// Update returns the image of an object after an update, to be stored under a new resourceVersion. A request for the
// subresource status changes only the status. Any other request changes everything except the status; without a
// subresource it also changes the status. An error means that the request is refused.
func (k Kind) Update(u Update) (map[string]any, error) {
	name, before := Name(u.Stored), Metadata(u.Stored)
	if v := Metadata(u.Given)["resourceVersion"]; v != nil && v != "" && v != before["resourceVersion"] {
		return nil, k.Conflict(name)
	}
	image := k.Named(k.counted(u))
	if u.Adjust != nil {
		image = u.Adjust(image)
	}
	m := Metadata(image)
	uid := m["uid"]
	for _, field := range kept {
		copyField(m, before, field)
	}
	delete(m, "managedFields")
	delete(m, "selfLink")
	dropEmpty(m)
	if generation, ok := before["generation"].(int64); ok && k.Custom && !sameBody(u.Stored, image) {
		m["generation"] = generation + 1
	}
	if err := u.Check(image); err != nil {
		return nil, err
	}
	if err := k.checkUID(name, uid, before["uid"]); err != nil {
		return nil, err
	}

	return image, k.checkFinalizers(name, before, m)
}

// counted returns the stored object, changed by the part of the request that is used.
func (k Kind) counted(u Update) map[string]any {
	switch {
	case u.Subresource != "":
		image := Clone(u.Stored)
		copyField(image, u.Given, FieldStatus)

		return image
	case k.HasStatus:
		image := Clone(u.Given)
		copyField(image, u.Stored, FieldStatus)

		return image
	default:
		return u.Given
	}
}

// Patch applies a patch to the image of a stored object. Its result is the given object of an Update. Errors are those
// of an API server, with status 400, 415 or 422.
func (k Kind) Patch(stored map[string]any, t types.PatchType, data []byte) (map[string]any, error) {
	image, err := applyPatch(k.Resource, Name(stored), stored, t, data)
	if err != nil {
		return nil, err
	}
	if Metadata(image)["name"] != Name(stored) {
		return nil, kerrors.NewBadRequest("the name of the object does not match the name on the URL")
	}

	return image, nil
}

// Named returns a copy of an image with the apiVersion and the kind of k. The copy always has metadata.
func (k Kind) Named(image map[string]any) map[string]any {
	image = WithMetadata(image)
	image["apiVersion"], image["kind"] = k.GVK.GroupVersion().String(), k.GVK.Kind

	return image
}

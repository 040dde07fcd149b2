package storetest

import (
	"maps"

	"github.com/moorage-dev/moorage/pkg/store"
)

// A Thing is the object that the suite stores.
type Thing struct {
	Metadata store.Metadata `json:"metadata"`
	Spec     ThingSpec      `json:"spec"`
	Status   ThingStatus    `json:"status,omitzero"`
}

// A ThingSpec is the desired state.
type ThingSpec struct {
	Size  int               `json:"size,omitempty"`
	Count int64             `json:"count,omitempty"`
	Text  string            `json:"text,omitempty"`
	Parts map[string]string `json:"parts,omitempty"`
}

// A ThingStatus is the actual state.
type ThingStatus struct {
	Seen  int    `json:"seen,omitempty"`
	Count int64  `json:"count,omitempty"`
	Note  string `json:"note,omitempty"`
}

// NewThing returns a thing of that key and size.
func NewThing(key string, size int) *Thing {
	return &Thing{Metadata: store.Metadata{Key: key}, Spec: ThingSpec{Size: size}}
}

// GetMetadata returns the metadata.
func (t *Thing) GetMetadata() *store.Metadata {
	if t == nil {
		return nil
	}

	return &t.Metadata
}

// DeepCopy returns a copy that shares no memory.
func (t *Thing) DeepCopy() *Thing {
	out := *t
	out.Metadata = *t.Metadata.DeepCopy()
	out.Spec.Parts = maps.Clone(t.Spec.Parts)

	return &out
}

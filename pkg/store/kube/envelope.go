package kube

import (
	"encoding/json"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/apicore"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// An Envelope makes a Kubernetes object one that a store can hold. Its metadata is
// the store's, so that every adapter and every informer understands it; the rest of
// the object is as it is, with fields that T does not know, which an legacyRecorder program
// thus does not erase. T is a pointer to a struct. The zero value is an object
// that was never stored. It must not be changed while others read it.
type Envelope[T client.Object] struct {
	metadata store.Metadata
	content  map[string]any // all but the metadata; shared, never changed
}

// Wrap returns the object in an envelope, as it can be given to a store. Kinds
// should be set in the object: a store without them is not legible for others. It
// fails if the object cannot be encoded.
func Wrap[T client.Object](obj T) (*Envelope[T], error) {
	image, err := imageOf(obj)
	if err != nil {
		return nil, err
	}

	return seal[T](image)
}

// GetMetadata returns the metadata as the store has it. It is nil if the envelope
// is.
func (e *Envelope[T]) GetMetadata() *store.Metadata {
	if e == nil {
		return nil
	}

	return &e.metadata
}

// Object returns the object, which is the caller's. It fails if what is stored does
// not fit T.
func (e *Envelope[T]) Object() (T, error) {
	var obj T
	to, ok := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if !ok {
		return obj, errors.Errorf("%T is not a pointer to a kind of object", obj)
	}

	return to, decode(e.image(), to)
}

// DeepCopy returns a copy that can be changed.
func (e *Envelope[T]) DeepCopy() *Envelope[T] {
	if e == nil {
		return nil
	}

	return &Envelope[T]{metadata: *e.metadata.DeepCopy(), content: e.content}
}

// MarshalJSON returns the value to store.
func (e *Envelope[T]) MarshalJSON() ([]byte, error) {
	out := maps.Clone(e.content)
	if out == nil {
		out = map[string]any{}
	}
	out[apicore.FieldMetadata] = &e.metadata

	return json.Marshal(out)
}

// UnmarshalJSON reads a value stored. It fails if that does not fit T.
func (e *Envelope[T]) UnmarshalJSON(data []byte) error {
	var content map[string]any
	if err := kjson.Unmarshal(data, &content); err != nil {
		return err
	}
	var only struct {
		Metadata store.Metadata `json:"metadata"`
	}
	if err := json.Unmarshal(data, &only); err != nil {
		return err
	}
	delete(content, apicore.FieldMetadata)
	e.metadata, e.content = only.Metadata, content
	_, err := e.Object()

	return err
}

// seal puts an image into an envelope. The image is not changed, and shared.
func seal[T client.Object](image map[string]any) (*Envelope[T], error) {
	raw, err := json.Marshal(image[apicore.FieldMetadata])
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode metadata")
	}
	var m metav1.ObjectMeta
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, errors.Wrap(err, "cannot decode metadata")
	}
	e := &Envelope[T]{content: maps.Clone(image)}
	delete(e.content, apicore.FieldMetadata)
	e.metadata = store.Metadata{
		Key: keyFor(m.Namespace, m.Name), UID: string(m.UID), Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp.UTC(),
		Labels:            m.Labels, Annotations: m.Annotations, Finalizers: m.Finalizers,
	}
	if m.DeletionTimestamp != nil {
		e.metadata.DeletionTimestamp = new(m.DeletionTimestamp.UTC())
	}
	if m.ResourceVersion != "" {
		if e.metadata.Revision, err = strconv.ParseUint(m.ResourceVersion, 10, 64); err != nil {
			return nil, errors.Wrap(err, "cannot read resourceVersion")
		}
	}
	for _, field := range extras {
		value, ok := apicore.Metadata(image)[field]
		if !ok {
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot encode %s", field)
		}
		if e.metadata.Extra == nil {
			e.metadata.Extra = map[string]json.RawMessage{}
		}
		e.metadata.Extra[field] = raw
	}

	return e, nil
}

// extras are the fields of Kubernetes' metadata that a store's does not have.
var extras = []string{"ownerReferences", "generateName"}

// image returns the object as an API server would: its JSON, decoded. All but the
// metadata is shared and must not be changed.
func (e *Envelope[T]) image() map[string]any {
	m := &e.metadata
	meta := map[string]any{}
	for field, value := range map[string]string{
		"uid": m.UID, "resourceVersion": version(m.Revision),
		"creationTimestamp": timestamp(m.CreationTimestamp),
	} {
		if value != "" {
			meta[field] = value
		}
	}
	meta["namespace"], meta["name"], _ = strings.Cut(m.Key, "/")
	if meta["name"] == "" {
		meta["name"] = meta["namespace"]
		delete(meta, "namespace")
	}
	if m.Generation != 0 {
		meta["generation"] = m.Generation
	}
	if m.DeletionTimestamp != nil {
		meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = timestamp(*m.DeletionTimestamp), int64(0)
	}
	for field, values := range map[string]map[string]string{"labels": m.Labels, "annotations": m.Annotations} {
		if len(values) > 0 {
			meta[field] = anyMap(values)
		}
	}
	if len(m.Finalizers) > 0 {
		meta["finalizers"] = anyList(m.Finalizers)
	}
	for field, raw := range m.Extra {
		var value any
		if kjson.Unmarshal(raw, &value) == nil {
			meta[field] = value
		}
	}
	out := maps.Clone(e.content)
	if out == nil {
		out = map[string]any{}
	}
	out[apicore.FieldMetadata] = meta

	return out
}

func anyMap(in map[string]string) map[string]any {
	out := make(map[string]any, len(in))
	for key, value := range in {
		out[key] = value
	}

	return out
}

func anyList(in []string) []any {
	out := make([]any, 0, len(in))
	for _, value := range in {
		out = append(out, value)
	}

	return out
}

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}

	return t.UTC().Format(time.RFC3339)
}

func version(revision uint64) string {
	if revision == 0 {
		return ""
	}

	return strconv.FormatUint(revision, 10)
}

func keyFor(namespace, name string) string {
	if namespace == "" {
		return name
	}

	return namespace + "/" + name
}

func nameOf(key string) types.NamespacedName {
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}

	return types.NamespacedName{Name: key}
}

// imageOf returns the JSON image of an object of any type.
func imageOf(obj any) (map[string]any, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode object")
	}
	var image map[string]any

	return image, errors.Wrap(kjson.Unmarshal(data, &image), "cannot decode object")
}

// decode reads an image into a typed object, which is empty.
func decode(image map[string]any, into client.Object) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(image, into)
}

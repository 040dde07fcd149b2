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

// An Envelope holds a Kubernetes object in the form of package store. Its metadata is a store.Metadata, which every
// adapter and every informer can use. The other fields of the object are kept unchanged. They include fields that T
// does not have, so an older program does not remove them. T is a pointer to a struct. The zero value is an object that
// was never stored. An Envelope must not be modified while other goroutines read it.
type Envelope[T client.Object] struct {
	metadata store.Metadata
	content  map[string]any // all but the metadata; shared, never changed
}

// Wrap returns an envelope with the object, to write to a store. Set the apiVersion and the kind of the object, because
// readers of the store without T need them. Wrap fails if the object cannot be encoded.
func Wrap[T client.Object](obj T) (*Envelope[T], error) {
	image, err := imageOf(obj)
	if err != nil {
		return nil, err
	}

	return seal[T](image)
}

// GetMetadata returns a pointer to the metadata in the envelope, or nil if the envelope is nil.
func (e *Envelope[T]) GetMetadata() *store.Metadata {
	if e == nil {
		return nil
	}

	return &e.metadata
}

// Object returns a new object, which the caller owns. It fails if the stored value cannot be decoded into T.
func (e *Envelope[T]) Object() (T, error) {
	var obj T
	to, ok := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if !ok {
		return obj, errors.Errorf("%T is not a pointer to a kind of object", obj)
	}

	return to, decode(e.image(), to)
}

// DeepCopy returns a copy that the caller may modify.
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

// UnmarshalJSON reads a stored value. It fails if the value cannot be decoded into T.
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

// seal puts a JSON object into an envelope. The envelope shares the JSON object and does not change it.
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

// extras are the metadata fields of Kubernetes that store.Metadata does not have.
var extras = []string{"ownerReferences", "generateName"}

// image returns the decoded JSON of the object, as an API server would send it. The caller may change the metadata. The
// other fields are shared and must not be changed.
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

// imageOf returns the decoded JSON of an object of any type.
func imageOf(obj any) (map[string]any, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode object")
	}
	var image map[string]any

	return image, errors.Wrap(kjson.Unmarshal(data, &image), "cannot decode object")
}

// decode decodes a JSON object into a new typed object.
func decode(image map[string]any, into client.Object) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(image, into)
}

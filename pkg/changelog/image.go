package changelog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// MaxImage is the maximum length of the JSON that Image returns, in bytes. If the JSON of an object is longer, Image
// returns the identity of the object and a note instead.
const MaxImage = 64 << 10

const (
	// redactedText replaces a secret, as in errors.
	redactedText = "[REDACTED]"

	// maxTextLength bounds a single text within an image.
	maxTextLength = 16 << 10

	// lastAppliedAnnotation is where kubectl keeps a copy of the object.
	lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
)

// A Masker removes known secrets from text.
type Masker interface {
	// Text returns s without the known secrets, in plain and in common encoded forms.
	Text(s string) string
}

// Image returns the object as JSON without its secrets. It also omits the managed fields and the annotation in which
// kubectl keeps a copy of the object. The JSON is never longer than MaxImage. For a nil object the result is nil. Image
// does not change the object.
//
// These parts of the object count as secrets: the data of a Secret, texts and numbers under a key that names a secret
// (password, clientSecret, token), texts that look like a secret, and secrets that one of the masks knows. A
// reference to a Secret is kept.
func Image(obj runtime.Object, masks ...Masker) (json.RawMessage, error) {
	if v := reflect.ValueOf(obj); obj == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, nil
	}

	var content any = obj
	if u, ok := obj.(runtime.Unstructured); ok {
		content = u.UnstructuredContent() // its own encoding requires a kind
	}

	b, err := json.Marshal(content)
	if err != nil {
		return nil, errors.Wrap(redact.Error(err), "cannot encode object")
	}

	return redactJSON(b, masks)
}

// redactJSON redacts the JSON of an object.
func redactJSON(b []byte, masks []Masker) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()

	var root any
	if err := d.Decode(&root); err != nil {
		return nil, errors.Wrap(redact.Error(err), "cannot read object")
	}

	c := redactor{masks: masks}
	o, _ := root.(map[string]any)

	if m, ok := o["metadata"].(map[string]any); ok {
		delete(m, "managedFields")

		if a, ok := m["annotations"].(map[string]any); ok {
			delete(a, lastAppliedAnnotation)
		}
	}

	if mayBeSecret(o) {
		for _, k := range []string{"data", "stringData"} {
			if v, ok := o[k]; ok {
				o[k] = c.mask(v)
			}
		}
	}

	clean, err := encode(c.redactValue(root))
	if err != nil || len(clean) <= MaxImage {
		return clean, err
	}

	return encode(c.redactValue(summarize(o, len(clean))))
}

// mayBeSecret reports whether the object is, or may be, a Secret: typed objects may lack
// the kind.
func mayBeSecret(o map[string]any) bool {
	if o["kind"] != nil {
		return o["kind"] == "Secret" && o["apiVersion"] == "v1"
	}

	_, spec := o["spec"]

	return !spec
}

// summarize returns the identity of an object that is too long for an image.
func summarize(o map[string]any, n int) map[string]any {
	summary := map[string]any{"omitted": fmt.Sprintf("the image has %d bytes, more than %d", n, MaxImage)}

	for _, k := range []string{"apiVersion", "kind"} {
		if v, ok := o[k].(string); ok {
			summary[k] = v[:min(len(v), 256)]
		}
	}

	m, _ := o["metadata"].(map[string]any)
	identity := map[string]any{}

	for _, k := range []string{"namespace", "name", "uid", "generation", "resourceVersion"} {
		switch v := m[k].(type) {
		case string:
			identity[k] = v[:min(len(v), 256)]
		case json.Number:
			identity[k] = v
		}
	}

	if len(identity) > 0 {
		summary["metadata"] = identity
	}

	return summary
}

// redactedImage redacts an image that need not come from Image.
func redactedImage(b json.RawMessage) json.RawMessage {
	if len(b) == 0 {
		return nil
	}

	clean, err := redactJSON(b, nil)
	if err != nil {
		return json.RawMessage(`{"omitted":"the image is not JSON"}`)
	}

	return clean
}

// encode returns the JSON of v.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer

	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)

	if err := e.Encode(v); err != nil {
		return nil, errors.Wrap(redact.Error(err), "cannot encode image")
	}

	return bytes.TrimSpace(b.Bytes()), nil
}

// A redactor removes secrets from a decoded object, in place.
type redactor struct{ masks []Masker }

// text redacts and truncates a text.
func (c redactor) text(s string) string {
	for _, m := range c.masks {
		s = m.Text(s)
	}

	return redact.Long(s, maxTextLength)
}

// redactValue redacts a value.
func (c redactor) redactValue(v any) any {
	switch v := v.(type) {
	case string:
		return c.text(v)
	case []any:
		for i := range v {
			v[i] = c.redactValue(v[i])
		}

		return v
	case map[string]any:
		return c.redactMap(v)
	default:
		return v
	}
}

// redactMap redacts a map.
func (c redactor) redactMap(m map[string]any) map[string]any {
	// The form of environment variables of containers, and of tags in clouds.
	for _, k := range []string{"name", "key"} {
		if name, ok := m[k].(string); ok && redact.IsSecretKey(name) {
			if v, ok := m["value"]; ok {
				m["value"] = c.mask(v)
			}
		}
	}

	out := make(map[string]any, len(m))

	for _, k := range slices.Sorted(maps.Keys(m)) {
		v := m[k]
		if redact.IsSecretKey(k) {
			v = c.mask(v)
		} else {
			v = c.redactValue(v)
		}

		out[c.text(k)] = v
	}

	return out
}

// mask masks all values below a key that names a secret, except references, booleans and
// the source of a value.
func (c redactor) mask(v any) any {
	switch v := v.(type) {
	case string:
		if v == "" {
			return v
		}

		return redactedText
	case json.Number:
		return redactedText
	case []any:
		for i := range v {
			v[i] = c.mask(v[i])
		}

		return v
	case map[string]any:
		if isReference(v) {
			return c.redactValue(v)
		}

		return c.maskMap(v)
	default:
		return v
	}
}

// maskMap masks the values of a map.
func (c redactor) maskMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))

	for _, k := range slices.Sorted(maps.Keys(m)) {
		v := m[k]
		if k == "source" || k == "kind" || strings.HasSuffix(k, "Ref") || strings.HasSuffix(k, "Selector") {
			v = c.redactValue(v)
		} else {
			v = c.mask(v)
		}

		out[c.text(k)] = v
	}

	return out
}

// isReference reports whether an object is a reference to another object and nothing
// else.
func isReference(m map[string]any) bool {
	if _, ok := m["name"].(string); !ok {
		return false
	}

	for k := range m {
		switch k {
		case "apiVersion", "group", "kind", "namespace", "name", "uid", "key", "optional", "policy":
		default:
			return false
		}
	}

	return true
}

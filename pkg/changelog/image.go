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

// MaxImage is the greatest length of an image, in bytes. What is longer is told
// in one sentence, beside the name and version of the object.
const MaxImage = 64 << 10

const (
	// masked stands where a secret was, as it does in errors.
	masked = "[REDACTED]"

	// maxText bounds a single text within an image.
	maxText = 16 << 10

	// lastApplied repeats the object; kubectl keeps it there.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// A Masker knows secrets.
type Masker interface {
	// Text returns s without the secrets it knows, in any usual form they stand
	// there.
	Text(s string) string
}

// Image returns the object as JSON without its secrets, its managed fields and
// the annotation in which kubectl repeats it. Secret are the texts and numbers
// under a telling key (password, clientSecret, token), the data of a Secret, what
// looks like a secret anywhere, and what one of the masks knows. A reference to a
// Secret stays. A nil object has a nil image.
//
// The object is not changed. The image is never longer than MaxImage.
func Image(obj runtime.Object, masks ...Masker) (json.RawMessage, error) {
	if v := reflect.ValueOf(obj); obj == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, nil
	}

	var content any = obj
	if u, ok := obj.(runtime.Unstructured); ok {
		content = u.UnstructuredContent() // Its own encoding insists on a kind.
	}

	b, err := json.Marshal(content)
	if err != nil {
		return nil, errors.Wrap(redact.Error(err), "cannot encode object")
	}

	return image(b, masks)
}

func image(b []byte, masks []Masker) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()

	var root any
	if err := d.Decode(&root); err != nil {
		return nil, errors.Wrap(redact.Error(err), "cannot read object")
	}

	c := cleaner{masks: masks}
	o, _ := root.(map[string]any)

	if m, ok := o["metadata"].(map[string]any); ok {
		delete(m, "managedFields")

		if a, ok := m["annotations"].(map[string]any); ok {
			delete(a, lastApplied)
		}
	}

	if isSecret(o) {
		for _, k := range []string{"data", "stringData"} {
			if v, ok := o[k]; ok {
				o[k] = c.blank(v)
			}
		}
	}

	clean, err := encoded(c.clean(root))
	if err != nil || len(clean) <= MaxImage {
		return clean, err
	}

	return encoded(c.clean(shortened(o, len(clean))))
}

// isSecret reports whether the object is, or may be, a Secret: a typed one does not
// always tell its kind.
func isSecret(o map[string]any) bool {
	if o["kind"] != nil {
		return o["kind"] == "Secret" && o["apiVersion"] == "v1"
	}

	_, spec := o["spec"]

	return !spec
}

// shortened is what is told of an object that is too long.
func shortened(o map[string]any, n int) map[string]any {
	short := map[string]any{"omitted": fmt.Sprintf("the image has %d bytes, more than %d", n, MaxImage)}

	for _, k := range []string{"apiVersion", "kind"} {
		if v, ok := o[k].(string); ok {
			short[k] = v[:min(len(v), 256)]
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
		short["metadata"] = identity
	}

	return short
}

// redactedImage is image for what was handed over as one. Whoever did so need not
// have used Image.
func redactedImage(b json.RawMessage) json.RawMessage {
	if len(b) == 0 {
		return nil
	}

	clean, err := image(b, nil)
	if err != nil {
		return json.RawMessage(`{"omitted":"the image is no JSON"}`)
	}

	return clean
}

func encoded(v any) (json.RawMessage, error) {
	var b bytes.Buffer

	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)

	if err := e.Encode(v); err != nil {
		return nil, errors.Wrap(redact.Error(err), "cannot encode image")
	}

	return bytes.TrimSpace(b.Bytes()), nil
}

// A cleaner takes secrets out of a decoded object, in place.
type cleaner struct{ masks []Masker }

func (c cleaner) text(s string) string {
	for _, m := range c.masks {
		s = m.Text(s)
	}

	return redact.Long(s, maxText)
}

func (c cleaner) clean(v any) any {
	switch v := v.(type) {
	case string:
		return c.text(v)
	case []any:
		for i := range v {
			v[i] = c.clean(v[i])
		}

		return v
	case map[string]any:
		return c.cleanMap(v)
	default:
		return v
	}
}

func (c cleaner) cleanMap(m map[string]any) map[string]any {
	// As the environment of a container is written, and the tags of a cloud.
	for _, k := range []string{"name", "key"} {
		if name, ok := m[k].(string); ok && redact.IsSecretKey(name) {
			if v, ok := m["value"]; ok {
				m["value"] = c.blank(v)
			}
		}
	}

	out := make(map[string]any, len(m))

	for _, k := range slices.Sorted(maps.Keys(m)) {
		v := m[k]
		if redact.IsSecretKey(k) {
			v = c.blank(v)
		} else {
			v = c.clean(v)
		}

		out[c.text(k)] = v
	}

	return out
}

// blank masks all that is below a telling key but references, switches and what
// says where the value comes from.
func (c cleaner) blank(v any) any {
	switch v := v.(type) {
	case string:
		if v == "" {
			return v
		}

		return masked
	case json.Number:
		return masked
	case []any:
		for i := range v {
			v[i] = c.blank(v[i])
		}

		return v
	case map[string]any:
		if isReference(v) {
			return c.clean(v)
		}

		return c.blankMap(v)
	default:
		return v
	}
}

func (c cleaner) blankMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))

	for _, k := range slices.Sorted(maps.Keys(m)) {
		v := m[k]
		if k == "source" || k == "kind" || strings.HasSuffix(k, "Ref") || strings.HasSuffix(k, "Selector") {
			v = c.clean(v)
		} else {
			v = c.blank(v)
		}

		out[c.text(k)] = v
	}

	return out
}

// isReference reports whether an object names another one, and does nothing else.
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

package apiserver

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A decoder decodes a JSON value, which is not nil, into a zero value of a type. It returns false if it cannot decode
// the value; it may have decoded a part of it then.
type decoder func(from any, to reflect.Value) bool

// decode returns the typed object of a JSON object. The converter of apimachinery defines the result. For the most
// frequent types of values, decode builds a faster decoder once per type.
func (k *kind) decode(image map[string]any) (client.Object, error) {
	o, err := k.empty()
	if err != nil {
		return nil, err
	}
	if !k.decoder(image, reflect.ValueOf(o).Elem()) {
		if o, err = k.empty(); err != nil {
			return nil, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(image, o); err != nil {
			return nil, err
		}
	}
	o.GetObjectKind().SetGroupVersionKind(k.GVK)

	return o, nil
}

// empty returns a new object of the kind.
func (k *kind) empty() (client.Object, error) {
	o, ok := reflect.New(k.typ).Interface().(client.Object)
	if !ok {
		return nil, errors.Errorf("%s is not a kind of object", k.GVK.Kind)
	}

	return o, nil
}

var (
	metaTimeType    = reflect.TypeFor[metav1.Time]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
)

// deepest is the maximum depth to which types are inspected. Some types have fields of their own type.
const deepest = 8

// decoderOf returns the decoder of a type.
func decoderOf(t reflect.Type, depth int) decoder {
	switch {
	case t == metaTimeType:
		return decodeTime
	case depth > deepest, t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(unmarshalerType):
		return decodeNothing
	}
	switch t.Kind() { //nolint:exhaustive // the others are rare
	case reflect.String:
		return func(from any, to reflect.Value) bool {
			text, ok := from.(string)
			to.SetString(text)

			return ok
		}
	case reflect.Bool:
		return func(from any, to reflect.Value) bool {
			is, ok := from.(bool)
			to.SetBool(is)

			return ok
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return func(from any, to reflect.Value) bool {
			n, ok := from.(int64)
			to.SetInt(n)

			return ok && !to.OverflowInt(n)
		}
	case reflect.Pointer:
		return pointerDecoder(t.Elem(), decoderOf(t.Elem(), depth+1))
	case reflect.Slice:
		return sliceDecoder(t, decoderOf(t.Elem(), depth+1))
	case reflect.Map:
		if t == reflect.TypeFor[map[string]string]() {
			return decodeTexts
		}
	case reflect.Struct:
		return structDecoder(t, depth)
	}

	return decodeNothing
}

func decodeNothing(any, reflect.Value) bool { return false }

func decodeTime(from any, to reflect.Value) bool {
	text, ok := from.(string)
	if !ok {
		return false
	}
	at, err := time.Parse(time.RFC3339, text)
	to.Set(reflect.ValueOf(metav1.Time{Time: at.Local()}))

	return err == nil
}

func decodeTexts(from any, to reflect.Value) bool {
	texts, ok := from.(map[string]any)
	if !ok || texts == nil {
		return ok
	}
	out := make(map[string]string, len(texts))
	for key, value := range texts {
		text, ok := value.(string)
		if !ok && value != nil {
			return false
		}
		out[key] = text
	}
	to.Set(reflect.ValueOf(out))

	return true
}

func pointerDecoder(elem reflect.Type, decode decoder) decoder {
	return func(from any, to reflect.Value) bool {
		p := reflect.New(elem)
		to.Set(p)

		return decode(from, p.Elem())
	}
}

func sliceDecoder(t reflect.Type, decode decoder) decoder {
	return func(from any, to reflect.Value) bool {
		items, ok := from.([]any)
		if !ok || items == nil {
			return ok
		}
		to.Set(reflect.MakeSlice(t, len(items), len(items)))
		for i, item := range items {
			if item != nil && !decode(item, to.Index(i)) {
				return false
			}
		}

		return true
	}
}

// A fieldDecoder decodes one field of a struct. A field without a name is inlined.
type fieldDecoder struct {
	at     int
	name   string
	decode decoder
}

func structDecoder(t reflect.Type, depth int) decoder {
	var fields []fieldDecoder
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "" && !f.Anonymous || name != "" && strings.Contains(options, "inline") {
			return decodeNothing
		}
		fields = append(fields, fieldDecoder{i, name, decoderOf(f.Type, depth+1)})
	}

	return func(from any, to reflect.Value) bool {
		values, ok := from.(map[string]any)
		if !ok {
			return false
		}
		for _, f := range fields {
			value := any(values)
			if f.name != "" {
				value = values[f.name]
			}
			if value != nil && !f.decode(value, to.Field(f.at)) {
				return false
			}
		}

		return true
	}
}

package difference

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// object returns the fields of a value, or nil if the value is null.
func object(v any) (map[string]any, error) {
	image, err := decode(v)
	if err != nil {
		return nil, err
	}
	fields, ok := image.(map[string]any)
	if !ok && image != nil {
		return nil, errors.New("its JSON is not an object: pass a struct or a map with the fields")
	}
	return fields, nil
}

// decode returns the JSON of a value as maps, lists and numbers. Its errors have no secret of the value.
func decode(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, errors.Wrap(redact.Error(err), "cannot encode it as JSON")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		return nil, errors.Wrap(redact.Error(err), "cannot decode its JSON")
	}
	return out, nil
}

// encode returns the JSON of a decoded value, or "" for nil.
func encode(v any) string {
	if v == nil {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "" // not reached: the value was JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// pruned returns a decoded value without null fields and without what is ignored. It changes the value. An element of a
// list that is ignored becomes null, so that the others keep their positions.
func pruned(p *place, v any) any {
	if p.ignore {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v { // a key that exists may be set meanwhile
			v[name] = pruned(p.below(step{name: name}), field)
		}
		maps.DeleteFunc(v, func(_ string, field any) bool { return field == nil })
	case []any:
		for i, element := range v {
			v[i] = pruned(p.below(step{kind: byIndex, index: i}), element)
		}
	}
	return v
}

// equal reports whether two decoded values are the same. Numbers are compared by value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || canonicalNumber(a) == canonicalNumber(b))
	default:
		switch b.(type) {
		case map[string]any, []any, json.Number:
			return false
		}
		return a == b
	}
}

// canonical returns a copy of a decoded value that has the same JSON as each value that is equal to it. Empty lists and
// objects in objects are omitted.
func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			if field = canonical(field); !isEmpty(field) {
				out[name] = field
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = canonical(element)
		}
		return out
	case json.Number:
		return canonicalNumber(v)
	default:
		return v
	}
}

// isEmpty reports whether a decoded value is null, or a list or an object without content.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return v == nil
	}
}

// maxExponent bounds the exponents of numbers that are compared by value. Others are compared as texts.
const maxExponent = 1 << 40

// canonicalNumber returns a number with one digit or more, without zeros at either end, and an exponent. It never
// computes the value, which takes too long if the exponent is large.
func canonicalNumber(n json.Number) json.Number {
	text, negative := strings.CutPrefix(string(n), "-")
	mantissa, exponentText, scientific := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent := int64(0)
	if scientific {
		parsed, err := strconv.ParseInt(exponentText, 10, 64)
		if err != nil || parsed > maxExponent || parsed < -maxExponent {
			return n
		}
		exponent = parsed
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= int64(len(fraction))
	significant := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(significant))
	switch {
	case significant == "":
		return "0"
	case negative:
		significant = "-" + significant
	}
	return json.Number(significant + "e" + strconv.FormatInt(exponent, 10))
}

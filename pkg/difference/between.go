package difference

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// Between returns the fields in which observed differs from desired, sorted by path. Each path occurs once. It changes
// neither argument. If there is no difference, the result is nil.
//
// Both arguments are values whose JSON is an object, such as structs of one type. Between compares their JSON:
//
//   - A field that desired does not set, or sets to null, is not compared. If desired is nil, nothing is compared. A
//     field of a struct with the tag omitempty is not set if it has its zero value.
//   - A field that only desired has is a difference. An empty list or object equals one that is missing.
//   - Objects are compared field by field, and numbers by value: 1 equals 1.0.
//   - Lists are compared by position. Lists of objects of the same length are compared field by field. In other cases
//     the difference is the whole list. The options Set and Keyed change that.
//
// Types whose JSON is normalized, such as resource.Quantity, metav1.Time and metav1.Duration, need no option. For texts
// with the same meaning use Equal, and for fields that the external system omits use Default.
//
// The value of a field with the name of a secret, or with the option Sensitive, is in no path, value or error. The same
// is true for a list that contains one. Paths and values are cleaned as by Clean. Their number is not limited, but the
// values of those after the first MaxFields may be "... (truncated)".
//
// An error means that an argument cannot be encoded as JSON, or is not an object, or that an option is not valid.
func Between(desired, observed any, options ...Option) ([]commonv1.Difference, error) {
	found, err := compare(desired, observed, options)
	if err != nil {
		return nil, err
	}
	out, _ := cleaned(found, nil, len(found))
	return out, nil
}

// compare returns the differences, neither cleaned nor sorted.
func compare(desired, observed any, options []Option) ([]commonv1.Difference, error) {
	var all rules
	for _, o := range options {
		if o == nil {
			continue
		}
		if err := o(&all); err != nil {
			return nil, err
		}
	}
	want, err := object(desired)
	if err != nil {
		return nil, errors.Wrap(err, "cannot compare the desired state")
	}
	got, err := object(observed)
	if err != nil {
		return nil, errors.Wrap(err, "cannot compare the observed state")
	}
	var c comparison
	top := all.top()
	pruned(top, want)
	pruned(top, got)
	c.fields(top, want, got)
	return c.found, nil
}

// A comparison collects differences. The zero value has none.
type comparison struct {
	found []commonv1.Difference

	// quiet means that only the existence of a difference matters, which differs then reports.
	quiet   bool
	differs bool
}

// value compares two values. Nil is a value that is not set.
func (c *comparison) value(p *place, want, got any) {
	if want == nil || c.quiet && c.differs {
		return
	}
	if got == nil {
		got = p.missing()
	}
	if same := p.same(); same != nil && got != nil {
		if !equal(want, got) && !same(encode(want), encode(got)) {
			c.add(p, want, got)
		}
		return
	}
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if ok || got == nil {
			c.fields(p, want, fields)
		} else if len(want) > 0 {
			c.add(p, want, got)
		}
	case []any:
		elements, ok := got.([]any)
		if ok || got == nil {
			c.list(p, want, elements)
		} else {
			c.add(p, want, got)
		}
	default:
		if !equal(want, got) {
			c.add(p, want, got)
		}
	}
}

// fields compares the fields of two objects.
func (c *comparison) fields(p *place, want, got map[string]any) {
	pair := isSecretPair(want) || isSecretPair(got)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		below := p.below(step{name: name})
		below.sensitive = below.sensitive || pair && name == pairValue
		c.value(below, want[name], got[name])
	}
}

// list compares two lists.
func (c *comparison) list(p *place, want, got []any) {
	keys := p.keys()
	switch {
	case p.isSet():
		if !contains(p, got, want) || !contains(p, want, got) {
			c.add(p, want, orNil(got))
		}
		return
	case len(keys) > 0:
		if wanted, ok := byKey(want, keys); ok {
			if existing, ok := byKey(got, keys); ok {
				c.keyed(p, want, got, wanted, existing)
				return
			}
		}
	}
	c.positions(p, want, got)
}

// keyed compares two lists whose elements have the given positions by their key.
func (c *comparison) keyed(p *place, want, got []any, wanted, existing map[string]int) {
	if !slices.Equal(slices.Sorted(maps.Keys(wanted)), slices.Sorted(maps.Keys(existing))) {
		c.add(p, want, orNil(got))
		return
	}
	for key, i := range wanted {
		c.value(p.below(step{kind: byIndex, index: i}), want[i], got[existing[key]])
	}
}

// positions compares two lists by position.
func (c *comparison) positions(p *place, want, got []any) {
	if len(want) != len(got) {
		c.add(p, want, orNil(got))
		return
	}
	scan := c
	if !allObjects(want) || !allObjects(got) {
		scan = &comparison{quiet: true}
	}
	for i := range want {
		if want[i] == nil && got[i] != nil {
			scan.differs = true
		}
		scan.value(p.below(step{kind: byIndex, index: i}), want[i], got[i])
	}
	if scan != c && scan.differs {
		c.add(p, want, orNil(got))
	}
}

// add adds the difference at a place.
func (c *comparison) add(p *place, want, got any) {
	c.differs = true
	if c.quiet {
		return
	}
	d := commonv1.Difference{Path: p.path(), Immutable: p.immutable}
	if d.Sensitive = p.sensitive || hasSecret(p, want) || hasSecret(p, got); !d.Sensitive {
		d.Desired, d.Observed = encode(want), encode(got)
	}
	c.found = append(c.found, d)
}

// orNil returns a list, or nil without a type if there is none.
func orNil(list []any) any {
	if list == nil {
		return nil
	}
	return list
}

// allObjects reports whether all elements of a list are objects.
func allObjects(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool {
		_, ok := v.(map[string]any)
		return !ok
	})
}

// contains reports whether a list has an equal element for each of the others.
func contains(p *place, list, others []any) bool {
	texts := make(map[string]bool, len(list))
	for _, v := range list {
		texts[encode(canonical(v))] = true
	}
	each := p.below(step{kind: toEach})
	for _, v := range others {
		if texts[encode(canonical(v))] {
			continue
		}
		equivalent := func(other any) bool { return same(each, v, other) && same(each, other, v) }
		if len(each.rules) == 0 || !slices.ContainsFunc(list, equivalent) {
			return false
		}
	}
	return true
}

// same reports whether two values do not differ. Null equals only null.
func same(p *place, want, got any) bool {
	c := comparison{quiet: true}
	c.value(p, want, got)
	return !c.differs && (want != nil || got == nil)
}

// byKey returns the position of each element of a list by its key. It returns false if an element is not an object, if
// a key is missing, or if two elements have the same key.
func byKey(list []any, keys []string) (map[string]int, bool) {
	out := make(map[string]int, len(list))
	for i, v := range list {
		element, _ := v.(map[string]any)
		var key strings.Builder
		for _, name := range keys {
			if element[name] == nil {
				return nil, false
			}
			key.WriteString(encode(canonical(element[name])) + "\n")
		}
		if _, exists := out[key.String()]; exists {
			return nil, false
		}
		out[key.String()] = i
	}
	return out, true
}

// pairValue is the field of a pair, as of an environment variable or a tag, that has the value.
const pairValue = "value"

// isSecretPair reports whether an object is a pair of a name and a value, and the name is that of a secret.
func isSecretPair(fields map[string]any) bool {
	for _, field := range []string{"name", "key"} {
		if name, ok := fields[field].(string); ok && redact.IsSecretKey(name) {
			return fields[pairValue] != nil
		}
	}
	return false
}

// hasSecret reports whether a value contains a sensitive field that is set.
func hasSecret(p *place, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if isSecretPair(v) {
			return true
		}
		for name, field := range v {
			if below := p.below(step{name: name}); below.sensitive || hasSecret(below, field) {
				return true
			}
		}
	case []any:
		for i, element := range v {
			if below := p.below(step{kind: byIndex, index: i}); below.sensitive || hasSecret(below, element) {
				return true
			}
		}
	case json.Number, string, bool, nil:
	}
	return false
}

package reference

import "strconv"

// FromPtrValue returns the string to which v points, or "" if v is nil.
func FromPtrValue(v *string) string { return from(v, asIs) }

// ToPtrValue returns a pointer to v, or nil if v is empty.
func ToPtrValue(v string) *string { return to(v, parseText) }

// FromPtrValues returns the strings to which the pointers point, in the same order. For a nil pointer it returns "".
func FromPtrValues(v []*string) []string { return all(v, FromPtrValue) }

// ToPtrValues returns pointers to the values, in the same order. For an empty value it returns nil.
func ToPtrValues(v []string) []*string { return all(v, ToPtrValue) }

// FromFloatPtrValue returns, as a string, the number to which v points. If v is nil, it returns "".
func FromFloatPtrValue(v *float64) string { return from(v, formatFloat) }

// ToFloatPtrValue returns a pointer to the number in v, or nil if v is not a number.
func ToFloatPtrValue(v string) *float64 { return to(v, parseFloat) }

// FromFloatPtrValues applies FromFloatPtrValue to each pointer.
func FromFloatPtrValues(v []*float64) []string { return all(v, FromFloatPtrValue) }

// ToFloatPtrValues applies ToFloatPtrValue to each value.
func ToFloatPtrValues(v []string) []*float64 { return all(v, ToFloatPtrValue) }

// FromIntPtrValue returns, as a string, the number to which v points. If v is nil, it returns "".
func FromIntPtrValue(v *int64) string { return from(v, formatInt) }

// ToIntPtrValue returns a pointer to the number in v, or nil if v is not an integer.
func ToIntPtrValue(v string) *int64 { return to(v, parseInt) }

// FromIntPtrValues applies FromIntPtrValue to each pointer.
func FromIntPtrValues(v []*int64) []string { return all(v, FromIntPtrValue) }

// ToIntPtrValues applies ToIntPtrValue to each value.
func ToIntPtrValues(v []string) []*int64 { return all(v, ToIntPtrValue) }

// from formats the value to which v points, or returns "" if v is nil.
func from[T any](v *T, format func(T) string) string {
	if v == nil {
		return ""
	}

	return format(*v)
}

// to returns a pointer to the parsed value, or nil if v is empty or cannot be parsed.
func to[T any](v string, parse func(string) (T, error)) *T {
	if v == "" {
		return nil
	}

	out, err := parse(v)
	if err != nil {
		return nil
	}

	return &out
}

// all converts every element.
func all[A, B any](in []A, one func(A) B) []B {
	out := make([]B, len(in))
	for i := range in {
		out[i] = one(in[i])
	}

	return out
}

// asIs returns v.
func asIs(v string) string { return v }

// parseText returns v.
func parseText(v string) (string, error) { return v, nil }

// formatFloat formats a number.
func formatFloat(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// parseFloat parses a number.
func parseFloat(v string) (float64, error) { return strconv.ParseFloat(v, 64) }

// formatInt formats an integer.
func formatInt(v int64) string { return strconv.FormatInt(v, 10) }

// parseInt parses an integer.
func parseInt(v string) (int64, error) { return strconv.ParseInt(v, 10, 64) }

package reference

import "strconv"

// FromPtrValue returns what v points to, or nothing if it is nil.
func FromPtrValue(v *string) string { return from(v, asIs) }

// ToPtrValue returns a pointer to v, or nil if v is empty.
func ToPtrValue(v string) *string { return to(v, parseText) }

// FromPtrValues returns what the pointers point to, in their order, with nothing
// in the place of nil.
func FromPtrValues(v []*string) []string { return all(v, FromPtrValue) }

// ToPtrValues returns pointers to the values, in their order, with nil in the
// place of nothing.
func ToPtrValues(v []string) []*string { return all(v, ToPtrValue) }

// FromFloatPtrValue returns the number that v points to, or nothing if it is nil.
func FromFloatPtrValue(v *float64) string { return from(v, formatFloat) }

// ToFloatPtrValue returns a pointer to the number, or nil if v is none.
func ToFloatPtrValue(v string) *float64 { return to(v, parseFloat) }

// FromFloatPtrValues is FromFloatPtrValue for each.
func FromFloatPtrValues(v []*float64) []string { return all(v, FromFloatPtrValue) }

// ToFloatPtrValues is ToFloatPtrValue for each.
func ToFloatPtrValues(v []string) []*float64 { return all(v, ToFloatPtrValue) }

// FromIntPtrValue returns the number that v points to, or nothing if it is nil.
func FromIntPtrValue(v *int64) string { return from(v, formatInt) }

// ToIntPtrValue returns a pointer to the number, or nil if v is no whole number.
func ToIntPtrValue(v string) *int64 { return to(v, parseInt) }

// FromIntPtrValues is FromIntPtrValue for each.
func FromIntPtrValues(v []*int64) []string { return all(v, FromIntPtrValue) }

// ToIntPtrValues is ToIntPtrValue for each.
func ToIntPtrValues(v []string) []*int64 { return all(v, ToIntPtrValue) }

func from[T any](v *T, format func(T) string) string {
	if v == nil {
		return ""
	}

	return format(*v)
}

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

func all[A, B any](in []A, one func(A) B) []B {
	out := make([]B, len(in))
	for i := range in {
		out[i] = one(in[i])
	}

	return out
}

func asIs(v string) string                 { return v }
func parseText(v string) (string, error)   { return v, nil }
func formatFloat(v float64) string         { return strconv.FormatFloat(v, 'f', -1, 64) }
func parseFloat(v string) (float64, error) { return strconv.ParseFloat(v, 64) }
func formatInt(v int64) string             { return strconv.FormatInt(v, 10) }
func parseInt(v string) (int64, error)     { return strconv.ParseInt(v, 10, 64) }

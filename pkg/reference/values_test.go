package reference

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPtrValues(t *testing.T) {
	cases := map[string]struct {
		reason string
		got    any
		want   any
	}{
		"FromNil":       {"Nil is nothing.", FromPtrValue(nil), ""},
		"From":          {"A pointer is what it points to.", FromPtrValue(new("x")), "x"},
		"ToNothing":     {"Nothing is nil, so that the field is left out.", ToPtrValue(""), (*string)(nil)},
		"To":            {"Something is pointed to.", ToPtrValue("x"), new("x")},
		"FromSeveral":   {"The order stays.", FromPtrValues([]*string{new("x"), nil}), []string{"x", ""}},
		"ToSeveral":     {"The order stays.", ToPtrValues([]string{"x", ""}), []*string{new("x"), nil}},
		"FromFloat":     {"A number has no exponent.", FromFloatPtrValue(new(1e6)), "1000000"},
		"ToFloat":       {"A number is read.", ToFloatPtrValue("0.5"), new(0.5)},
		"ToFloatBad":    {"What is no number is nothing.", ToFloatPtrValue("half"), (*float64)(nil)},
		"FromFloats":    {"Each for itself.", FromFloatPtrValues([]*float64{nil, new(0.5)}), []string{"", "0.5"}},
		"ToFloats":      {"Each for itself.", ToFloatPtrValues([]string{"", "0.5"}), []*float64{nil, new(0.5)}},
		"FromInt":       {"Zero is a value.", FromIntPtrValue(new(int64(0))), "0"},
		"ToInt":         {"A whole number is read.", ToIntPtrValue("-7"), new(int64(-7))},
		"ToIntFraction": {"A fraction is no whole number.", ToIntPtrValue("0.5"), (*int64)(nil)},
		"FromInts":      {"Each for itself.", FromIntPtrValues([]*int64{nil, new(int64(7))}), []string{"", "7"}},
		"ToInts":        {"Each for itself.", ToIntPtrValues([]string{"7", "x"}), []*int64{new(int64(7)), nil}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

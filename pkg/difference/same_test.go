package difference

import "testing"

func TestSame(t *testing.T) {
	cases := map[string]struct {
		reason            string
		same              func(desired, observed string) bool
		desired, observed string
		want              bool
	}{
		"Quantity":        {"Units are converted.", SameQuantity, `"1Gi"`, `"1024Mi"`, true},
		"QuantityNumber":  {"A number is a quantity.", SameQuantity, `1.5`, `"1500m"`, true},
		"QuantityOther":   {"Other quantities differ.", SameQuantity, `"1G"`, `"1Gi"`, false},
		"QuantityText":    {"A text is not a quantity.", SameQuantity, `"x"`, `"x"`, false},
		"QuantityObject":  {"Nor is an object.", SameQuantity, `{}`, `{}`, false},
		"QuantityEmpty":   {"Nor is an empty text.", SameQuantity, `""`, `""`, false},
		"QuantityHuge":    {"A long exponent is not tried.", SameQuantity, `"1e2147483647"`, `1e2147483647`, false},
		"QuantityLong":    {"Nor are many digits.", SameQuantity, `100000000000000000000000000000000000`, `1`, false},
		"Duration":        {"Units are converted.", SameDuration, `"24h"`, `"1440m0s"`, true},
		"DurationOther":   {"Other durations differ.", SameDuration, `"24h"`, `"25h"`, false},
		"DurationNumber":  {"A number has no unit.", SameDuration, `60`, `"60ns"`, false},
		"Time":            {"Zones are converted.", SameTime, `"2026-01-01T01:00:00+01:00"`, `"2026-01-01T00:00:00Z"`, true},
		"TimeOther":       {"Other instants differ.", SameTime, `"2026-01-01T01:00:00Z"`, `"2026-01-01T00:00:00Z"`, false},
		"TimeInvalid":     {"A text is not a time.", SameTime, `"now"`, `"now"`, false},
		"DurationInvalid": {"A text is not a duration.", SameDuration, `"long"`, `"long"`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.same(tc.desired, tc.observed); got != tc.want {
				t.Errorf("%s got %t", tc.reason, got)
			}
		})
	}
}

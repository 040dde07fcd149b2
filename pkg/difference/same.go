package difference

import (
	"encoding/json"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// quantity matches quantities that are cheap to compare: the time that resource.Quantity takes grows with the value of
// a decimal exponent.
var quantity = regexp.MustCompile(`^[+-]?(?:[0-9]{1,32}(?:\.[0-9]{0,32})?|\.[0-9]{1,32})` +
	`(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$`)

// SameQuantity reports whether two values are equal quantities of Kubernetes, such as "1Gi" and "1024Mi". It is for
// the option Equal. A value is a string or a number as JSON. If one of them is not a quantity, it returns false.
func SameQuantity(desired, observed string) bool {
	a, okA := quantityOf(desired)
	b, okB := quantityOf(observed)
	return okA && okB && a.Cmp(b) == 0
}

// SameTime reports whether two values are the same instant, as texts in the format of RFC 3339 in any time zone. It is
// for the option Equal. A value is a string as JSON. If one of them is not a time, it returns false.
func SameTime(desired, observed string) bool {
	a, errA := time.Parse(time.RFC3339, stringOf(desired))
	b, errB := time.Parse(time.RFC3339, stringOf(observed))
	return errA == nil && errB == nil && a.Equal(b)
}

// SameDuration reports whether two values are equal durations of Go, such as "24h" and "1440m". It is for the option
// Equal. A value is a string as JSON. If one of them is not a duration, it returns false.
func SameDuration(desired, observed string) bool {
	a, errA := time.ParseDuration(stringOf(desired))
	b, errB := time.ParseDuration(stringOf(observed))
	return errA == nil && errB == nil && a == b
}

// quantityOf returns the quantity in a value.
func quantityOf(value string) (resource.Quantity, bool) {
	s := stringOf(value)
	if s == "" {
		s = value
	}
	if !quantity.MatchString(s) {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(s)
	return q, err == nil
}

// stringOf returns the text of a string as JSON, or "" if it is something else.
func stringOf(value string) string {
	var out string
	if err := json.Unmarshal([]byte(value), &out); err != nil {
		return ""
	}
	return out
}

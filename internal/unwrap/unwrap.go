// Package unwrap finds what a client can do beyond what it must, also if another one
// wraps it.
package unwrap

// As returns a client as a T, or the first that is one among those that it wraps, which
// a method Unwrap() any returns. It is what errors.As is for errors.
func As[T any](client any) (T, bool) {
	for {
		if is, ok := client.(T); ok {
			return is, true
		}
		wrapper, ok := client.(interface{ Unwrap() any })
		if !ok {
			var none T

			return none, false
		}
		client = wrapper.Unwrap()
	}
}

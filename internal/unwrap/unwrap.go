// Package unwrap finds the optional interfaces that a client implements, also if another client wraps it.
package unwrap

// As returns the client as a T. If the client is not a T, As calls its method Unwrap() any and examines the wrapped
// client. It returns false if no wrapped client is a T. It corresponds to errors.As.
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

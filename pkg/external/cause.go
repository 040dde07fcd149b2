package external

// SharedCause returns the text of the error to which Unauthorized, Unavailable or Throttled was applied, without the
// text of later wrapping. If err has none of these marks, ok is false. The text may contain secrets.
//
// The reconciler reports the text once per connection. So mark an error whose text is about the system and names no
// resource. The text is then the same for all objects.
func SharedCause(err error) (text string, ok bool) {
	if u, ok := find[*unauthorized](err); ok {
		return u.err.Error(), true
	}
	if u, ok := find[*unavailable](err); ok {
		return u.err.Error(), true
	}
	if t, ok := find[*throttled](err); ok {
		return t.err.Error(), true
	}

	return "", false
}

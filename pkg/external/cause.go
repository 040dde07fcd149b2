package external

// SharedCause returns the text of what Unauthorized, Unavailable or Throttled
// marked in err, without the text of later wrapping, and whether there is such a mark. Mark
// an error that is about the system and does not name a resource: then the text is the same
// for all objects, and is reported once per connection. It may contain secrets.
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

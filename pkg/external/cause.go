package external

// SharedCause returns the text of what Unauthorized, Unavailable or Throttled
// marked in err, without what was wrapped round it since, and whether they marked
// anything. Put the mark where only the system is spoken of, not the one resource
// that was asked for: then the text is the same whoever asked, and can be told once
// for all who share the connection. It may hold secrets.
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

package redact

import (
	"strings"
	"unicode"
)

// withoutBlocks removes PEM blocks and similar blocks, such as the parts of a NATS credentials file. A block without
// an end reaches to the end of the text.
func withoutBlocks(s string) string {
	const begin, end, dashes = "-----BEGIN ", "-----END ", "-----"

	var b strings.Builder

	for {
		i := strings.Index(s, begin)
		if i < 0 {
			b.WriteString(s)

			return b.String()
		}

		b.WriteString(strings.TrimRight(s[:i], "-"))
		b.WriteString(mark)

		label, rest, ok := strings.Cut(s[i+len(begin):], dashes)
		if !ok {
			return b.String()
		}

		// The end must be that of the same block, or what follows a block
		// inside this one would be left.
		_, s, ok = strings.Cut(rest, end+label+dashes)
		if !ok {
			return b.String()
		}

		s = strings.TrimLeft(s, "-")
	}
}

// withoutUserinfo removes user, password and token from URLs of any scheme. If open is true, s was truncated, and the
// @ after the userinfo may be missing.
func withoutUserinfo(s string, open bool) string {
	const scheme = "://"

	var b strings.Builder

	for {
		before, rest, ok := strings.Cut(s, scheme)
		b.WriteString(before)

		if !ok {
			return b.String()
		}

		b.WriteString(scheme)

		url := rest
		if i := strings.Index(url, scheme); i >= 0 {
			url = url[:i]
		}

		if i := strings.IndexFunc(url, unicode.IsSpace); i >= 0 {
			url = url[:i]
		}

		n := userinfoLen(url, open && len(url) == len(rest))
		if n > 0 {
			b.WriteString(mark)
		}

		s = rest[n:]
	}
}

// userinfoLen returns the length of the userinfo at the beginning of url, which lacks its scheme. A password may
// contain characters that end the authority of a correct URL, because the text is often an error about such a URL.
func userinfoLen(url string, open bool) int {
	authority := url
	if i := strings.IndexAny(url, "/?#"); i >= 0 {
		authority = url[:i]
	}

	_, port, ok := strings.Cut(authority, ":")
	noPort := ok && !strings.HasPrefix(authority, "[") && strings.Trim(port, "0123456789") != ""
	at := strings.LastIndexByte(url, '@')

	switch {
	case strings.Contains(authority, "@"), noPort && at >= 0:
		return at
	case open && at < 0 && (noPort || authority == url):
		return len(url)
	default:
		return 0
	}
}

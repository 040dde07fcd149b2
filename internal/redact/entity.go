package redact

// entities are the names of characters that HTML and XML escape.
var entities = map[string]rune{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\'', "nbsp": junk}

const (
	// longestEntity is how many characters the name or the number of an entity has at most.
	longestEntity = 8

	// tooGreat is more than the number of any character.
	tooGreat = 1 << 24
)

// entity reads the name or number of an HTML entity, and the semicolon after it, at s[i]. The ampersand is before
// s[i].
func entity(s string, i int, fold folding) (r rune, next int, ok bool) {
	var name [longestEntity]byte

	for n := 0; ; n++ {
		if i = unfolded(s, i, fold); i >= len(s) {
			return 0, i, false
		}

		c, after := plain(s, i, fold)

		switch {
		case c == ';':
			r, ok = named(name[:n])

			return r, after, ok
		case n == len(name) || c != '#' && !wordLetters[c]:
			return 0, i, false
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}

		name[n] = c
		i = after
	}
}

// named returns the character of an entity.
func named(name []byte) (rune, bool) {
	if len(name) < 2 || name[0] != '#' {
		r, known := entities[string(name)]

		return r, known
	}

	number, base := name[1:], rune(10)
	if number[0] == 'x' && len(number) > 1 {
		number, base = number[1:], 16
	}

	r := rune(0)

	for _, c := range number {
		d := digit(c)
		if d < 0 || d >= base {
			return 0, false
		}

		r = min(r*base+d, tooGreat)
	}

	if r == '&' || r == '\\' {
		return r, true
	}

	return canonical(r), true
}

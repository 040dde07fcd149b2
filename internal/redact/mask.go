package redact

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Mask removes known secrets from texts. It finds a secret anywhere in a text, in these forms:
//
//   - verbatim, in upper case or in lower case;
//   - escaped for a URL, for HTML, or as a JSON or Go string (also with octal escapes), once or several times;
//   - with doubled quotes, or escaped for a shell;
//   - in base64, alone or within a longer text, also twice, or in base64 that is escaped for JSON or a URL;
//   - as hexadecimal digits, also with spaces or colons between them, or as decimal or hexadecimal numbers;
//   - broken by spaces, by line ends or by continuations of lines;
//   - truncated at the end of the text, if at least eight characters of it are left.
//
// Parts of a secret are secrets, too: a line of at least 16 characters, and the password in a URL or in a document of
// keys and values. If a secret is a JSON document, all its values are secrets. The exceptions are values whose key or
// form shows that they are not secret, such as a host name.
//
// Secrets of less than six characters are not masked, because they would be found in any text. A nil Mask and the
// zero value have no secrets. A Mask may be used concurrently. It does not show its secrets when it is printed. It is
// prepared when it masks the first text, so a mask that is not used costs nothing.
type Mask struct {
	secrets []string
	once    sync.Once
	all     []string // the secrets, and those within them
	plain   []string
	sets    [foldings]lazySet

	cache   *Cache // nil: none
	hashing sync.Once
	hash    digest // of the secrets
}

// NewMask returns a mask of the secrets, which it copies. It ignores white space around a secret.
func NewMask(secrets ...[]byte) *Mask {
	m := &Mask{}
	for _, s := range secrets {
		if len(s) >= minSecret {
			m.secrets = append(m.secrets, string(s))
		}
	}

	return m
}

// WithCache makes [Mask.String] and [Mask.Error] use a cache, and returns the mask. Call it before the mask is shared.
// Without a cache each text is redacted again.
func (m *Mask) WithCache(c *Cache) *Mask {
	m.cache = c

	return m
}

// String returns s without the secrets of the mask, redacted further by the function String of this package. That
// function removes secrets that it finds by their place or shape, and limits the length.
func (m *Mask) String(s string) string {
	if m == nil || m.cache == nil {
		return m.Long(s, MaxLen)
	}
	m.hashing.Do(func() { m.hash = digestOf(digest{}, m.secrets...) })

	return m.cache.get(keyOf(m.hash, s), func() string { return m.Long(s, MaxLen) })
}

// Long does the same as [Mask.String], with another maximum length in bytes. The argument limit must be at least 64.
func (m *Mask) Long(s string, limit int) string {
	if m.empty() {
		return Long(s, limit)
	}

	// Text behind the window is neither read nor shown. A secret across its end is
	// masked, however little of it is left.
	seen := s[:min(len(s), windows*limit)]
	masked := m.masked(seen, len(seen) < len(s))

	return long(masked, limit, len(seen) < len(s))
}

// Text returns s without the secrets of the mask. It does not limit the length, and does not remove other secrets.
func (m *Mask) Text(s string) string {
	if m.empty() {
		return s
	}

	return m.masked(s, false)
}

// Error returns an error with the text of err, redacted by [Mask.String]. It is otherwise like the function Error of
// this package.
func (m *Mask) Error(err error) error {
	r, done := err.(*redacted) //nolint:errorlint // Only what is redacted as a whole needs no more of it.
	if err == nil || m == nil || done && m.empty() {
		return Error(err)
	}

	text := m.String(err.Error())
	if done && r.text == text {
		return r
	}

	return &redacted{
		text: text,
		is:   func(target error) bool { return errors.Is(err, target) },
		as:   func(target any) bool { return errors.As(err, target) },
	}
}

// Format prints a mask without its secrets, for every verb.
func (m *Mask) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, mark) // Format has no result: an error of the writer cannot be returned.
}

func (m *Mask) empty() bool { return m == nil || len(m.secrets) == 0 }

func (m *Mask) masked(s string, cut bool) string {
	m.once.Do(m.prepare)

	for _, l := range m.plain {
		s = strings.ReplaceAll(s, l, mark)
	}

	for fold := range foldings {
		// Without escapes, no escape can be broken.
		if fold == foldBetween || strings.ContainsAny(s, `%\&`) && strings.ContainsAny(s, spaces) {
			s = m.set(fold).masked(s, cut)
		}
	}

	return s
}

func (m *Mask) prepare() {
	m.all = m.secrets
	for _, s := range m.secrets {
		m.all = append(m.all[:len(m.all):len(m.all)], inner(s)...)
	}

	for _, s := range m.all {
		m.plain = append(m.plain, literals(s)...)
	}
}

// A lazySet is made when the first text needs it.
type lazySet struct {
	once sync.Once
	set  *patternSet
}

func (m *Mask) set(fold folding) *patternSet {
	lazy := &m.sets[fold]
	lazy.once.Do(func() {
		lazy.set = &patternSet{fold: fold, other: map[rune][]*pattern{}}
		for _, s := range m.all {
			for _, n := range patterns(s, fold) {
				lazy.set.add(&n)
			}
		}
	})

	return lazy.set
}

// A patternSet finds patterns by their first characters.
type patternSet struct {
	fold  folding
	ascii [utf8.RuneSelf][]*pattern
	other map[rune][]*pattern
}

func (n *patternSet) add(one *pattern) {
	if first := one.runes[0]; first < utf8.RuneSelf {
		n.ascii[first] = append(n.ascii[first], one)
	} else {
		n.other[first] = append(n.other[first], one)
	}
}

func (n *patternSet) beginning(r rune) []*pattern {
	switch {
	case r == junk:
		return nil
	case r < utf8.RuneSelf:
		return n.ascii[r]
	default:
		return n.other[r]
	}
}

// readBudget is how many bytes may be read, some of them repeatedly, for one text. A text
// that costs more is masked from there on.
const readBudget = 2 << 20

// masked returns s with the mark in place of every pattern. If cut is true, s was truncated, and an incomplete
// pattern at its end is masked too, even if little of it is left.
func (n *patternSet) masked(s string, cut bool) string {
	var b strings.Builder

	kept := 0        // What is before is in b.
	gap, end := 0, 0 // The junk before i, if it reaches there.
	left := readBudget + len(s)

	for i := 0; i < len(s); {
		if strings.HasPrefix(s[i:], mark) && n.longest(s, i, cut, &left).end < i+len(mark) {
			i += len(mark)

			continue
		}

		r, next := scan(s, i, n.fold)
		left -= next - i

		if r == junk && !isSpace(s[i]) {
			if i > end {
				gap = i
			}

			end = max(end, next)
		}

		f := n.longest(s, i, cut, &left)
		if left <= 0 {
			f = finding{pattern: &pattern{}, end: len(s)}
		}

		if f.end == 0 {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size

			continue
		}

		from, to := f.extent(s, i)
		if f.lead && end >= i {
			from = min(from, gap)
		}

		b.WriteString(s[kept:max(kept, from)])
		b.WriteString(mark)

		i, kept = to, to
	}

	if kept == 0 {
		return s
	}

	b.WriteString(s[kept:])

	return b.String()
}

// A finding is a pattern that was found, and the index of its end. The zero value means that none was found.
type finding struct {
	*pattern
	end  int
	fold folding
}

// longest returns the longest pattern at s[i].
func (n *patternSet) longest(s string, i int, cut bool, left *int) finding {
	best := finding{fold: n.fold}

	first, _ := scan(s, i, n.fold)
	for _, one := range n.beginning(first) {
		if end := one.match(s, i, n.fold, cut, left); end > best.end {
			best.pattern, best.end = one, end
		}
	}

	return best
}

// minPrefix is how many characters of a secret suffice at the end of a truncated text.
const minPrefix = 8

// maxEscape exceeds the number of characters of an incomplete escape.
const maxEscape = 16

// match returns where the pattern ends that begins at s[i], or 0.
func (n *pattern) match(s string, i int, fold folding, cut bool, left *int) int {
	k, last := 0, i // The characters that were found, and where the last one ends.

	for k < len(n.runes) && i < len(s) {
		r, next := scan(s, i, fold)
		*left -= next - i

		if *left <= 0 || r != junk && r != n.runes[k] {
			break
		}

		if i = next; r != junk {
			k, last = k+1, i
		}
	}

	switch {
	case k == len(n.runes):
		return last
	case cut && isHalf(s[last:]):
		return len(s)
	case k < minPrefix:
		return 0
	}

	if m := ending.FindStringSubmatchIndex(s[last:]); m != nil {
		return last + m[3]
	}

	return 0
}

// isHalf reports whether s is empty or an incomplete escape, without leading spaces.
func isHalf(s string) bool {
	s = strings.TrimLeft(s, spaces)

	return len(s) <= maxEscape && half.FindString(s) == s
}

// ending matches the text at the place where a text was truncated. That is the rest of an escape, and then either
// dots or closing punctuation.
var ending = regexp.MustCompile("^((?:%[0-9A-Fa-f]?|&(?:#[0-9A-Fa-fxX]{0,7}|[A-Za-z]{0,4})|" +
	"\\\\+(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?|[0-3][0-7]?)?)?)(?:\\.\\.\\.|…|[\\s\"'`)\\]}>.,;:!\\\\]*$)")

// extent returns the range to mask for a pattern found at s[i]: with the bits of the
// secret around it, and the characters that scan ignores.
func (f finding) extent(s string, i int) (from, to int) {
	from, to = i, f.end

	if f.packed {
		if from > 0 && isPacked(s[from-1]) {
			from--
		}

		if to < len(s) && isPacked(s[to]) {
			to++
		}

		for to < len(s) && s[to] == '=' {
			to++
		}
	}

	if strings.HasPrefix(s[to:], f.tail) {
		to += len(f.tail)
	}

	for f.trail && to < len(s) && !isSpace(s[to]) {
		r, next := scan(s, to, f.fold)
		if r != junk {
			break
		}

		to = next
	}

	return from, to
}

const spaces = " \t\r\n"

func isSpace(c byte) bool { return strings.IndexByte(spaces, c) >= 0 }

func isPacked(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+/-_", c) >= 0
}

package difference

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"unicode"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
)

const (
	// MaxFields is how many differences Clean returns.
	MaxFields = 64

	// MaxLength is the maximum length of a path or value, in bytes. A text that was shortened ends with
	// "... (truncated)".
	MaxLength = 256

	// window is how much of a text is read. It exceeds MaxLength, so that a secret is found that begins before it.
	window = 8 * MaxLength

	// pathWindow is how much of a path is read. The values of a difference with a longer path are not read.
	pathWindow = 2 * MaxLength

	// longPath is how much is shown of a path that is longer than pathWindow. A mask reads eight times as much.
	longPath = pathWindow / 8

	// maxRead bounds how much of long values is read in total. It is enough for both values of 16 differences, which is
	// how many a status shows.
	maxRead = 16 * 2 * window

	// unread stands for a value that is not read.
	unread = "... (truncated)"
)

// A Masker removes known secrets from texts.
type Masker interface {
	// Long returns s without the known secrets, and without what looks like a secret, as valid UTF-8 of at most limit
	// bytes.
	Long(s string, limit int) string
}

// Clean prepares differences for texts that people read. The result is redacted, sorted by path, and limited to
// MaxFields differences; more is the number of the others. Clean does not change the list. A second Clean with the same
// mask changes nothing.
//
// If a path occurs several times, Clean keeps one difference for it. The kept difference is sensitive or immutable if
// one of the differences is. A difference is also sensitive if the path has the name of a secret, such as password or
// clientSecret. Clean empties Desired and Observed of a sensitive difference.
//
// In paths and values, Clean masks the secrets that the mask knows, and texts that have the form of a secret. Line ends
// and tabs become spaces. Other control characters, characters that cannot be printed and invalid UTF-8 are replaced by
// U+FFFD. An empty path becomes ".". The mask may be nil.
//
// Clean shows what it finds in at most 128 KiB of paths and values, however long the list and its texts are. In a list
// with more long values than that, the last ones are "... (truncated)". A path of more than 512 bytes is limited to 64.
func Clean(list []commonv1.Difference, mask Masker) (fields []commonv1.Difference, more int) {
	return cleaned(list, mask, MaxFields)
}

// cleaned does what Clean does, with another maximum.
func cleaned(list []commonv1.Difference, mask Masker, limit int) (fields []commonv1.Difference, more int) {
	if mask == nil {
		mask = (*redact.Mask)(nil)
	}
	fields, paths := smallest(list, limit)
	r := &reader{mask: mask, left: maxRead}
	for i, d := range fields {
		r.beyond = i >= MaxFields
		fields[i] = r.cleaned(d)
	}
	// Paths that differed may now be equal, and have another order.
	fields = merged(fields)
	return fields, paths - len(fields)
}

// smallest returns the differences with the smallest paths, at most limit, sorted by path, with one difference for each
// path. It also returns the number of different paths in the list. Texts are compared within what is read of them.
func smallest(list []commonv1.Difference, limit int) (out []commonv1.Difference, paths int) {
	if len(list) <= limit {
		out = merged(list)
		return out, len(out)
	}
	var (
		seed  = maphash.MakeSeed()
		known = make(map[uint64]struct{}, len(list))
		kept  = make([]commonv1.Difference, 0, limit)
		order = make([]int, 0, limit) // positions in kept, sorted by path: moving these is cheaper
	)
	byPath := func(i int, path string) int { return strings.Compare(pathHead(kept[i]), path) }
	for _, d := range list {
		path := pathHead(d)
		at, exists := slices.BinarySearchFunc(order, path, byPath)
		if exists {
			kept[order[at]] = union(kept[order[at]], d)
			continue
		}
		known[maphash.String(seed, path)] = struct{}{}
		switch {
		case at == limit:
		case len(kept) < limit:
			kept = append(kept, bounded(d))
			order = slices.Insert(order, at, len(kept)-1)
		default:
			largest := order[limit-1]
			copy(order[at+1:], order[at:])
			kept[largest], order[at] = bounded(d), largest
		}
	}
	for _, i := range order {
		out = append(out, kept[i])
	}
	return out, len(known)
}

// merged returns differences sorted by path, with one difference for each path.
func merged(list []commonv1.Difference) []commonv1.Difference {
	if len(list) == 0 {
		return nil
	}
	sorted := slices.Clone(list)
	for i, d := range sorted {
		sorted[i] = bounded(d)
	}
	slices.SortFunc(sorted, func(a, b commonv1.Difference) int { return strings.Compare(pathHead(a), pathHead(b)) })
	out := sorted[:1]
	for _, d := range sorted[1:] {
		if last := &out[len(out)-1]; pathHead(d) == pathHead(*last) {
			*last = union(*last, d)
		} else {
			out = append(out, d)
		}
	}
	return out
}

// pathHead returns what is read of a path.
func pathHead(d commonv1.Difference) string { return d.Path[:min(len(d.Path), pathWindow)] }

// bounded returns a difference without values if its path is longer than what is read of it, because a name behind that
// could be the name of a secret.
func bounded(d commonv1.Difference) commonv1.Difference {
	if len(d.Path) > pathWindow {
		d.Sensitive, d.Desired, d.Observed = true, "", ""
	}
	return d
}

// union returns the difference for a path that occurs twice. It does not depend on the order of the two, whose paths
// are equal within what is read of them.
func union(a, b commonv1.Difference) commonv1.Difference {
	a, b = bounded(a), bounded(b)
	out := a
	if cmp.Or(
		cmp.Compare(min(len(a.Path), pathWindow+1), min(len(b.Path), pathWindow+1)),
		strings.Compare(head(a.Desired), head(b.Desired)), strings.Compare(head(a.Observed), head(b.Observed)),
	) > 0 {
		out = b
	}
	out.Immutable = a.Immutable || b.Immutable
	if out.Sensitive = a.Sensitive || b.Sensitive; out.Sensitive {
		out.Desired, out.Observed = "", ""
	}
	return out
}

// head returns what is read of a text.
func head(s string) string { return s[:min(len(s), window)] }

// A reader reads texts, and removes what must not be shown.
type reader struct {
	mask   Masker
	left   int  // how many bytes of long values may still be read
	beyond bool // short values count as long ones, because Clean would drop the difference
}

// cleaned returns one difference without secrets, and bounded.
func (r *reader) cleaned(d commonv1.Difference) commonv1.Difference {
	d.Sensitive = d.Sensitive || hasSecretName(d.Path)
	limit := MaxLength
	if len(d.Path) > pathWindow {
		limit = longPath
	}
	if d.Path = r.text(d.Path, limit); d.Path == "" {
		d.Path = "."
	}
	if d.Sensitive {
		d.Desired, d.Observed = "", ""
		return d
	}
	d.Desired, d.Observed = r.value(d.Desired), r.value(d.Observed)
	return d
}

// value returns a value as text does. A long one is read only while there are bytes left.
func (r *reader) value(s string) string {
	if r.beyond || len(s) > MaxLength {
		if r.left -= min(len(s), window); r.left < 0 {
			return unread
		}
	}
	return r.text(s, MaxLength)
}

// text returns a text without secrets, on one line, and bounded.
func (r *reader) text(s string, limit int) string {
	if s == "" {
		return ""
	}
	s = r.mask.Long(s, limit)
	line := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	if line == s {
		return s
	}
	// On one line, a key can stand before another value, and the replacement is longer than some characters.
	return r.mask.Long(line, limit)
}

// hasSecretName reports whether a path has the name of a secret. The path may have any form.
func hasSecretName(path string) bool {
	if steps, err := parsePath(path); err == nil {
		if slices.ContainsFunc(steps, func(s step) bool { return redact.IsSecretKey(s.name) }) {
			return true
		}
	}
	names := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(`.[]"'`, r) })
	return slices.ContainsFunc(names, redact.IsSecretKey)
}

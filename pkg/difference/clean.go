package difference

import (
	"cmp"
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
func Clean(list []commonv1.Difference, mask Masker) (fields []commonv1.Difference, more int) {
	return cleaned(list, mask, MaxFields)
}

// cleaned does what Clean does, with another maximum.
func cleaned(list []commonv1.Difference, mask Masker, limit int) (fields []commonv1.Difference, more int) {
	if mask == nil {
		mask = (*redact.Mask)(nil)
	}
	sorted := merged(list)
	for _, d := range sorted[:min(len(sorted), limit)] {
		fields = append(fields, cleanedOne(d, mask))
	}
	// Paths that differed may now be equal, and have another order.
	fields = merged(fields)
	return fields, len(sorted) - len(fields)
}

// merged returns differences sorted by path, with one difference for each path. Paths are compared within the window.
func merged(list []commonv1.Difference) []commonv1.Difference {
	if len(list) == 0 {
		return nil
	}
	sorted := slices.Clone(list)
	for i := range sorted {
		if d := &sorted[i]; len(d.Path) > window {
			// A name behind the window could be that of a secret.
			d.Path, d.Sensitive = d.Path[:window], true
		}
	}
	slices.SortFunc(sorted, func(a, b commonv1.Difference) int {
		if n := strings.Compare(a.Path, b.Path); n != 0 {
			return n
		}
		return cmp.Or(strings.Compare(a.Desired, b.Desired), strings.Compare(a.Observed, b.Observed))
	})
	out := sorted[:1]
	for _, d := range sorted[1:] {
		last := &out[len(out)-1]
		if d.Path != last.Path {
			out = append(out, d)
			continue
		}
		last.Immutable = last.Immutable || d.Immutable
		if last.Sensitive = last.Sensitive || d.Sensitive; last.Sensitive {
			last.Desired, last.Observed = "", ""
		}
	}
	return out
}

// cleanedOne returns one difference without secrets, and bounded.
func cleanedOne(d commonv1.Difference, mask Masker) commonv1.Difference {
	d.Sensitive = d.Sensitive || hasSecretName(d.Path)
	if d.Path = text(d.Path, mask); d.Path == "" {
		d.Path = "."
	}
	if d.Sensitive {
		d.Desired, d.Observed = "", ""
		return d
	}
	d.Desired, d.Observed = text(d.Desired, mask), text(d.Observed, mask)
	return d
}

// text returns a path or value without secrets, on one line, and bounded.
func text(s string, mask Masker) string {
	if s == "" {
		return ""
	}
	s = mask.Long(s, MaxLength)
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
	return mask.Long(line, MaxLength)
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

package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// minSecret is how many characters a secret must have, and minPattern how
	// many of them must be certain in a form of it, to be searched for. Shorter
	// ones would be found in every text.
	minSecret  = 6
	minPattern = 4

	// minLine is how long a line of a secret with several lines must be to be
	// searched for by itself.
	minLine = 16
)

// A pattern is one form of a secret, as the characters that scan returns.
type pattern struct {
	runes []rune

	// tail ends the secret, but depends on what follows: half an escape.
	tail string

	// lead and trail are set if the secret begins or ends with junk.
	lead, trail bool

	// packed forms share the characters before and after with other bytes.
	packed bool
}

// half matches a truncated escape at the end.
var half = regexp.MustCompile(`(?:%(?:25)*[0-9A-Fa-f]?|\\+(?:[uU][0-9A-Fa-f]{0,7}|x[0-9A-Fa-f]?|[0-3][0-7]?)?` +
	`|(?:&|%(?:25)*26|\\+(?:[uU](?:0000)?0026|x26))(?:(?i:amp);)*` +
	`(?i:#(?:[0-9]{0,7}|x[0-9a-f]{0,6})|l|lt|g|gt|a|am|amp|ap|apo|apos|q|qu|quo|quot|n|nb|nbs|nbsp)?)$`)

// patterns returns all forms of a secret that are searched for. It is nil if the
// secret is too short.
func patterns(secret string, fold folding) []pattern {
	secret = strings.TrimSpace(secret)
	if len(secret) < minSecret {
		return nil
	}

	forms := []pattern{rawPattern(secret, fold)}
	if strings.ContainsAny(secret, `\%`) { // A capital letter behind a backslash escapes nothing.
		forms = append(forms, rawPattern(strings.ToUpper(secret), fold), rawPattern(strings.ToLower(secret), fold))
	}

	if strings.ContainsAny(secret, `\%&`) {
		forms = append(forms, barePattern(secret))
	}

	for _, s := range quotings(secret) {
		forms = append(forms, rawPattern(s, fold))
	}

	add := func(form string, packed bool) {
		forms = append(forms, pattern{runes: runesOf(form, fold), packed: packed})
	}

	for _, s := range packings(secret) {
		add(s, true)
	}

	for _, s := range listings(secret) {
		add(s, false)
	}

	for line := range strings.Lines(secret) {
		line = strings.TrimSpace(line)
		if len(line) >= minLine && line != secret && !strings.HasPrefix(line, "-----") {
			forms = append(forms, rawPattern(line, fold))
		}
	}

	return distinct(forms)
}

func rawPattern(secret string, fold folding) pattern {
	tail := half.FindString(secret)
	n := pattern{runes: runesOf(strings.TrimSuffix(secret, tail), fold), tail: tail}

	if first, _ := scan(secret, 0, fold); first == junk {
		n.lead = true
	}

	n.trail = tail != "" || runesOf(secret[len(secret)-1:], fold) == nil

	return n
}

// barePattern is the form of a secret with what looks like escapes, where each character has
// an escape of its own, so that scan reads it as it is.
func barePattern(secret string) pattern {
	n := pattern{}

	for _, r := range secret {
		r = canonical(r)
		n.trail = r == junk

		switch {
		case !n.trail:
			n.runes = append(n.runes, r)
		case len(n.runes) == 0:
			n.lead = true
		}
	}

	return n
}

// runesOf returns the characters that scan returns for s, without junk.
func runesOf(s string, fold folding) []rune {
	var rs []rune

	for i := 0; i < len(s); {
		r, next := scan(s, i, fold)
		if r != junk {
			rs = append(rs, r)
		}

		i = next
	}

	return rs
}

// quotings returns the secret with its quotes as they stand between such quotes: doubled in
// SQL and CSV, and around another in a shell. The backslash there is junk.
func quotings(secret string) []string {
	var all []string

	for _, quote := range []string{"'", `"`, "`"} {
		if strings.Contains(secret, quote) {
			all = append(all, strings.ReplaceAll(secret, quote, quote+quote))
		}
	}

	if strings.Contains(secret, "'") {
		all = append(all, strings.ReplaceAll(secret, "'", `'\''`))
	}

	return all
}

// packings returns what is certain of the secret in a base64 text, wherever in
// it the secret begins. Such a text can be packed again: a Secret has the
// credentials of a registry, which has user and password.
func packings(secret string) []string {
	var all []string

	once := packed(secret, base64.RawStdEncoding)
	for _, s := range once {
		all = append(all, packed(s, base64.RawStdEncoding)...)
	}

	all = append(all, once...)
	all = append(all, packed(secret, base64.RawURLEncoding)...)

	if escaped := inJSON(secret); escaped != secret {
		all = append(all, packed(escaped, base64.RawStdEncoding)...)
		all = append(all, packed(escaped, base64.RawURLEncoding)...)
	}

	// OAuth packs the id and the secret of a client so.
	if escaped := url.QueryEscape(secret); escaped != secret {
		all = append(all, packed(escaped, base64.RawStdEncoding)...)
	}

	return all
}

// packed encodes the secret behind none, one and two bytes, and returns the
// characters without bits of something else.
func packed(secret string, enc *base64.Encoding) []string {
	var all []string

	for before := range 3 {
		s := enc.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))

		// One byte reaches into the second character, two into the third.
		if before > 0 {
			s = s[before+1:]
		}

		if (before+len(secret))%3 > 0 {
			s = s[:len(s)-1]
		}

		all = append(all, s)
	}

	return all
}

// listings returns the forms of the bytes of a secret as numbers, without spaces.
func listings(secret string) []string {
	var decimal, plain, literal, colons strings.Builder

	for i := range len(secret) {
		n := strconv.Itoa(int(secret[i]))
		decimal.WriteString(n)

		if i > 0 {
			plain.WriteByte(',')
			literal.WriteByte(',')
			colons.WriteByte(':')
		}

		plain.WriteString(n)
		literal.WriteString("0x" + strconv.FormatInt(int64(secret[i]), 16))
		colons.WriteString(hex.EncodeToString([]byte{secret[i]}))
	}

	lower := hex.EncodeToString([]byte(secret))

	return []string{lower, strings.ToUpper(lower), decimal.String(), plain.String(), literal.String(),
		colons.String(), strings.ToUpper(colons.String())}
}

// inJSON returns the secret as it stands between the quotes of a JSON string.
func inJSON(secret string) string {
	b, err := json.Marshal(secret)
	if err != nil {
		return secret
	}

	return unquoted(string(b))
}

// literals returns the forms of a secret of which too few characters remain without
// junk, the longest first. They are searched for verbatim.
func literals(secret string) []string {
	secret = strings.TrimSpace(secret)
	if len(secret) < minSecret || len(rawPattern(secret, foldBetween).runes) >= minPattern {
		return nil
	}

	escapes := []func(string) string{
		url.QueryEscape, url.PathEscape, inJSON,
		func(s string) string { return unquoted(strconv.Quote(s)) },
		func(s string) string { return unquoted(strconv.QuoteToASCII(s)) },
		html.EscapeString,
	}

	all := []string{secret, strings.ToUpper(secret), strings.ToLower(secret)}

	// Escaped texts are often escaped again.
	for range 2 {
		for _, s := range slices.Clone(all) {
			for _, escape := range escapes {
				all = append(all, escape(s))
			}
		}
	}

	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })

	return slices.Compact(all)
}

func unquoted(s string) string { return s[1 : len(s)-1] }

// distinct drops patterns that are too short, and duplicates.
func distinct(forms []pattern) []pattern {
	var kept []pattern

	seen := map[string]bool{}
	for _, f := range forms {
		key := string(f.runes) + "\x00" + f.tail
		if len(f.runes) < minPattern || seen[key] {
			continue
		}

		seen[key] = true
		kept = append(kept, f)
	}

	return kept
}

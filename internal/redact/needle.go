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
	// minSecret is how many characters a secret must have, and minNeedle how
	// many of them must be certain in a form of it, to be searched for. Shorter
	// ones would be found in every text.
	minSecret = 6
	minNeedle = 4

	// minLine is how long a line of a secret with several lines must be to be
	// searched for by itself.
	minLine = 16
)

// A needle is one form of a secret, as the characters that unit reads.
type needle struct {
	runes []rune

	// tail ends the secret, but depends on what follows: half an escape.
	tail string

	// lead and trail say that the secret has junk there.
	lead, trail bool

	// packed forms have bits of the secret in the character before and behind.
	packed bool
}

// half finds the beginning of an escape that was cut.
var half = regexp.MustCompile(`(?:%(?:25)*[0-9A-Fa-f]?|\\+(?:[uU][0-9A-Fa-f]{0,7}|x[0-9A-Fa-f]?|[0-3][0-7]?)?` +
	`|(?:&|%(?:25)*26|\\+(?:[uU](?:0000)?0026|x26))(?:(?i:amp);)*` +
	`(?i:#(?:[0-9]{0,7}|x[0-9a-f]{0,6})|l|lt|g|gt|a|am|amp|ap|apo|apos|q|qu|quo|quot|n|nb|nbs|nbsp)?)$`)

// needles returns all forms of a secret that are searched for. It is nil if the
// secret is too short.
func needles(secret string, fold folding) []needle {
	secret = strings.TrimSpace(secret)
	if len(secret) < minSecret {
		return nil
	}

	forms := []needle{rawNeedle(secret, fold)}
	if strings.ContainsAny(secret, `\%`) { // A capital letter behind a backslash escapes nothing.
		forms = append(forms, rawNeedle(strings.ToUpper(secret), fold), rawNeedle(strings.ToLower(secret), fold))
	}

	if strings.ContainsAny(secret, `\%&`) {
		forms = append(forms, bareNeedle(secret))
	}

	for _, s := range quotings(secret) {
		forms = append(forms, rawNeedle(s, fold))
	}

	add := func(form string, packed bool) {
		forms = append(forms, needle{runes: runesOf(form, fold), packed: packed})
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
			forms = append(forms, rawNeedle(line, fold))
		}
	}

	return distinct(forms)
}

func rawNeedle(secret string, fold folding) needle {
	tail := half.FindString(secret)
	n := needle{runes: runesOf(strings.TrimSuffix(secret, tail), fold), tail: tail}

	if first, _ := unit(secret, 0, fold); first == junk {
		n.lead = true
	}

	n.trail = tail != "" || runesOf(secret[len(secret)-1:], fold) == nil

	return n
}

// bareNeedle is the form of a secret with what looks like escapes, where each character has
// an escape of its own, so that unit reads it as it is.
func bareNeedle(secret string) needle {
	n := needle{}

	for _, r := range secret {
		r = telling(r)
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

// runesOf returns what unit reads in s, without junk.
func runesOf(s string, fold folding) []rune {
	var rs []rune

	for i := 0; i < len(s); {
		r, next := unit(s, i, fold)
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

// listings returns the ways to print the bytes of a secret as numbers, without
// the spaces in them.
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

// literals returns the forms of a secret of which unit leaves too little, the
// longest first. They are searched for as they are.
func literals(secret string) []string {
	secret = strings.TrimSpace(secret)
	if len(secret) < minSecret || len(rawNeedle(secret, foldBetween).runes) >= minNeedle {
		return nil
	}

	escapes := []func(string) string{
		url.QueryEscape, url.PathEscape, inJSON,
		func(s string) string { return unquoted(strconv.Quote(s)) },
		func(s string) string { return unquoted(strconv.QuoteToASCII(s)) },
		html.EscapeString,
	}

	all := []string{secret, strings.ToUpper(secret), strings.ToLower(secret)}

	// What is escaped is often escaped again.
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

// distinct drops what is too short, and what is there already.
func distinct(forms []needle) []needle {
	var kept []needle

	seen := map[string]bool{}
	for _, f := range forms {
		key := string(f.runes) + "\x00" + f.tail
		if len(f.runes) < minNeedle || seen[key] {
			continue
		}

		seen[key] = true
		kept = append(kept, f)
	}

	return kept
}

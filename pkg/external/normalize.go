package external

import (
	"regexp"
	"strings"
)

// maxNormalized is how much of a text is read: the maximum of a condition.
const maxNormalized = 32 << 10

// A rule replaces parts that differ from one failure to the next.
type rule struct {
	needs   traits // of a text, or the pattern matches nothing in it
	pattern *regexp.Regexp
	with    string
}

// traits of a text are found in a fraction of the time of a regular expression.
type traits uint8

const (
	hasDigit traits = 1 << iota
	hasColon
	hasDash
	hasX
	hasID // in whatever case
)

func traitsOf(text string) (has traits) {
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9':
			has |= hasDigit
		case c == ':':
			has |= hasColon
		case c == '-':
			has |= hasDash
		case c|' ' == 'x':
			has |= hasX
		case c|' ' == 'd' && i > 0 && text[i-1]|' ' == 'i':
			has |= hasID
		}
	}

	return has
}

// rules in the order in which they are applied: a composed value before its parts. The
// placeholder of one never makes another one match.
var rules = []rule{
	{hasDash, regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<id>"},
	// RFC 3339 and what is like it, and how Go prints a time.
	{hasDigit | hasDash, regexp.MustCompile(`\b\d{4}-\d\d-\d\d([Tt _]\d\d:\d\d(:\d\d([.,]\d+)?)?` +
		`( ?([Zz]\b|[+-]\d\d:?\d\d\b))?( [A-Z]{3,4}\b)?( m=[+-][\d.]+)?)?`), "<time>"},
	// Dates of HTTP and of C.
	{hasDigit | hasColon, regexp.MustCompile(`\b((Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(\d{1,2}[ -](Jan|Feb|Mar|Apr` +
		`|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[ -]\d{2,4}|(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2}) ` +
		`\d\d:\d\d:\d\d( (GMT|UTC|[+-]\d{4})\b)?( \d{4}\b)?`), "<time>"},
	{hasDigit | hasColon, regexp.MustCompile(`\b\d{1,2}:\d\d:\d\d([.,]\d+)?\b`), "<time>"},
	// Values that are named as identifiers.
	{hasID, regexp.MustCompile(`(?i)\b((?:request|req|trace|span|correlation|operation|transaction|activity|event` +
		`|invocation|session|host)[-_ ]?ids?["']?)(\s*[:=]\s*["'\[(]?[0-9a-z]` +
		`|\s+["'\[(]?[a-z_-]*[0-9])(?:[0-9a-z+/=_.:-]*[0-9a-z=])?`), "${1} <id>"},
	{hasDigit, regexp.MustCompile(`(?i)\b(attempts?|retry|retries|try|tries|sequence|seq|pid|port|line|offset` +
		`|revision|resourceversion|generation|connection|conn|goroutine|after)([ :=#]+)\d+\b`), "${1}${2}<n>"},
	{hasDigit, regexp.MustCompile(`\b(\d+(\.\d+)?(ns|us|µs|μs|ms|h|m|s))+\b|\b\d+(\.\d+)? ?(?i:(nano|micro` +
		`|milli)?(seconds?|secs?)|minutes?|mins?|hours?)\b`), "<duration>"},
	// Ports: the client's is random.
	{hasDigit | hasColon, regexp.MustCompile(`(\b(?:\d{1,3}\.){3}\d{1,3}|\]|\blocalhost` +
		`|\b[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+):\d{1,5}\b`), "${1}:<port>"},
	{hasDigit | hasX, regexp.MustCompile(`\b0[xX][0-9a-fA-F]+\b`), "<id>"},
	{hasDigit, regexp.MustCompile(`\b\d{7,}\b`), "<n>"},
}

// word matches possible identifiers.
var word = regexp.MustCompile(`[0-9A-Za-z]{8,}`)

// Normalize returns a text for the comparison of errors. It replaces the parts that differ each time an operation
// fails by placeholders: identifiers, hexadecimal numbers, times, durations, ports, counters and numbers of seven
// digits or more. It keeps other numbers, because they may be error codes. Runs of white space become one space.
//
// Two errors with equal normalized texts are the same problem. Do not show the result, because readers need the
// identifiers. Normalize is idempotent, and reads the first 32 KiB. It takes a part of a millisecond, so compare the
// original texts first.
func Normalize(text string) string {
	if len(text) > maxNormalized {
		text = text[:maxNormalized]
	}
	text = strings.Join(strings.Fields(text), " ")
	if !strings.ContainsAny(text, "0123456789:=-") {
		return text // there is something of these in whatever is replaced
	}
	for {
		// The rest of a replacement can match another rule. Each replacement shortens the
		// text, so this ends.
		next := replace(text)
		if next == text {
			return text
		}
		text = next
	}
}

func replace(text string) string {
	has := traitsOf(text)
	for _, r := range rules {
		if has&r.needs == r.needs {
			text = r.pattern.ReplaceAllString(text, r.with)
		}
	}
	if has&hasDigit == 0 {
		return text
	}

	return replaceWords(text)
}

func replaceWords(text string) string {
	return word.ReplaceAllStringFunc(text, func(s string) string {
		if isIdentifier(s) {
			return "<id>"
		}

		return s
	})
}

// isIdentifier distinguishes generated identifiers from words: they have digits among the
// letters, and only hexadecimal ones, or many of both.
func isIdentifier(s string) bool {
	digits, others := 0, 0
	for _, c := range s {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c > 'f' || c > 'F' && c < 'a':
			others++
		}
	}
	letters := len(s) - digits
	if digits == 0 || letters == 0 {
		return false
	}

	return others == 0 || len(s) >= 16 && digits > 1
}

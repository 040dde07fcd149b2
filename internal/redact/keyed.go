package redact

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// keys matches the key of a secret value. A key is a name such as password, or a longer name that ends with it,
// possibly in quotes, and a separator. The groups are the name, the quote and the separator.
var keys = regexp.MustCompile(`(?i)` +
	`(authorization|pass(?:word|wd|phrase)|pwd|secret|token|credential` +
	`|(?:api|access|private|secret|signing|encryption|account|shared|auth|hmac|jwt|admin|subscription|application` +
	`|functions?|master|license|session|webhook)[-_]?key` +
	`|client[-_]?key[-_]?data|passcode` +
	`|\b(?:auth|pass|sig|signature)\b)` +
	`[s\d]*(?:[-_]?(?:value|data|base64|b64|hash))?` +
	"(\\\\*[\"'`]?\\]?)" +
	`[ \t]*(=>|:=|=+|:|%3[ad])\s*`)

// weak names are secret only before an equals sign or as the key of an object, because in a sentence they are
// ordinary words.
var weak = regexp.MustCompile(`(?i)^(?:auth|pass|sig|signature)$`)

// schemes finds the authentication schemes of HTTP where no header is named.
var schemes = regexp.MustCompile(`(?i)\b(bearer|basic)\b[\s:=]+`)

// rejectedValue matches the part of a Kubernetes field error before the rejected value.
var rejectedValue = regexp.MustCompile(`^(?:Invalid|Unsupported|Duplicate) value: `)

// prose holds first words of errors, which often follow a name and a colon
// ("cannot read token: permission denied"), in lower case.
var prose = set(`a all already an and another any as at audience audiences authentication authorization
	auth bad been before but by can can't cannot certificate challenge characters claim claims client
	configmap configmaps conflict connection contains context could couldn't creating credentials
	crypto crypto/rsa crypto/ecdsa crypto/ed25519 data denied dial do does doesn't don't duplicate each either
	eof error errors every exceeded exceeds expected expired failed failure field for forbidden found get go
	had has have header http https i/o if illegal in internal invalid io is isn't issuer it its json jwt key
	lacks length lookup malformed maximum metadata minimum missing must name namespace neither net no none not
	null nil <nil> object of oauth2 oidc on one only open operation or parse parsing patch pem permission
	please pods post put reading realm received refused rejected request required requires resource response
	revoked rpc scheme secret secrets server service serviceaccount serviceaccounts should signature skipping
	some spec square/go-jose stat status string such system that the their then there these they this those
	tls to token tokens too true false type unable unauthenticated unauthorized unexpected unknown
	unsupported unmarshal until update use user validation value verification was wasn't we were when
	which while will with without would wrong x509 yaml you your`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}

	return m
}

// withoutKeyed removes the values of secret keys.
func withoutKeyed(s string) string {
	if !strings.ContainsAny(s, "=:%") || !mentions(s, inKeys) {
		return s
	}

	var b strings.Builder

	for at := 0; ; {
		m := keys.FindStringSubmatchIndex(s[at:])
		if m == nil {
			b.WriteString(s[at:])

			return b.String()
		}

		end := at + m[1]
		k := key{
			before: s[:at+m[2]], name: s[at+m[2] : at+m[3]], end: s[at+m[3] : at+m[4]],
			quote: s[at+m[4] : at+m[5]], sep: s[at+m[6] : end],
		}

		if c := rejectedValue.FindString(s[end:]); c != "" {
			k.sep = "="
			end += len(c)
		}

		b.WriteString(s[at:end])

		n := k.valueLen(s[end:])
		if n > 0 {
			b.WriteString(mark)
		}

		at = end + n
	}
}

// A key is the text before a value.
type key struct {
	before string // the text up to the name
	name   string
	end    string // of the name, such as an s
	quote  string
	sep    string // with the spaces behind it
}

// valueLen returns the length of the secret at the beginning of rest. The text rest follows the key.
func (k key) valueLen(rest string) int {
	switch {
	case weak.MatchString(k.name) && k.quote == "" && !strings.Contains(k.sep, "="):
		return 0
	case k.sep[0] == ':' && len(k.sep) > 1 && isProse(rest, k.quote != ""):
		return 0
	case introduces(rest): // The next round finds it.
		return 0
	case k.isPartOfName(rest), k.isAnswer(rest):
		return 0
	case strings.EqualFold(k.name, "authorization"):
		return headerLen(rest)
	case isScheme(rest): // withoutSchemes finds it.
		return 0
	}

	n := valueLen(rest)
	if k.isHarmless(rest[:n], rest[n:]) {
		return 0
	}

	return n
}

// inKeys and inSchemes are short texts. Each match of the expressions contains one of them. A search for these short
// texts takes a tenth of the time, and finds none in most texts.
var (
	inKeys    = []string{"auth", "pass", "pwd", "secret", "token", "credential", "key", "sig"}
	inSchemes = []string{"bearer", "basic"}
)

// mentions reports whether s contains one of the words, ignoring case
// as regular expressions do: a long s is an s.
func mentions(s string, words []string) bool {
	s = strings.ReplaceAll(strings.ToLower(s), "\u017f", "s")

	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}

// withoutSchemes removes the credentials after the name of an authentication scheme.
func withoutSchemes(s string) string {
	if !mentions(s, inSchemes) {
		return s
	}

	var b strings.Builder

	for {
		m := schemes.FindStringSubmatchIndex(s)
		if m == nil {
			b.WriteString(s)

			return b.String()
		}

		scheme, rest := s[m[2]:m[3]], s[m[1]:]
		b.WriteString(s[:m[1]])

		// Where a value in brackets ends is not looked for in prose: it may be the end of the text,
		// and the next scheme stand within it.
		n := 0
		if !isProse(rest, false) {
			n = valueLen(rest)
		}
		// Basic is an English word, and credentials in base64 hardly ever are.
		if strings.EqualFold(scheme, "basic") && strings.Trim(rest[:n], "abcdefghijklmnopqrstuvwxyz") == "" {
			n = 0
		}

		if n > 0 {
			b.WriteString(mark)
		}

		s = rest[n:]
	}
}

// introduces reports whether the first word of s is not a value but the key of a value.
func introduces(s string) bool {
	word := firstWord(s)
	m := keys.FindStringIndex(word)

	return m != nil && m[1] == len(word) && len(word) < longestName
}

// isScheme reports whether the first word of s is the scheme before a secret.
func isScheme(s string) bool {
	m := schemes.FindStringIndex(firstWord(s) + " ")

	return m != nil && m[0] == 0
}

// firstWord returns the first word of s. If the word is not a name, it returns the beginning of the word.
func firstWord(s string) string {
	s = s[:min(len(s), longestName)]
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return s[:i]
	}

	return s
}

// isProse reports whether s continues as a sentence. After a quoted key any two words are a sentence, because an
// object would have a quoted value there.
func isProse(s string, afterQuote bool) bool {
	word := firstWord(s)
	next := strings.TrimLeftFunc(s[len(word):], unicode.IsSpace)
	bare := strings.ToLower(strings.TrimRight(word, `.,;:!?`))

	switch {
	case prose[bare], strings.HasPrefix(bare, "realm="), isStatusCode(bare):
		return true
	default:
		return afterQuote && isWord(bare) && len(word) < longestName && next != "" && unicode.IsLetter(rune(next[0]))
	}
}

func isWord(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

// isStatusCode reports whether the text is an HTTP status code, as in "cannot fetch token: 401".
func isStatusCode(s string) bool {
	return len(s) == 3 && s[0] >= '1' && s[0] <= '5' && strings.Trim(s, "0123456789") == ""
}

// headerLen returns the length of the value of an Authorization header: a
// scheme, and one parameter or several with commas between them.
func headerLen(s string) int {
	n := parameterLen(s)
	if n == 0 || strings.ContainsAny(s[:1], "\"'`\\[{") {
		return n
	}

	for more := true; more; {
		gap := len(s[n:]) - len(strings.TrimLeft(s[n:], ", \t"))
		next := 0
		if after := s[n+gap:]; !introduces(after) && !isScheme(after) {
			next = parameterLen(after)
		}

		n += gap + next
		more = next > 0 && strings.HasPrefix(s[n:], ",")
	}

	return n
}

// parameter is the name before a value in the header of a request.
var parameter = regexp.MustCompile("^[A-Za-z][\\w-]*[ \\t]*=[ \\t]*(?:(\\\\*[\"'`])|[^\\s,=]+)")

// parameterLen is valueLen for a value that may have a name. A quoted value may contain spaces and commas. Only a
// comma separates it from the text after it.
func parameterLen(s string) int {
	m := parameter.FindStringSubmatchIndex(s)

	switch {
	case m == nil:
		return valueLen(s)
	case m[2] >= 0:
		return m[2] + valueLen(s[m[2]:])
	case strings.HasPrefix(s[m[1]:], ","):
		return m[1]
	default:
		return valueLen(s)
	}
}

// valueLen returns the length of the value at the beginning of s. A value in quotes or brackets without an end
// reaches to the end of s.
func valueLen(s string) int {
	if strings.HasPrefix(s, mark) && endsValue(s[len(mark):], 0, 0) {
		return len(mark)
	}

	slashes := len(s) - len(strings.TrimLeft(s, `\`))
	if slashes < len(s) && strings.IndexByte("\"'`", s[slashes]) >= 0 {
		return quotedLen(s, slashes)
	}

	// The text block of YAML; where it ends is a matter of its indentation.
	if s != "" && strings.IndexByte("|>", s[0]) >= 0 {
		return len(s)
	}

	return bareLen(s)
}

// quotedLen is valueLen for a value whose opening quote follows a number of backslashes, because the value was quoted
// again. The closing quote has the same number of backslashes, apart from backslashes that belong to the end of the
// value. No text that could belong to the value follows it.
func quotedLen(s string, slashes int) int {
	quote, run := s[slashes], 0

	for i := slashes + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			run++

			continue
		case s[i] == quote && run >= slashes && (run-slashes)%(2*(slashes+1)) == 0 &&
			endsValue(s[i+1:], quote, slashes):
			return i + 1
		}

		run = 0
	}

	return len(s)
}

func endsValue(after string, quote byte, slashes int) bool {
	if after == "" {
		return true
	}

	// Two quotes in a row are one inside the value, in YAML and SQL.
	if slashes == 0 && after[0] == quote {
		return false
	}

	return strings.IndexByte(" \t\n,;:.)]}>&\\\"'`", after[0]) >= 0 || strings.HasPrefix(after, "/>")
}

// bareLen is valueLen for a value without quotes. The value ends at a space outside of brackets. Punctuation at its
// end does not count.
func bareLen(s string) int {
	depth, end := 0, len(s)

	for i, r := range s {
		switch {
		case strings.ContainsRune("([{", r):
			depth++
		case strings.ContainsRune(")]}", r):
			depth--
		case depth <= 0 && unicode.IsSpace(r):
			end = i
		}

		if end < len(s) {
			break
		}
	}

	for end > 0 {
		last := s[end-1]
		if closing := strings.IndexByte(")]}", last) >= 0; closing && depth < 0 {
			depth++
		} else if closing || strings.IndexByte("\"'`,;:.\\>", last) < 0 {
			break
		}

		end--
	}

	return end
}

// IsSecretKey reports whether name is the key of a secret value, such as password, clientSecret or
// example.com/api-token. It returns false for the key of a reference to a secret, such as secretRef.
func IsSecretKey(name string) bool {
	if !mentions(name, inKeys) {
		return false
	}
	m := keys.FindStringIndex(name + "=")

	return m != nil && m[1] == len(name)+1
}

package redact

import (
	"regexp"
	"strings"
)

// A place is the position of a secret that has no key with an equals sign or a colon before it.
type place struct {
	// hints are parts in lower case, of which each text with such a place has one.
	hints []string

	// before ends where the secret begins, or has it as its only group.
	before *regexp.Regexp

	// length returns how long a secret is that s begins with, or 0 if there is none. It is
	// nil if before has a group.
	length func(s string) int
}

// secretName is the end of the names of flags, elements and variables that are secret.
const secretName = `(?:password|passwd|passphrase|passcode|pwd|secret|token|credential` +
	`|(?:api|access|private|secret|signing|encryption|account|shared|auth)[-_]?key)s?\d*`

// quoted are the hints of a password in quotes.
var quoted = []string{"password '", "password \"", "password `", "passphrase '", "passphrase \"", "passphrase `"}

var places = []place{
	// CREATE USER u IDENTIFIED BY 'x'. In lower case it may be English.
	{[]string{"identified"}, regexp.MustCompile(`\bIDENTIFIED\s+(?:WITH\s+\S+\s+)?(?:BY|AS)\s+(?:(?:PASSWORD` +
		`|VALUES)\s+)?`), sqlLen},
	{[]string{"identified"}, regexp.MustCompile(`(?i)\b(?:create` +
		`|alter)\s+user\s[^\n;]*?\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:(?:password|values)\s+)?`), sqlLen},
	// CREATE ROLE u PASSWORD 'x', SET PASSWORD = PASSWORD('x').
	{[]string{"password"}, regexp.MustCompile(`\bPASSWORD(?:\s+|\s*\(\s*)`), literalLen},
	{quoted, regexp.MustCompile(`(?i)\b(?:with|encrypted|(?:create|alter)\s+(?:role|user|group` +
		`|login)\s[^\n;]*?)\s+password\s+`), literalLen},
	{quoted, regexp.MustCompile(`(?i)\b(?:invalid|wrong|bad|incorrect|using)\s+pass(?:word|phrase)\s+`), literalLen},
	{[]string{"set password"}, regexp.MustCompile(`(?i)\bset\s+password\s+for\s+\S+\s*=\s*`), sqlLen},
	{[]string{"requirepass", "masterauth"}, regexp.MustCompile(`(?i)\b(?:requirepass|masterauth)\s+`), wordLen},
	{[]string{"machine"}, regexp.MustCompile(`\bmachine\s+\S+\s+login\s+\S+\s+password\s+`), valueLen},

	// Names of data sources without a scheme.
	{[]string{"@tcp", "@udp", "@unix", "@cloudsql"},
		regexp.MustCompile("([^\\s\"'`(,=:]*:\\S*)@(?:tcp|udp|unix|cloudsql)\\w*\\("), nil},
	{[]string{"thin:", "oci:"}, regexp.MustCompile(`(?i):(?:thin|oci):([^\s@/"']+/[^\s@"']+)@`), nil},
	{[]string{"@"}, regexp.MustCompile("(?:^|[\\s\"'`(=,])([\\w.+-]+:[^\\s@/\"'`]+)@(?:[A-Za-z0-9.-]+|" +
		"\\[[0-9A-Fa-f:]+\\]):\\d{2,5}\\b"), nil},

	// Arguments of programs.
	{[]string{"--", " -", "[-", "\"-", "'-"},
		regexp.MustCompile("(?i)(?:^|[\\s\"'`\\[(,])--?[\\w-]*" + secretName + "\\\\*[\"'`]?[ \\t,]+"), argumentLen},
	{[]string{"curl"}, regexp.MustCompile("\\bcurl\\b[^\\n]*?[\\s\"'`,]-(?:u|-user|-proxy-user)\\\\*[\"'`]?" +
		"[ \\t=,]*\\\\*[\"'`]?[^\\s:\"'`]+:"), wordLen},
	{[]string{"sshpass"}, regexp.MustCompile(`\bsshpass\s+-p[ \t]*`), valueLen},
	{[]string{"login"}, regexp.MustCompile(`\b(?:docker|podman|nerdctl|helm|oras|crane|skopeo|az|argocd` +
		`|oc)\s(?:[\w-]+\s)*?login\b[^\n]*?\s-p[ \t]+`), argumentLen},
	{[]string{"--from-literal"}, regexp.MustCompile(`--from-literal[= ][\w.-]+=`), valueLen},
	{[]string{"pass:"}, regexp.MustCompile(`-pass(?:in|out)?[ \t]+pass:`), valueLen},
	{[]string{"mysql", "mariadb"}, regexp.MustCompile(`\b(?:mysql|mariadb)[\w-]*\s(?:[^\n]*?\s)??-p`), attachedLen},
	{[]string{"redis-cli"}, regexp.MustCompile(`\bredis-cli\s[^\n]*?-a[ \t]+`), argumentLen},
	{[]string{"ldap"}, regexp.MustCompile(`\bldap[a-z]+\s[^\n]*?\s-w[ \t]+`), argumentLen},

	// Headers of requests.
	{[]string{"cookie"}, regexp.MustCompile("(?i)\\bcookie2?\\\\*[\"'`]?\\s*(?::|=>?)\\s*"), cookieLen},
	{[]string{"digest"}, regexp.MustCompile(`(?i)\bdigest\s+`), digestLen},
	{[]string{"negotiate", "ntlm"}, regexp.MustCompile(`(?i)\b(?:negotiate|ntlm)\s+([\w+/-]{32,}=*)`), nil},

	{[]string{"auth "}, regexp.MustCompile(`\bAUTH\s+(?:PLAIN|LOGIN` +
		`|XOAUTH2)\s+([A-Z0-9+/]*[a-z][A-Za-z0-9+/]{6,}=*)`), nil},

	// Elements, and pairs of a name and a value.
	{[]string{"<", `\u003c`, "&lt;"}, regexp.MustCompile(`(?i)(?:<|\\u003c|&lt;)(?:[\w-]+:)?[\w.-]*` + secretName +
		`(?:\s[^<>]*[^<>/\s])?\s*(?:>|\\u003e|&gt;)`), namedLen},
	{[]string{"value"}, regexp.MustCompile("(?i)\\b(?:name|key)\\\\*[\"']?\\s*[=:]\\s*\\\\*[\"']?[\\w.-]*" +
		secretName + "\\\\*[\"']?\\s*[,;]?\\s*\\\\*[\"']?value\\\\*[\"']?\\s*[=:]\\s*"), valueLen},
	{[]string{"<", `\u003c`}, regexp.MustCompile(`(?i)\b(?:name|key)=\\*"[\w.-]*` + secretName +
		`\\*"\s*(?:>|\\u003e)`), elementLen},

	{[]string{`kind":"secret`, `kind": "secret`, `kind\":\"secret`},
		regexp.MustCompile(`"(?:data|stringData)\\*"\s*:\s*`), objectLen},

	// Addresses that are a secret.
	{[]string{"hook"}, regexp.MustCompile(`(?i)hooks\.slack\.com(?:/|%2f)(?:services|workflows|triggers)(?:/|%2f)`),
		pathLen},
	{[]string{"hook"}, regexp.MustCompile(`(?i)\b(?:discord(?:app)?\.com/api(?:/v\d+)?/webhooks` +
		`|hooks\.zapier\.com/hooks/catch|webhook\.office\.com/webhookb2)/`), pathLen},
	{[]string{"telegram"}, regexp.MustCompile(`(?i)\bapi\.telegram\.org/(?:file/)?bot`), segmentLen},

	// Tokens whose sign is not at their beginning.
	{[]string{":a"}, regexp.MustCompile(`(?:^|[^\w:/]|\bbot)(\d{8,12}:A[\w-]{34})(?:[^\w-]|$)`), nil},
	{[]string{"q~"}, regexp.MustCompile(`([\w.~]{3}\dQ~[\w.~-]{31,34})`), nil},
	{[]string{".atlasv1."}, regexp.MustCompile(`([A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,})`), nil},
	{[]string{"pat"}, regexp.MustCompile(`\b(pat[A-Za-z0-9]{14}\.[0-9a-f]{64}` +
		`|[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20})\b`), nil},
	{[]string{"k10"}, regexp.MustCompile(`\bK10[0-9a-f]{64}::[\w-]+:`), wordLen},
	{[]string{"token-"}, regexp.MustCompile(`\btoken-[a-z0-9]{5}:([a-z0-9]{54})\b`), nil},
	{[]string{"-us"}, regexp.MustCompile(`\b([0-9a-f]{32}-us\d{1,2})\b`), nil},
}

// withoutPlaced removes the secrets at the places.
func withoutPlaced(s string) string {
	lower := strings.ToLower(s) // Marks have no hints in them: it need not be done again.

	for _, p := range places {
		for _, hint := range p.hints {
			if strings.Contains(lower, hint) {
				s = p.without(s)

				break
			}
		}
	}

	return s
}

func (p place) without(s string) string {
	var b strings.Builder

	at := 0

	for at < len(s) {
		m := p.before.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}

		from, n := at+m[1], 0
		if p.length == nil {
			from, n = at+m[2], m[3]-m[2]
		} else {
			n = p.length(s[from:])
		}

		b.WriteString(s[at:from])

		if n > 0 {
			b.WriteString(mark)
		}

		at = from + n
	}

	if at == 0 {
		return s
	}

	b.WriteString(s[at:])

	return b.String()
}

// sqlLen is valueLen for what follows a key word of SQL.
func sqlLen(s string) int {
	if isProse(s, false) || strings.HasPrefix(s, "RANDOM") {
		return 0
	}

	return valueLen(s)
}

// literalLen returns the length of the text in quotes that s begins with.
func literalLen(s string) int {
	if s == "" || strings.IndexByte("'\"`", s[0]) < 0 || strings.HasPrefix(s[1:], s[:1]) {
		return 0
	}

	return valueLen(s)
}

// objectLen returns the length of the object that s begins with. One that does not end
// reaches to the end.
func objectLen(s string) int {
	if !strings.HasPrefix(s, "{") {
		return 0
	}

	// The quotes of an object that was quoted as a whole have so many backslashes.
	before, _, _ := strings.Cut(s, `"`)
	level := len(before) - len(strings.TrimRight(before, `\`))
	depth, run, quoted := 0, 0, false

	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\':
			run++

			continue
		case c == '"' && run == level:
			quoted = !quoted
		case c == '{' && !quoted:
			depth++
		case c == '}' && !quoted:
			depth--
		}

		if run = 0; depth == 0 {
			return i + 1
		}
	}

	return len(s)
}

// notArguments are words that follow the name of a flag in a sentence or in its usage.
var notArguments = set(`and or flag flags option options argument arguments are has have requires required given set
	before after via together instead both either when because since without string strings stringarray
	stringslice int duration file path value name key text bool`)

// argumentLen returns the length of the argument of a flag that s begins with.
func argumentLen(s string) int {
	word := strings.ToLower(strings.TrimRight(firstWord(s), ".,;:!?"))
	if word == "" || word[0] == '-' || word[0] == '<' || notArguments[word] || isProse(s, false) {
		return 0
	}

	return valueLen(s)
}

// attachedLen is argumentLen for an argument without a space before it.
func attachedLen(s string) int {
	if s == "" || !wordLetters[s[0]] && strings.IndexByte("\"'$", s[0]) < 0 || strings.HasPrefix(s, "ort") ||
		strings.HasPrefix(s, "rotocol") {
		return 0
	}

	return valueLen(s)
}

// wordLen returns the length of the word that s begins with, if it is no number and no part of
// a sentence. A quote ends it.
func wordLen(s string) int {
	n := len(s)
	if i := strings.IndexAny(s, " \t\r\n\"'`\\"); i >= 0 {
		n = i
	}

	if strings.Trim(s[:n], "0123456789") == "" || isProse(s, false) {
		return 0
	}

	return n
}

// cookieLen returns the length of the cookies that s begins with: pairs with semicolons
// between them, or a list of them.
func cookieLen(s string) int {
	if s != "" && strings.IndexByte("\"'`\\[{", s[0]) >= 0 {
		if !listed.MatchString(s) {
			return 0
		}

		return valueLen(s)
	}

	n := 0

	for {
		m := cookie.FindString(s[n:])
		if m == "" || n == 0 && !strings.Contains(m, "=") {
			break
		}

		n += len(m)
		if m[len(m)-1] != ';' && m[len(m)-1] != ' ' {
			break
		}
	}

	return len(strings.TrimRight(s[:n], "; "))
}

// listed is how the first of several cookies begins.
var listed = regexp.MustCompile("^[\\[{\\\\\"'`\\s]+[\\w!#$%&*+.^|~-]+=")

// cookie is one of the pairs, with what separates it from the next one.
var cookie = regexp.MustCompile("^[\\w!#$%&*+.^|~-]+(?:=(?:\"[^\"\\\\]*\"|[^\\s;\"'`\\\\)\\]}]*))?(?:; *)?")

// digestLen returns the length of the parameters of a Digest that s begins with. The
// challenge of a server has no response in it.
func digestLen(s string) int {
	if !parameter.MatchString(s) || !strings.Contains(strings.ToLower(s[:min(len(s), furthest)]), "response=") {
		return 0
	}

	n := headerLen(s)
	if !strings.Contains(strings.ToLower(s[:n]), "response=") {
		return 0
	}

	return n
}

// furthest is how far the end of an element, or the response of a Digest, is looked for.
const furthest = 2048

// elementLen returns the length of what stands in an element: a text without elements. If it
// was cut, there is no end.
func elementLen(s string) int {
	near, end := s[:min(len(s), furthest)], -1
	for _, sign := range []string{"</", `\u003c/`, "&lt;/"} {
		if i := strings.Index(near, sign); i >= 0 && (end < 0 || i < end) {
			end = i
		}
	}

	switch {
	case end < 0 && !strings.ContainsAny(near, " \t\r\n"):
		return pathLen(s)
	case end < 0, strings.TrimSpace(s[:end]) == "", opening.MatchString(near):
		return 0
	default:
		return end
	}
}

// namedLen is elementLen for an element with the name of a secret. The end tag has the same name, unless the text was
// truncated. A word in angle brackets without an end tag may be part of a sentence.
func namedLen(s string) int {
	n := elementLen(s)

	end := s[n:min(len(s), n+longestName)]
	if strings.Contains(end, ">") && !namedEnd.MatchString(end) {
		return 0
	}

	return n
}

var namedEnd = regexp.MustCompile(`^(?i:</(?:[\w-]+:)?[\w.-]*` + secretName + `\s*>|\\u003c/|&lt;/)`)

// opening is the beginning of another element.
var opening = regexp.MustCompile(`^\s*(?:<|\\u003c|&lt;)[A-Za-z]`)

// pathLen returns the length of the rest of the path of a URL.
func pathLen(s string) int {
	if i := strings.IndexAny(s, " \t\r\n\"'`<>\\,;)"); i >= 0 {
		return i
	}

	return len(s)
}

// segmentLen returns the length of the next part of the path of a URL.
func segmentLen(s string) int {
	n := pathLen(s)
	if i := strings.IndexByte(s[:n], '/'); i >= 0 {
		return i
	}

	return n
}

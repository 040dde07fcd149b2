package redact

import (
	"regexp"
	"strings"
)

var (
	// port is what follows the name of a host.
	port = regexp.MustCompile(`^\d{2,5}(?:[^\w.-]|$)`)

	// tag is what follows the name of an image, or that of a repository in a scope.
	tag = regexp.MustCompile(`^(?:v?\d+(?:\.\d+)+[\w.-]*|v\d+|latest|pull(?:,push)?|push)(?:[^\w.-]|$)`)

	// about is what is said of an object.
	about = regexp.MustCompile(`^\W{0,3}(?:not found|does not exist|already exists|is forbidden|is immutable` +
		`|is being deleted)\b`)

	// object is a name with its namespace.
	object = regexp.MustCompile("^[\"'`]?[a-z0-9][a-z0-9.-]*(?:/[a-z0-9][a-z0-9.-]*)?[\"'`]?$")

	// field is the name of a field in an object.
	field = regexp.MustCompile(`\\*"(\w+)\\*"\s*:`)

	// references are the fields of what says where a secret is.
	references = set(`name namespace key secretName defaultMode items optional path mode kind apiVersion group`)

	// answer is a value that is none, and number is how many there are.
	answer = regexp.MustCompile(`^(?i:true|false|null|nil|<nil>|yes|no)$`)
	number = regexp.MustCompile(`^\d{1,7}$`)
)

// isPartOfName reports whether the key is a part of a name that contains colons and continues with rest. Such a name
// belongs to an AWS resource, to a Kubernetes user, to a host with its port, or to an image with its tag.
func (k key) isPartOfName(rest string) bool {
	if k.quote != "" || k.sep != ":" && !strings.EqualFold(k.sep, "%3a") {
		return false
	}

	word := lastWord(k.before)

	switch {
	case strings.HasPrefix(word, "arn:"), strings.HasPrefix(word, "system:"):
		return true
	case strings.HasSuffix(strings.TrimRight(word, nameBytes), "://"):
		return port.MatchString(rest)
	default:
		return (strings.Contains(word, "/") || strings.Contains(strings.ToLower(word), "%2f")) && tag.MatchString(rest)
	}
}

const (
	nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

	// longestAnswer is more than an answer and what follows it at once have.
	longestAnswer = 16

	// longestName bounds how far back the beginning of a name is looked for, and how long a
	// reference is.
	longestName = 512
)

// lastWord returns the end of s behind the last character that cannot be within a name.
func lastWord(s string) string {
	s = s[max(0, len(s)-longestName):]

	return s[strings.LastIndexAny(s, " \t\r\n\"'`()[]{}<>,;=&?")+1:]
}

// isAnswer reports whether the value at the beginning of rest is not a secret: yes or no, the number of secrets, or
// nothing.
func (k key) isAnswer(rest string) bool {
	word := rest[:min(len(rest), longestAnswer)]

	ends := " \t\r\n"
	if k.quote != "" {
		ends += ",]}" // What follows are other fields of the object.
	}

	if i := strings.IndexAny(word, ends); i >= 0 {
		word = word[:i]
	}

	word = strings.TrimRight(word, `.,:;)]}`)

	return answer.MatchString(word) || strings.EqualFold(k.end, "s") && number.MatchString(word)
}

// isHarmless reports whether the value of the key, with the text after it, is empty, the name of a Secret, or a
// reference to a secret.
func (k key) isHarmless(value, after string) bool {
	switch {
	case strings.Trim(value, "\\\"'`") == "":
		return true
	case strings.EqualFold(k.name, "secret") && len(k.sep) > 1 && about.MatchString(after):
		return object.MatchString(value)
	default:
		return isReference(value)
	}
}

// isReference reports whether a value in braces only refers to a secret.
func isReference(value string) bool {
	if !strings.HasPrefix(value, "{") || len(value) > longestName {
		return false
	}

	named := false

	for _, m := range field.FindAllStringSubmatch(value, -1) {
		if !references[m[1]] {
			return false
		}

		named = named || strings.HasSuffix(strings.ToLower(m[1]), "name")
	}

	return named
}

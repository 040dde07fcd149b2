package postgres

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// maxName is the length of a name in bytes. PostgreSQL cuts longer ones off, with only a notice.
const maxName = 63

// CheckName returns an error if PostgreSQL cannot have an object with the name. Call it before any statement.
func CheckName(what, name string) error {
	var problem string
	switch {
	case name == "":
		problem = "is empty"
	case len(name) > maxName:
		problem = "is longer than 63 bytes, and PostgreSQL would cut it off"
	case !utf8.ValidString(name):
		problem = "is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		problem = "has a control character"
	case strings.HasPrefix(name, "pg_"):
		problem = "begins with pg_, which is reserved"
	case strings.HasPrefix(name, halfMade):
		problem = "begins with " + halfMade + ", which the provider uses"
	default:
		return nil
	}

	return external.Terminal(reasonInvalidName, external.NotCreated(errors.Errorf(
		"the name %.80q of the %s %s: choose another", name, what, problem)))
}

// halfMade is the prefix of a database that is not complete yet. The rest is the UID of its object.
const halfMade = "moorage-"

// quoted returns a name for use in a statement.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// literal returns a text for use in a statement that cannot have parameters. Sessions have standard_conforming_strings
// on, so that only the quote has a meaning.
func literal(text string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(text, "\x00", ""), "'", "''") + "'"
}

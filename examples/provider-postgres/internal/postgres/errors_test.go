package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/moorage-dev/moorage/pkg/external"
)

// TestTranslatedSeverity has servers whose lc_messages is not English, and one that is older than PostgreSQL 9.6 or
// is a pooler, which does not send the severity in English.
func TestTranslatedSeverity(t *testing.T) {
	for name, c := range map[string]struct {
		answer                  pgconn.PgError
		notCreated, unavailable bool
	}{
		"Error":       {pgconn.PgError{Severity: "FEHLER", SeverityUnlocalized: "ERROR", Code: "42601"}, true, false},
		"Cancelled":   {pgconn.PgError{Severity: "FEHLER", SeverityUnlocalized: "ERROR", Code: "57014"}, false, false},
		"Fatal":       {pgconn.PgError{Severity: "SCHWERWIEGEND", SeverityUnlocalized: "FATAL", Code: "42601"}, false, false},
		"ShutDown":    {pgconn.PgError{Severity: "SCHWERWIEGEND", SeverityUnlocalized: "FATAL", Code: "57P01"}, false, true},
		"EnglishOnly": {pgconn.PgError{Severity: "ERROR", Code: "42601"}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := notCreated((&Client{}).explain(&c.answer))
			if got := external.IsNotCreated(err); got != c.notCreated {
				t.Errorf("NotCreated is %v, want %v: %v", got, c.notCreated, err)
			}
			if got := external.IsUnavailable(err); got != c.unavailable {
				t.Errorf("Unavailable is %v, want %v: %v", got, c.unavailable, err)
			}
		})
	}
}

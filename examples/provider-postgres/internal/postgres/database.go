package postgres

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// A Database is a database as the server has it, or as it shall be. Fields that are empty shall be as the server
// decides.
type Database struct {
	Name            string
	Owner           string
	Encoding        string
	Collate, CType  string
	ConnectionLimit *int32
	Comment         string
}

// Databases are what there is of one object. CREATE DATABASE cannot be part of a transaction, so the comment is a
// second request. In between, another object or user could take the database for its own. So it is created under a
// name that only one object ever uses, and gets its comment and its name in one transaction.
type Databases struct {
	// Named is the database with the external name, or nil.
	Named *Database

	// Half is the database with the name of a creation that has not ended, or nil. It always belongs to the object.
	Half *Database

	// Running reports that the server still runs a CREATE DATABASE for the object. Its database is not visible until that
	// has ended, and the server goes on if its client is gone.
	Running bool
}

const selectDatabases = `
SELECT d.datname, pg_get_userbyid(d.datdba), pg_encoding_to_char(d.encoding), d.datcollate, d.datctype, d.datconnlimit,
       coalesce(shobj_description(d.oid, 'pg_database'), '')
FROM pg_database d
WHERE d.datname::text IN ($1, $2)`

// selectCreating finds the sessions that create the database with a name. The server shows the statements of sessions
// of the same user.
const selectCreating = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND starts_with(query, $1))`

// Databases returns what there is of an object with this external name and UID. It sends one request with two
// statements. The running creation is the first: one that ends in between is visible to the second.
func (s *Session) Databases(ctx context.Context, name, uid string) (Databases, error) {
	var out Databases
	batch := &pgx.Batch{}
	batch.Queue(selectCreating, createHalf(uid)).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Running) })
	batch.Queue(selectDatabases, possible(name), halfMade+uid).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scanDatabase)
		for i, d := range found {
			if d.Name == halfMade+uid {
				out.Half = &found[i]
			} else {
				out.Named = &found[i]
			}
		}

		return err
	})
	err := s.use(ctx, main, func(conn *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()

		return conn.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return Databases{}, err
	}
	out.Running = out.Running && out.Half == nil

	return out, nil
}

func scanDatabase(row pgx.CollectableRow) (Database, error) {
	d := Database{ConnectionLimit: new(int32)}

	return d, row.Scan(&d.Name, &d.Owner, &d.Encoding, &d.Collate, &d.CType, d.ConnectionLimit, &d.Comment)
}

// createHalf returns the beginning of the statement that creates a database.
func createHalf(uid string) string { return "CREATE DATABASE " + quoted(halfMade+uid) }

// CreateDatabase creates a database. Its error is external.AlreadyExists if there is one with the name.
func (s *Session) CreateDatabase(ctx context.Context, uid string, want Database) error {
	if err := CheckName("database", want.Name); err != nil {
		return err
	}
	found, err := s.Databases(ctx, want.Name, uid)
	switch {
	case err != nil:
		return err
	case found.Named != nil:
		return external.AlreadyExists(errors.Errorf("there is a database %q", want.Name))
	}
	if err := s.join(ctx, want.Owner); err != nil {
		return notCreated(err)
	}
	if found.Half == nil {
		err = s.change(ctx, main, createHalf(uid)+want.creation())
		if again := code(err); err != nil && again != codeDuplicateDB && again != codeUniqueViolation {
			return notCreated(s.lacks(err, "the attribute CREATEDB, and the right to copy the template"))
		}
	}
	half := Database{Name: halfMade + uid, ConnectionLimit: want.ConnectionLimit}
	if err := s.complete(ctx, half, want); !external.IsAlreadyExists(err) {
		return external.MaybeCreated(err)
	}
	// The name was taken meanwhile.
	if err := s.drop(ctx, half.Name); err != nil {
		return external.MaybeCreated(err)
	}

	return external.AlreadyExists(errors.Errorf("there is a database %q", want.Name))
}

// creation returns the options that only CREATE DATABASE has, and the limit.
func (d Database) creation() string {
	var out strings.Builder
	for _, option := range []struct{ name, value string }{
		{"ENCODING", d.Encoding}, {"LC_COLLATE", d.Collate}, {"LC_CTYPE", d.CType},
	} {
		if option.value != "" {
			out.WriteString(" " + option.name + " " + literal(option.value))
		}
	}
	if out.Len() > 0 { // template1 may have data in another encoding
		out.WriteString(" TEMPLATE template0")
	}
	if d.ConnectionLimit != nil {
		out.WriteString(" CONNECTION LIMIT " + strconv.Itoa(int(*d.ConnectionLimit)))
	}

	return out.String()
}

// UpdateDatabase completes a creation, and corrects what differs from what was found.
func (s *Session) UpdateDatabase(ctx context.Context, found Databases, want Database) error {
	switch {
	case found.Half == nil && found.Named == nil:
		return external.NotFound(errors.Errorf("there is no database %q", want.Name))
	case found.Half == nil:
		return s.complete(ctx, *found.Named, want)
	case found.Named == nil:
		err := s.complete(ctx, *found.Half, want)
		if external.IsAlreadyExists(err) {
			return external.Terminal("NameTaken", errors.Errorf("a database %q was created meanwhile, by somebody else: "+
				"remove it, or delete this object and give it another name", want.Name))
		}

		return err
	default: // the creation was repeated, and the first request came later
		return s.drop(ctx, found.Half.Name)
	}
}

// complete changes in one transaction what differs. The owner is the last: after that the rights of the user come from
// its membership in the new owner.
func (s *Session) complete(ctx context.Context, found, want Database) error {
	var statements []string
	database := "DATABASE " + quoted(found.Name)
	if found.Comment != want.Comment {
		statements = append(statements, "COMMENT ON "+database+" IS "+literal(want.Comment))
	}
	if want.ConnectionLimit != nil && *found.ConnectionLimit != *want.ConnectionLimit {
		statements = append(statements, "ALTER "+database+" CONNECTION LIMIT "+strconv.Itoa(int(*want.ConnectionLimit)))
	}
	if found.Name != want.Name {
		statements = append(statements, "ALTER "+database+" RENAME TO "+quoted(want.Name))
		database = "DATABASE " + quoted(want.Name)
	}
	if want.Owner != "" && found.Owner != want.Owner {
		statements = append(statements, "ALTER "+database+" OWNER TO "+quoted(want.Owner))
	}
	if len(statements) == 0 {
		return nil
	}
	if err := s.join(ctx, found.Owner, want.Owner); err != nil {
		return err
	}
	err := s.change(ctx, main, statements...)
	switch code(err) {
	case codeDuplicateDB, codeUniqueViolation:
		return external.AlreadyExists(err)
	case codeNoPrivilege:
		return s.lacks(err, "to be a member of the owner of the database, "+quoted(found.Owner)+", and of the new one")
	default:
		return err
	}
}

// DropDatabase drops what was found of an object.
func (s *Session) DropDatabase(ctx context.Context, found Databases) error {
	for _, d := range []*Database{found.Half, found.Named} {
		if d == nil {
			continue
		}
		if err := s.dropOwned(ctx, *d); err != nil {
			return err
		}
	}

	return nil
}

// dropOwned drops a database of any owner. The owner stays the same until then.
func (s *Session) dropOwned(ctx context.Context, d Database) error {
	if err := s.join(ctx, d.Owner); err != nil {
		return err
	}

	return s.lacks(s.drop(ctx, d.Name), "to be a member of the owner of the database, "+quoted(d.Owner))
}

// drop drops a database. That it does not exist is no error. The text of an error does not have the number of sessions:
// each change of it would be another event.
func (s *Session) drop(ctx context.Context, name string) error {
	err := s.change(ctx, main, "DROP DATABASE IF EXISTS "+quoted(name))
	if code(err) != codeInUse {
		return err
	}

	return errors.Wrapf(err, "the database %q is in use: end its sessions, which pg_stat_activity shows, or, if the "+
		"database may stay, see the deletion policy orphan", name)
}

// possible returns a name for use in a condition, or, for one that no object can have, a text that is no name.
func possible(name string) string {
	if len(name) > maxName || strings.Contains(name, "\x00") {
		return ""
	}

	return name
}

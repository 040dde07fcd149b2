package postgres

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// A Schema is a schema of a database as the server has it, or as it shall be.
type Schema struct {
	Name, Database string
	Owner          string // in a wanted schema, empty leaves it as it is
	Comment        string
}

const selectSchema = `
SELECT n.nspname, pg_get_userbyid(n.nspowner), coalesce(obj_description(n.oid, 'pg_namespace'), '')
FROM pg_namespace n
WHERE n.nspname::text = $1`

// Schema returns the schema with the name, or nil. There is none if there is no such database.
func (s *Session) Schema(ctx context.Context, database, name string) (*Schema, error) {
	out := &Schema{Database: database}
	found, err := s.row(ctx, database, selectSchema, []any{possible(name)}, &out.Name, &out.Owner, &out.Comment)
	if external.IsNotFound(err) {
		return nil, nil
	}
	if err != nil || !found {
		return nil, err
	}

	return out, nil
}

// CreateSchema creates a schema. Its error is external.AlreadyExists if there is one with the name.
func (s *Session) CreateSchema(ctx context.Context, want Schema) error {
	if err := CheckName("schema", want.Name); err != nil {
		return err
	}
	if err := s.join(ctx, want.Owner); err != nil {
		return notCreated(err)
	}
	err := s.change(ctx, want.Database, append([]string{"CREATE SCHEMA " + quoted(want.Name), want.comment()},
		want.owned()...)...)

	return notCreated(s.lacks(err, "the privilege CREATE on the database, or to be a member of its owner"))
}

// UpdateSchema corrects what differs from what was found.
func (s *Session) UpdateSchema(ctx context.Context, found, want Schema) error {
	if err := s.join(ctx, found.Owner, want.Owner); err != nil {
		return err
	}
	err := s.change(ctx, want.Database, append([]string{want.comment()}, want.owned()...)...)

	return s.missing(s.lacks(err, "to be a member of the owner of the schema, and of the new one"))
}

// DropSchema drops a schema if it is empty. That it does not exist is no error.
func (s *Session) DropSchema(ctx context.Context, found Schema) error {
	if err := s.join(ctx, found.Owner); err != nil {
		return err
	}
	err := s.change(ctx, found.Database, "DROP SCHEMA IF EXISTS "+quoted(found.Name))
	if external.IsNotFound(err) {
		return nil
	}
	if code(err) == codeDependents {
		return errors.Wrapf(err, "the schema %q is not empty: drop or move what is in it, or, if it may stay, see the "+
			"deletion policy orphan", found.Name)
	}

	return s.lacks(err, "to be a member of the owner of the schema")
}

func (w Schema) comment() string {
	return "COMMENT ON SCHEMA " + quoted(w.Name) + " IS " + literal(w.Comment)
}

// owned returns the statement that gives a schema its owner.
func (w Schema) owned() []string {
	if w.Owner == "" {
		return nil
	}

	return []string{"ALTER SCHEMA " + quoted(w.Name) + " OWNER TO " + quoted(w.Owner)}
}

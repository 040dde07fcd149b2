package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// A Grant are the privileges of a role on a database.
type Grant struct {
	Role, Database string
	Privileges     []string // sorted

	// Owner is the owner of the database, or "" if the database or the role does not exist.
	Owner string
}

// Only what the owner of the database has granted counts: the user cannot revoke what others have.
const selectGrant = `
SELECT pg_get_userbyid(d.datdba), array(
    SELECT x.privilege_type FROM aclexplode(d.datacl) x
    WHERE x.grantee = r.oid AND x.grantor = d.datdba AND r.oid <> d.datdba ORDER BY x.privilege_type)
FROM pg_database d, pg_roles r
WHERE d.datname::text = $1 AND r.rolname::text = $2`

// Grant returns the privileges of a role on a database. The owner of the database has none: what it may do is not
// granted.
func (s *Session) Grant(ctx context.Context, role, database string) (Grant, error) {
	out := Grant{Role: role, Database: database}
	_, err := s.row(ctx, main, selectGrant, []any{possible(database), possible(role)}, &out.Owner, &out.Privileges)

	return out, err
}

// CreateGrant grants privileges. Its error is external.AlreadyExists if the role has some.
func (s *Session) CreateGrant(ctx context.Context, want Grant) error {
	has, err := s.Grant(ctx, want.Role, want.Database)
	switch {
	case err != nil:
		return err
	case has.Owner == "":
		return external.NotCreated(errors.Errorf("there is no database %q, or no role %q: create them first",
			want.Database, want.Role))
	case has.Owner == want.Role:
		return external.Terminal("OwnerNeedsNoGrant", external.NotCreated(errors.Errorf(
			"the role %q owns the database %q and has all privileges: delete this Grant", want.Role, want.Database)))
	case len(has.Privileges) > 0:
		return external.AlreadyExists(errors.Errorf("the role %q has privileges on the database %q", want.Role,
			want.Database))
	default:
		return notCreated(s.grant(ctx, has, want.Privileges, nil))
	}
}

// UpdateGrant grants what is missing, and revokes what is too much.
func (s *Session) UpdateGrant(ctx context.Context, want Grant) error {
	has, err := s.Grant(ctx, want.Role, want.Database)
	if err != nil || has.Owner == "" {
		return err
	}
	less := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(p string) bool { return slices.Contains(b, p) })
	}

	return s.missing(s.grant(ctx, has, less(want.Privileges, has.Privileges), less(has.Privileges, want.Privileges)))
}

// grant grants some privileges and revokes others, in one transaction and with the rights of the owner: without them
// GRANT succeeds with a warning, and grants nothing.
func (s *Session) grant(ctx context.Context, of Grant, more, less []string) error {
	if err := s.join(ctx, of.Owner); err != nil {
		return err
	}
	var statements []string
	for _, change := range []struct {
		verb, preposition string
		privileges        []string
	}{{"GRANT ", " TO ", more}, {"REVOKE ", " FROM ", less}} {
		if len(change.privileges) > 0 {
			statements = append(statements, change.verb+strings.Join(change.privileges, ", ")+" ON DATABASE "+
				quoted(of.Database)+change.preposition+quoted(of.Role))
		}
	}

	return s.lacks(s.change(ctx, main, statements...),
		"to be a member of the owner of the database, "+quoted(of.Owner))
}

// Revoke revokes all privileges of a role on a database. That one of both does not exist is no error.
func (s *Session) Revoke(ctx context.Context, role, database string) error {
	has, err := s.Grant(ctx, role, database)
	if err != nil || len(has.Privileges) == 0 {
		return err
	}
	err = s.grant(ctx, has, nil, []string{"ALL"})
	switch code(err) {
	case codeNoObject, codeNoDatabase:
		return nil
	default:
		return err
	}
}

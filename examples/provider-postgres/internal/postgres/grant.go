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
}

// Only what the owner of the database has granted counts: the user cannot revoke what others have.
const selectGrant = `
SELECT d.datdba = r.oid, array(
    SELECT x.privilege_type FROM aclexplode(d.datacl) x WHERE x.grantee = r.oid AND x.grantor = d.datdba ORDER BY 1)
FROM pg_database d, pg_roles r
WHERE d.datname::text = $1 AND r.rolname::text = $2`

// Grant returns the privileges of a role on a database, which are none if one of both does not exist.
func (s *Session) Grant(ctx context.Context, role, database string) (Grant, error) {
	out, owns := Grant{Role: role, Database: database}, false
	found, err := s.row(ctx, main, selectGrant, []any{possible(database), possible(role)}, &owns,
		&out.Privileges)
	if err != nil || found && owns {
		return Grant{Role: role, Database: database}, errors.Wrap(err, "cannot read privileges")
	}

	return out, nil
}

// CreateGrant grants privileges. Its error is external.AlreadyExists if the role has some.
func (s *Session) CreateGrant(ctx context.Context, want Grant) error {
	var owns bool
	found, err := s.row(ctx, main, selectGrant, []any{possible(want.Database), possible(want.Role)}, &owns,
		&[]string{})
	switch {
	case err != nil:
		return err
	case !found:
		return external.NotCreated(errors.Errorf("there is no database %q, or no role %q: create them first",
			want.Database, want.Role))
	case owns:
		return external.Terminal("OwnerNeedsNoGrant", external.NotCreated(errors.Errorf(
			"the role %q owns the database %q and has all privileges: delete this Grant", want.Role, want.Database)))
	}
	has, err := s.Grant(ctx, want.Role, want.Database)
	switch {
	case err != nil:
		return err
	case len(has.Privileges) > 0:
		return external.AlreadyExists(errors.Errorf("the role %q has privileges on the database %q", want.Role,
			want.Database))
	}

	return notCreated(s.grant(ctx, want, want.Privileges, nil))
}

// UpdateGrant grants what is missing, and revokes what is too much.
func (s *Session) UpdateGrant(ctx context.Context, want Grant) error {
	has, err := s.Grant(ctx, want.Role, want.Database)
	if err != nil {
		return err
	}
	less := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(p string) bool { return slices.Contains(b, p) })
	}

	return s.missing(s.grant(ctx, want, less(want.Privileges, has.Privileges), less(has.Privileges, want.Privileges)))
}

// grant grants some privileges and revokes others, in one transaction.
func (s *Session) grant(ctx context.Context, of Grant, more, less []string) error {
	var statements []string
	if len(more) > 0 {
		statements = append(statements,
			"GRANT "+strings.Join(more, ", ")+" ON DATABASE "+quoted(of.Database)+" TO "+quoted(of.Role))
	}
	if len(less) > 0 {
		statements = append(statements,
			"REVOKE "+strings.Join(less, ", ")+" ON DATABASE "+quoted(of.Database)+" FROM "+quoted(of.Role))
	}

	return s.lacks(s.change(ctx, main, statements...), "to be a member of the owner of the database")
}

// Revoke revokes all privileges of a role on a database. That one of both does not exist is no error.
func (s *Session) Revoke(ctx context.Context, role, database string) error {
	err := s.grant(ctx, Grant{Role: role, Database: database}, nil, []string{"ALL"})
	switch code(err) {
	case codeNoObject, codeNoDatabase:
		return nil
	default:
		return err
	}
}

package postgres

import (
	"context"
	"strconv"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// A Role is a role as the server has it, or as it shall be.
type Role struct {
	Name            string
	Login           bool
	CreateDatabase  bool
	CreateRole      bool
	Inherit         bool
	ConnectionLimit int32
	Comment         string

	// Verifier is what the server stores of the password. It is only known to a superuser. In a wanted role, empty
	// leaves the password unchanged.
	Verifier string
}

const selectRole = `
SELECT r.rolname, r.rolcanlogin, r.rolcreatedb, r.rolcreaterole, r.rolinherit, r.rolconnlimit,
       coalesce(shobj_description(r.oid, 'pg_authid'), '')
FROM pg_roles r
WHERE r.rolname::text = $1`

// Role returns the role with the name, or nil.
func (s *Session) Role(ctx context.Context, name string) (*Role, error) {
	r := &Role{}
	found, err := s.row(ctx, main, selectRole, []any{possible(name)}, &r.Name, &r.Login, &r.CreateDatabase,
		&r.CreateRole, &r.Inherit, &r.ConnectionLimit, &r.Comment)
	if err != nil || !found {
		return nil, err
	}
	if s.ReadsPasswords() {
		_, err = s.row(ctx, main, "SELECT coalesce(rolpassword, '') FROM pg_authid WHERE rolname::text = $1",
			[]any{name}, &r.Verifier)
	}

	return r, err
}

// ReadsPasswords reports whether the user can see what the server stores of passwords: only a superuser can.
func (s *Session) ReadsPasswords() bool { return s.superuser }

// CreateRole creates a role. Its error is external.AlreadyExists if there is one with the name.
func (s *Session) CreateRole(ctx context.Context, want Role) error {
	if err := CheckName("role", want.Name); err != nil {
		return err
	}
	err := s.change(ctx, main, "CREATE ROLE "+quoted(want.Name)+want.attributes(), want.comment())

	return notCreated(s.lacks(err, "the attribute CREATEROLE, and each attribute that it gives"))
}

// UpdateRole sets all attributes of a role, and its password if the wanted role has one.
func (s *Session) UpdateRole(ctx context.Context, want Role) error {
	err := s.change(ctx, main, "ALTER ROLE "+quoted(want.Name)+want.attributes(), want.comment())

	return s.missing(s.lacks(err, "the attribute CREATEROLE, and from PostgreSQL 16 on the ADMIN option of the role"))
}

// attributes returns the options of CREATE ROLE and ALTER ROLE. The password is never sent: a verifier is, so that
// no log of the server ever has the password.
func (r Role) attributes() string {
	out := " WITH"
	for _, a := range []struct {
		name string
		on   bool
	}{{"LOGIN", r.Login}, {"CREATEDB", r.CreateDatabase}, {"CREATEROLE", r.CreateRole}, {"INHERIT", r.Inherit}} {
		if a.on {
			out += " " + a.name
		} else {
			out += " NO" + a.name
		}
	}
	out += " CONNECTION LIMIT " + strconv.Itoa(int(r.ConnectionLimit))
	if r.Verifier != "" {
		out += " PASSWORD " + literal(r.Verifier)
	}

	return out
}

func (r Role) comment() string {
	return "COMMENT ON ROLE " + quoted(r.Name) + " IS " + literal(r.Comment)
}

// DropRole drops a role. That it does not exist is no error.
func (s *Session) DropRole(ctx context.Context, name string) error {
	err := s.change(ctx, main, "DROP ROLE IF EXISTS "+quoted(name))
	if code(err) == codeDependents {
		return errors.Wrapf(err, "the role %q owns something, or has privileges: delete those objects first, or give them "+
			"another owner", name)
	}

	return s.lacks(err, "the attribute CREATEROLE, and from PostgreSQL 16 on the ADMIN option of the role")
}

// join makes the user of the configuration a member of roles, which it has to be to give them something to own, and to
// change what they own. Empty names mean no role. A membership stays as long as its role: DROP DATABASE cannot be part
// of a transaction that also revokes it, and other passes need it meanwhile.
func (s *Session) join(ctx context.Context, roles ...string) error {
	for _, role := range roles {
		if role == "" {
			continue
		}
		var member bool
		found, err := s.row(ctx, main, "SELECT pg_has_role(oid, 'USAGE') FROM pg_roles WHERE rolname::text = $1",
			[]any{possible(role)}, &member)
		switch {
		case err != nil:
			return err
		case !found:
			return external.NotCreated(errors.Errorf("the role %q of spec.forProvider.owner does not exist: create it, or "+
				"name another", role))
		case member:
			continue
		}
		err = s.change(ctx, main, "GRANT "+quoted(role)+" TO CURRENT_USER")
		if err != nil && code(err) != codeUniqueViolation { // another pass has granted it meanwhile
			return s.lacks(err, "to be a member of the owner, "+quoted(role)+", or the right to become one")
		}
	}

	return nil
}

// missing marks an error that says that something does not exist.
func (s *Session) missing(err error) error {
	switch code(err) {
	case codeNoObject, codeNoDatabase, codeNoSchema:
		return external.NotFound(err)
	default:
		return err
	}
}

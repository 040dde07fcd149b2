// Package sql is the external system: roles and their limits.
package sql

// A Server has roles.
type Server struct {
	Roles map[string]int64
}

// Put makes a role, or changes it, and returns its password.
func (s *Server) Put(name string, limit int64) string {
	if s.Roles == nil {
		s.Roles = map[string]int64{}
	}

	s.Roles[name] = limit

	return "secret of " + name
}

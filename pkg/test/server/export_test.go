package server

import "time"

// WithGrace returns a program that has another time to end after SIGTERM.
func WithGrace(p Program, d time.Duration) Program {
	p.grace = d

	return p
}

// KillLeash kills the process that ends the server.
func KillLeash(s *Server) error { return s.leash.cmd.Process.Kill() }

package apiserver

import "maps"

// A Snapshot is what a Server had stored at some time. Make one with [Server.Snapshot];
// the zero value is none. It does not change, and may be used concurrently.
type Snapshot struct {
	objects map[id]*version
	last    int64
	uids    int
	names   int
	log     []Change
}

// Snapshot returns what the server has stored now.
func (s *Server) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.log)

	return Snapshot{objects: maps.Clone(s.objects), last: s.last, uids: s.uids, names: s.names, log: s.log[:n:n]}
}

// Restore makes the server go on from what it, or another of the same Memory, had stored at
// some time, as if nothing had happened since. What Drop and Behind said still holds, and a
// server behind it does not go back.
func (s *Server) Restore(to Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects, s.last, s.uids, s.names, s.log = maps.Clone(to.objects), to.last, to.uids, to.names, to.log
}

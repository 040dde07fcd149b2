package apiserver

import "k8s.io/apimachinery/pkg/types"

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
	s.shared = true

	return Snapshot{objects: s.objects, last: s.last, uids: s.uids, names: s.names, log: s.log[:n:n]}
}

// Restore makes the server go on from what it, or another of the same Memory, had stored at
// some time, as if nothing had happened since. What Drop and Behind said still holds, and a
// server behind it does not go back.
func (s *Server) Restore(to Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects, s.shared, s.last, s.uids, s.names, s.log = to.objects, true, to.last, to.uids, to.names, to.log
}

// Skip returns the UID of the next object that is created, and makes that of the one after it the next: for
// who does not create it, because a Snapshot that is restored next has it.
func (s *Server) Skip() types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid := s.nextUID()
	s.uids++

	return types.UID(uid)
}

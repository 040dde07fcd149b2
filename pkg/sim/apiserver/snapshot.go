package apiserver

import "k8s.io/apimachinery/pkg/types"

// A Snapshot is the state of a Server at some time. Make one with [Server.Snapshot]; the zero value is empty. It is
// immutable, and may be used concurrently.
type Snapshot struct {
	objects map[id]*version
	last    int64
	uids    int
	names   int
	log     []Change
}

// Snapshot returns the current state of the server.
func (s *Server) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.log)
	s.shared = true

	return Snapshot{objects: s.objects, last: s.last, uids: s.uids, names: s.names, log: s.log[:n:n]}
}

// Restore makes the server continue from a state of its own, or of another server of the same Memory, as if nothing had
// happened since. Drop and Behind stay in effect, and a server behind is not restored.
func (s *Server) Restore(to Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects, s.shared, s.last, s.uids, s.names, s.log = to.objects, true, to.last, to.uids, to.names, to.log
}

// Skip returns the UID of the next object that is created, and advances it: for a caller that does not create the
// object, because the next restored Snapshot has it.
func (s *Server) Skip() types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid := s.nextUID()
	s.uids++

	return types.UID(uid)
}

package apiserver

import "k8s.io/apimachinery/pkg/types"

// A Snapshot is the state of a Server at one time. Use [Server.Snapshot]; the zero value is the state of an empty
// server. It is immutable, and may be used concurrently.
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

// Restore makes the server continue from a Snapshot of its own, or of another server of the same Memory. All later
// changes are discarded. Drop and Behind stay in effect, and a server behind is not restored.
func (s *Server) Restore(to Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects, s.shared, s.last, s.uids, s.names, s.log = to.objects, true, to.last, to.uids, to.names, to.log
}

// Skip returns the UID for the next created object, and advances it. It is for a caller that does not create the
// object, because the next restored Snapshot has it.
func (s *Server) Skip() types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid := s.nextUID()
	s.uids++

	return types.UID(uid)
}

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

// Restore makes the server continue from a Snapshot of this server, or of another server of the same Memory. All later
// changes are discarded. Drop and Behind stay in effect. If the server is behind another one, Restore does not restore
// the other one.
func (s *Server) Restore(to Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects, s.shared, s.last, s.uids, s.names, s.log = to.objects, true, to.last, to.uids, to.names, to.log
}

// Skip returns the UID that the next created object would have, and no other object gets this UID. Call Skip in place
// of a creation if the Snapshot that is restored next already contains the created object.
func (s *Server) Skip() types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid := s.nextUID()
	s.uids++

	return types.UID(uid)
}

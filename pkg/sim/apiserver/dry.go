package apiserver

import "github.com/moorage-dev/moorage/pkg/errors"

var errNoDryRun = errors.New("the simulated server knows dry runs of creations, merge patches and JSON patches only")

// unless calls do, and undoes its effect if dry is set.
func (s *Server) unless(dry bool, do func() (*version, error)) (*version, error) {
	if !dry {
		return do()
	}
	objects, shared, last, uids, names, log := s.objects, s.shared, s.last, s.uids, s.names, s.log
	s.shared = true // what is there is not written to
	v, err := do()
	s.objects, s.shared, s.last, s.uids, s.names, s.log = objects, shared, last, uids, names, log[:len(log):len(log)]

	return v, err
}

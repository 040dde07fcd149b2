package apiserver

import (
	"cmp"
	"maps"
	"slices"
)

// Rewind undoes the last writes, whose number is the argument, as a restore of etcd without a revision bump does. Later
// resource versions continue from the restored one. UIDs are not reused. Rewind returns the names of the clients whose
// writes were undone, except for writes that removed an object.
//
// For each object that Rewind has changed, Changes has a new change with the restored version. A real API server sends
// no events about a restore: only a new list shows the restored objects.
func (s *Server) Rewind(writes int) (by []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := len(s.log) - min(writes, len(s.log))
	for _, c := range s.log[kept:] {
		if c.stored != nil {
			by = append(by, c.stored.by.name)
		}
	}
	then, last := map[id]*version{}, int64(0)
	for _, c := range s.log[:kept] {
		last = c.Version
		if at := (id{c.Kind, c.Key}); c.Type == Deleted {
			delete(then, at)
		} else {
			then[at] = c.stored
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(s.objects), byName) {
		if now := s.objects[at]; then[at] == nil {
			s.log = append(s.log, Change{Type: Deleted, Kind: at.kind, Key: at.key, At: s.clock.Now(), Version: last,
				Object: now.typed, Old: now.typed, Image: now.image})
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(then), byName) {
		if v := then[at]; s.objects[at] != v {
			s.log = append(s.log, Change{Type: Modified, Kind: at.kind, Key: at.key, At: s.clock.Now(), Version: last,
				Object: v.typed, Image: v.image, stored: v})
		}
	}
	s.objects, s.shared, s.last = then, false, last

	return by
}

func byName(a, b id) int {
	return cmp.Or(cmp.Compare(a.kind.String(), b.kind.String()), cmp.Compare(a.key.String(), b.key.String()))
}

package sim

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// A state is what has come of a World so far, beside what is in its parts.
type state struct {
	sequence     int  // of what is to happen later
	fired        int  // of the faults
	absent       Kind // the next answer of the external system is that there is nothing
	counts       map[string]int
	apiGone      time.Time                      // the API server went away
	apiBack      time.Time                      // it answers again
	externalGone time.Time                      // the external system went away
	externalBack time.Time                      // and does then
	denied       map[types.NamespacedName]int   // calls of it meanwhile, by object
	refuses      time.Time                      // until when it refuses changes
	drops        time.Time                      // until when the API server does not store all that is written
	dropped      Kind                           // and what it does not store
	denies       time.Time                      // until when the API server refuses writes
	denial       Kind                           // and how
	strips       map[types.UID]stripping        // of objects that users replaced by their manifests
	rewinds      map[types.UID]resource.Managed // objects as they were stored until their API server was restored; shared
	forgotten    map[types.UID]bool             // objects that are not in the state that was restored, and whose resources were not to stay before
	undone       bool                           // a restore undid what users wrote
	unpublished  bool                           // a restore took what the provider wrote of another kind
	callers      map[types.UID]int              // the process that last called Create for an object
	creates      map[types.NamespacedName]int   // calls of Create
	exemptions   exemptions                     // in what nobody could prevent: a resource stays, or is a second one
	lost         exemptions                     // in what a create answered, so that its object may be blocked
	freed        exemptions                     // in that a user took the finalizer from what was being deleted: its resource is left to him
	stale        exemptions                     // in that a process did not read for a while
	late         int                            // changes outside that passes made since, in which it had not read yet what users wrote last
	misled       exemptions                     // in that what is somebody else's was said not to exist: what has that name may be deleted
	unlocked     exemptions                     // in that a process wrote over a version that came again after a restore: it was no lock
	heard        map[string]int                 // the process that has heard the key of a place, by key
	keyLost      map[types.UID]bool             // objects of which it was said that what Create told is lost
	undeleted    exemptions                     // in that what an object has was deleted by a process that did not know that a restore had undone the deletion

	judged       int                // changes of the server that are not the provider's last
	allowed      map[string]bool    // namespaces that objects in others name
	evicted      time.Time          // what objects are deleted with is deleted
	gone         map[types.UID]bool // objects that the provider let go
	vacated      map[string]bool    // external names of what others took away
	snatched     map[types.UID]bool // of them, those that nobody asked it about
	passes       int
	together     int                          // processes that were alive at once, at most
	atOnce       int                          // passes of one process that were under way at once, at most
	overdue      int                          // passes that a process began when another had taken over
	served       map[types.NamespacedName]int // passes
	loads        map[types.NamespacedName]*load
	writes       map[string]int    // of the provider, that changed something, by name of the object
	listed       int               // objects that were looked at by a list
	asked        int               // requests of the provider that could have changed something
	observations int               // so far
	shown        map[types.UID]int // the observation that the status is of
	blocked      int               // objects that an operator had to look after
	violation    []Violation
}

func newState() state {
	return state{
		counts: map[string]int{}, denied: map[types.NamespacedName]int{}, allowed: map[string]bool{},
		strips: map[types.UID]stripping{}, rewinds: map[types.UID]resource.Managed{}, forgotten: map[types.UID]bool{}, callers: map[types.UID]int{}, creates: map[types.NamespacedName]int{}, exemptions: exemptions{}, lost: exemptions{}, freed: exemptions{}, stale: exemptions{}, misled: exemptions{}, unlocked: exemptions{}, undeleted: exemptions{},
		heard: map[string]int{}, keyLost: map[types.UID]bool{}, gone: map[types.UID]bool{}, vacated: map[string]bool{}, snatched: map[types.UID]bool{},
		served: map[types.NamespacedName]int{}, loads: map[types.NamespacedName]*load{}, writes: map[string]int{}, shown: map[types.UID]int{},
	}
}

// clone returns a state of its own.
func (s state) clone() state {
	s.counts, s.denied, s.allowed = maps.Clone(s.counts), maps.Clone(s.denied), maps.Clone(s.allowed)
	s.gone, s.vacated, s.snatched = maps.Clone(s.gone), maps.Clone(s.vacated), maps.Clone(s.snatched)
	s.served, s.writes, s.shown = maps.Clone(s.served), maps.Clone(s.writes), maps.Clone(s.shown)
	s.strips, s.callers, s.creates = maps.Clone(s.strips), maps.Clone(s.callers), maps.Clone(s.creates)
	s.rewinds, s.forgotten = maps.Clone(s.rewinds), maps.Clone(s.forgotten)
	s.exemptions, s.lost, s.freed = maps.Clone(s.exemptions), maps.Clone(s.lost), maps.Clone(s.freed)
	s.heard, s.keyLost = maps.Clone(s.heard), maps.Clone(s.keyLost)
	s.stale, s.misled = maps.Clone(s.stale), maps.Clone(s.misled)
	s.unlocked, s.undeleted = maps.Clone(s.unlocked), maps.Clone(s.undeleted)
	s.loads, s.violation = cloned(s.loads), slices.Clone(s.violation)

	return s
}

// cloned returns a map to copies of what another leads to.
func cloned[K comparable, V any](of map[K]*V) map[K]*V {
	out := make(map[K]*V, len(of))
	for key, value := range of {
		out[key] = new(*value)
	}

	return out
}

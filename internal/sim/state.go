package sim

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// A state is the state of a World, without that of its parts.
type state struct {
	sequence     int  // of scheduled functions
	fired        int  // injected faults
	absent       Kind // the fault by which the next Observe reports that nothing exists; empty if none
	counts       map[string]int
	apiGone      time.Time                      // since when the API server is unavailable
	apiBack      time.Time                      // until when
	externalGone time.Time                      // since when the external system is unavailable
	externalBack time.Time                      // until when
	denied       map[types.NamespacedName]int   // calls of it meanwhile, by object
	refuses      time.Time                      // until when the external system refuses changes
	drops        time.Time                      // until when the API server does not store all that is written
	dropped      Kind                           // what it does not store
	denies       time.Time                      // until when the API server refuses writes
	denial       Kind                           // how
	strips       map[types.UID]stripping        // objects that users replaced by their manifests
	rewinds      map[types.UID]resource.Managed // objects as they were stored before a restore; shared
	// objects that the restored state does not have, and whose resources were not to stay
	forgotten   map[types.UID]bool
	undone      bool                         // a restore undid what users wrote
	unpublished bool                         // a restore removed what the provider wrote of another kind
	callers     map[types.UID]int            // the process that last called Create for an object
	creates     map[types.NamespacedName]int // calls of Create
	exemptions  exemptions                   // a resource may be left over, or be a second one
	lost        exemptions                   // the result of a Create may be lost, so that its object may be blocked
	// a user removed the finalizer during deletion: the resource is left to the user
	freed     exemptions
	stale     exemptions         // a process did not read for a while
	late      int                // external changes by passes that had not read the last change of users
	misled    exemptions         // a resource of another owner was reported as absent, and may be deleted by its name
	unlocked  exemptions         // a process wrote over a version that a restore reused, which was no lock
	keyHolder map[string]int     // the process that got the key of a resource, by key
	keyLost   map[types.UID]bool // objects for which the loss of the details of Create was reported
	undeleted exemptions         // a process that did not know that a restore undid the deletion deleted the resource

	judged       int                // changes of the server before the last operation
	allowed      map[string]bool    // namespaces that objects of other namespaces name
	evicted      time.Time          // when the Namespace or CustomResourceDefinition was deleted
	gone         map[types.UID]bool // objects that are gone
	vacated      map[string]bool    // external names of resources that were removed out of band
	raceDeleted  map[types.UID]bool // objects that a DeleteRace removed
	passes       int
	together     int                          // most processes that ran at once
	atOnce       int                          // most passes of one process in progress at once
	overdue      int                          // passes that a process began when another had taken over
	served       map[types.NamespacedName]int // passes
	loads        map[types.NamespacedName]*load
	writes       map[string]int    // changes by the provider, by name of the object
	listed       int               // observations by a list
	asked        int               // requests of the provider that could have changed something
	observations int               // so far
	shown        map[types.UID]int // the observation that the status shows
	blocked      int               // objects that an operator had to resolve
	violation    []Violation
}

func newState() state {
	return state{
		counts: map[string]int{}, denied: map[types.NamespacedName]int{}, allowed: map[string]bool{},
		strips: map[types.UID]stripping{}, rewinds: map[types.UID]resource.Managed{}, forgotten: map[types.UID]bool{},
		callers: map[types.UID]int{}, creates: map[types.NamespacedName]int{}, exemptions: exemptions{},
		lost:  exemptions{},
		freed: exemptions{}, stale: exemptions{}, misled: exemptions{}, unlocked: exemptions{}, undeleted: exemptions{},
		keyHolder: map[string]int{}, keyLost: map[types.UID]bool{}, gone: map[types.UID]bool{},
		vacated:     map[string]bool{},
		raceDeleted: map[types.UID]bool{},
		served:      map[types.NamespacedName]int{}, loads: map[types.NamespacedName]*load{}, writes: map[string]int{},
		shown: map[types.UID]int{},
	}
}

// clone returns a copy that shares nothing.
func (s state) clone() state {
	s.counts, s.denied, s.allowed = maps.Clone(s.counts), maps.Clone(s.denied), maps.Clone(s.allowed)
	s.gone, s.vacated, s.raceDeleted = maps.Clone(s.gone), maps.Clone(s.vacated), maps.Clone(s.raceDeleted)
	s.served, s.writes, s.shown = maps.Clone(s.served), maps.Clone(s.writes), maps.Clone(s.shown)
	s.strips, s.callers, s.creates = maps.Clone(s.strips), maps.Clone(s.callers), maps.Clone(s.creates)
	s.rewinds, s.forgotten = maps.Clone(s.rewinds), maps.Clone(s.forgotten)
	s.exemptions, s.lost, s.freed = maps.Clone(s.exemptions), maps.Clone(s.lost), maps.Clone(s.freed)
	s.keyHolder, s.keyLost = maps.Clone(s.keyHolder), maps.Clone(s.keyLost)
	s.stale, s.misled = maps.Clone(s.stale), maps.Clone(s.misled)
	s.unlocked, s.undeleted = maps.Clone(s.unlocked), maps.Clone(s.undeleted)
	s.loads, s.violation = cloned(s.loads), slices.Clone(s.violation)

	return s
}

// cloned returns a map of copies.
func cloned[K comparable, V any](of map[K]*V) map[K]*V {
	out := make(map[K]*V, len(of))
	for key, value := range of {
		out[key] = new(*value)
	}

	return out
}

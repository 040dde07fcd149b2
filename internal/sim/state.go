package sim

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// A state is the state of a World, without the state of its parts.
type state struct {
	sequence int // of scheduled functions
	fired    int // injected faults
	counts   map[string]int
	effects  effects
	undone   undone
	exempt   exempt
	keys     connectionKeys
	work     work

	callers      map[types.UID]int            // the process that last called Create for an object
	creates      map[types.NamespacedName]int // calls of Create
	judged       int                          // changes of the server before the last operation
	collected    int                          // changes of the server that the garbage collector has seen
	allowed      map[string]bool              // namespaces that objects of other namespaces name
	evicted      time.Time                    // when the Namespace or CustomResourceDefinition was deleted
	gone         map[types.UID]bool           // objects that are gone
	observations int                          // so far
	shown        map[types.UID]int            // the observation that the status shows
	blocked      int                          // objects that an operator had to resolve
	violation    []Violation
}

// An effects has the effects of faults that continue after the operation at which they were injected.
type effects struct {
	absent       Kind                         // by which the next Observe reports that nothing exists; empty if none
	apiGone      time.Time                    // since when the API server is unavailable
	apiBack      time.Time                    // until when
	externalGone time.Time                    // since when the external system is unavailable
	externalBack time.Time                    // until when
	denied       map[types.NamespacedName]int // calls of it meanwhile, by object
	refuses      time.Time                    // until when the external system refuses changes
	drops        time.Time                    // until when the API server does not store all that is written
	dropped      Kind                         // what it does not store
	denies       time.Time                    // until when the API server refuses writes
	denial       Kind                         // how
}

// An undone is what users and restores of the API server have undone.
type undone struct {
	strips  map[types.UID]stripping        // objects that users replaced by their manifests
	rewinds map[types.UID]resource.Managed // objects as they were stored before a restore; shared
	// objects that the restored state does not have, and whose resources were not to stay
	forgotten   map[types.UID]bool
	writes      bool // a restore undid what users wrote
	unpublished bool // a restore removed what the provider wrote of another kind
}

// An exempt has what excuses violations.
type exempt struct {
	surplus exemptions // a resource may be left over, or be a second one
	lost    exemptions // the result of a Create may be lost, so that its object may be blocked
	// a user removed the finalizer during deletion: the resource is left to the user
	freed       exemptions
	stale       exemptions         // a process did not read for a while
	late        int                // external changes by passes that had not read the last change of users
	misled      exemptions         // a resource of another owner was reported as absent, and may be deleted by its name
	unlocked    exemptions         // a process wrote over a version that a restore reused, which was no lock
	undeleted   exemptions         // a process that did not know that a restore undid the deletion deleted the resource
	vacated     map[string]bool    // external names of resources that were removed out of band
	raceDeleted map[types.UID]bool // objects that a DeleteRace removed
}

// A connectionKeys records where the keys are that only Create returns.
type connectionKeys struct {
	holder map[string]int     // the process that got the key of a resource, by key
	lost   map[types.UID]bool // objects for which the loss of the details of Create was reported
}

// A work counts what processes have done.
type work struct {
	passes   int
	together int                          // most processes that ran at once
	atOnce   int                          // most passes of one process in progress at once
	overdue  int                          // passes that a process began when another had taken over
	served   map[types.NamespacedName]int // passes
	loads    map[types.NamespacedName]*load
	writes   map[string]int // changes by the provider, by name of the object
	listed   int            // observations by a list
	asked    int            // requests of the provider that could have changed something
}

func newState() state {
	return state{
		counts:  map[string]int{},
		effects: effects{denied: map[types.NamespacedName]int{}},
		undone: undone{
			strips: map[types.UID]stripping{}, rewinds: map[types.UID]resource.Managed{}, forgotten: map[types.UID]bool{},
		},
		exempt: exempt{
			surplus: exemptions{}, lost: exemptions{}, freed: exemptions{}, stale: exemptions{}, misled: exemptions{},
			unlocked: exemptions{}, undeleted: exemptions{}, vacated: map[string]bool{}, raceDeleted: map[types.UID]bool{},
		},
		keys: connectionKeys{map[string]int{}, map[types.UID]bool{}},
		work: work{
			served: map[types.NamespacedName]int{}, loads: map[types.NamespacedName]*load{}, writes: map[string]int{},
		},
		callers: map[types.UID]int{}, creates: map[types.NamespacedName]int{}, allowed: map[string]bool{},
		gone: map[types.UID]bool{}, shown: map[types.UID]int{},
	}
}

// clone returns a copy that shares no memory.
func (s state) clone() state {
	s.counts, s.allowed, s.gone, s.shown = maps.Clone(s.counts), maps.Clone(s.allowed), maps.Clone(s.gone),
		maps.Clone(s.shown)
	s.callers, s.creates, s.violation = maps.Clone(s.callers), maps.Clone(s.creates), slices.Clone(s.violation)
	s.effects.denied = maps.Clone(s.effects.denied)
	s.undone, s.exempt = s.undone.clone(), s.exempt.clone()
	s.keys.holder, s.keys.lost = maps.Clone(s.keys.holder), maps.Clone(s.keys.lost)
	s.work.served, s.work.writes, s.work.loads = maps.Clone(s.work.served), maps.Clone(s.work.writes),
		cloned(s.work.loads)

	return s
}

func (u undone) clone() undone {
	u.strips, u.rewinds, u.forgotten = maps.Clone(u.strips), maps.Clone(u.rewinds), maps.Clone(u.forgotten)

	return u
}

func (e exempt) clone() exempt {
	e.surplus, e.lost, e.freed, e.stale = maps.Clone(e.surplus), maps.Clone(e.lost), maps.Clone(e.freed),
		maps.Clone(e.stale)
	e.misled, e.unlocked, e.undeleted = maps.Clone(e.misled), maps.Clone(e.unlocked), maps.Clone(e.undeleted)
	e.vacated, e.raceDeleted = maps.Clone(e.vacated), maps.Clone(e.raceDeleted)

	return e
}

// cloned returns a map of copies.
func cloned[K comparable, V any](of map[K]*V) map[K]*V {
	out := make(map[K]*V, len(of))
	for key, value := range of {
		out[key] = new(*value)
	}

	return out
}

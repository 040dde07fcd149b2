package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim"
)

// Nobody is for whom a resource was made that no object asked for.
const nobody types.UID = ""

// A ledger knows what exists in the external system, and for whom it was made: what
// appears while a client is told to create for an object was made for it. It is a
// sim.Outside.
type ledger struct {
	host  *host
	probe Probe
	delay time.Duration

	lax      bool // looks only after what may have changed something
	traits   sim.Traits
	have     map[string]Resource
	madeFor  map[string]types.UID
	granted  map[types.UID]string        // what objects may have that was not made for them
	creator  types.UID                   // for whom something was created last
	acted    time.Time                   // when something was changed last; real
	changes  int                         // of all that exists
	observed int                         // how often Observe has returned
	wanted   map[types.UID]wants         // what the resource of an object should be
	violate  func(property, text string) // whoever judges
	abort    func()                      // called when nothing can be judged any more
}

// Wants are fields of a State and their values. Fields that are not named may have
// any.
type wants map[string]string

// A difference is what two looks at the external system differ in.
type difference struct{ made, gone, changed []string }

func (d difference) empty() bool { return len(d.made)+len(d.gone)+len(d.changed) == 0 }

// String tells of the difference in words.
func (d difference) String() string {
	var parts []string
	for verb, ids := range map[string][]string{"created": d.made, "removed": d.gone, "changed": d.changed} {
		if len(ids) > 0 {
			parts = append(parts, verb+" "+strings.Join(ids, ", "))
		}
	}
	slices.Sort(parts)

	return strings.Join(parts, " and ")
}

// reset forgets everything but what exists.
func (l *ledger) reset() {
	l.madeFor, l.granted, l.wanted = map[string]types.UID{}, map[types.UID]string{}, map[types.UID]wants{}
	for id := range l.have {
		l.madeFor[id] = nobody
	}
	l.creator = nobody
}

// list asks the probe what exists.
func (l *ledger) list() (map[string]Resource, error) {
	var list []Resource
	err := l.host.call(context.Background(), "Probe.List", func(ctx context.Context) (err error) {
		list, err = l.probe.List(ctx)

		return err
	})
	if err != nil {
		return nil, errors.Wrap(err, "Probe.List fails")
	}
	out := map[string]Resource{}
	for _, r := range list {
		if r.ID == "" {
			return nil, errors.New("Probe.List returns a resource without an ID")
		}
		if _, twice := out[r.ID]; twice {
			return nil, errors.Errorf("Probe.List returns two resources with the ID %q", r.ID)
		}
		r.State = maps.Clone(r.State)
		out[r.ID] = r
	}

	return out, nil
}

// look brings the ledger up to date, and returns what is new. What appears was made
// for the given object. A probe that fails ends the suite.
func (l *ledger) look(maker types.UID) difference {
	now, err := l.list()
	if err != nil {
		_ = l.host.giveUp("probe-tells-the-truth", err.Error())

		return difference{}
	}
	var d difference
	for _, id := range slices.Sorted(maps.Keys(now)) {
		before, was := l.have[id]
		switch {
		case !was:
			d.made = append(d.made, id)
			l.madeFor[id] = maker
		case !maps.Equal(before.State, now[id].State):
			d.changed = append(d.changed, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.have)) {
		if _, is := now[id]; !is {
			d.gone = append(d.gone, id)
		}
	}
	l.have = now
	if !d.empty() {
		l.changes++
	}

	return d
}

// mistakable says whether nobody can tell the resource of mg from that of another
// object of its name: names are chosen, and owners are not stored.
func (l *ledger) mistakable(id string, mg resource.Managed) bool {
	return l.traits.Named && !l.traits.Stamped && id == meta.GetExternalName(mg) && l.madeFor[id] != nobody
}

// trespassed tells what a call for an object changed that is not the object's.
func (l *ledger) trespassed(d difference, before map[string]types.UID, mg resource.Managed) string {
	var out []string
	object := mg.GetUID()
	for verb, ids := range map[string][]string{"removed": d.gone, "changed": d.changed} {
		for _, id := range ids {
			if of, was := before[id]; was && of != object && l.granted[object] != id && !l.mistakable(id, mg) {
				out = append(out, fmt.Sprintf("%s %s, which %s", verb, id, whose(of)))
			}
		}
	}
	slices.Sort(out)

	return strings.Join(out, " and ")
}

func whose(of types.UID) string {
	if of == nobody {
		return "belongs to somebody else"
	}

	return "was made for the object " + string(of)
}

// Traits are those of the class that the suite claims.
func (l *ledger) Traits() sim.Traits { return l.traits }

// Changes that were seen.
func (l *ledger) Changes() int { return l.changes }

// Of returns what was made for an object, or given to it.
func (l *ledger) Of(object types.UID) []string {
	var ids []string
	for id, r := range l.have {
		if l.madeFor[id] == object && object != nobody && !r.Deleting {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)

	return ids
}

// MadeFor returns for whom the resource was made by whose id mg refers to it.
func (l *ledger) MadeFor(mg resource.Managed) (types.UID, bool) {
	id := meta.GetExternalName(mg)
	_, exists := l.have[id]
	if l.mistakable(id, mg) {
		return mg.GetUID(), exists
	}

	return l.madeFor[id], exists
}

// Lacks compares the resource of mg with what it should be.
func (l *ledger) Lacks(mg resource.Managed) string {
	r, exists := l.have[meta.GetExternalName(mg)]
	switch {
	case meta.GetExternalName(mg) == "":
		return "it has no external name"
	case !exists || r.Deleting:
		return fmt.Sprintf("its resource %q does not exist", meta.GetExternalName(mg))
	}
	if why := lacks(r, l.wanted[mg.GetUID()]); why != "" {
		return why
	}
	if told := mg.GetCondition(commonv1.TypeReady).ObservedGeneration; told != 0 && told != mg.GetGeneration() {
		return fmt.Sprintf("it is called ready, or not, for generation %d instead of %d", told, mg.GetGeneration())
	}

	return ""
}

// lacks says in what a resource is not as it should be.
func lacks(r Resource, want wants) string {
	for _, field := range slices.Sorted(maps.Keys(want)) {
		if got := r.State[field]; got != want[field] {
			return fmt.Sprintf("%s of its resource %q is %q instead of %q", field, r.ID, got, want[field])
		}
	}

	return ""
}

// Summary tells what exists.
func (l *ledger) Summary() string {
	var lines []string
	for id, r := range l.have {
		lines = append(lines, fmt.Sprint(id, " for ", l.madeFor[id], " ", r.State, r.Deleting))
	}
	slices.Sort(lines)

	return strings.Join(lines, "\n")
}

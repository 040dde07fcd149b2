package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// noObject is the UID for resources that were not created for any object.
const noObject types.UID = ""

// A ledger tracks the resources in the external system, and the object for which each was created. If a resource
// appears during a Create, it was created for the object of this call. A ledger implements sim.ExternalSystem.
type ledger struct {
	host  *host
	probe Probe
	wire  *wire
	delay time.Duration

	afterMutationsOnly bool // refresh only after mutating calls
	traits             sim.Traits
	existing           map[string]Resource
	madeFor            map[string]types.UID
	adoptable          map[types.UID]string        // resources that objects may adopt
	creator            types.UID                   // the object of the last Create
	lastMutation       time.Time                   // time of the last mutation; real
	slowest            time.Duration               // change by a direct call, until its effect showed; real
	changes            int                         // number of changes of all resources
	observeCount       int                         // number of Observe calls that returned
	wanted             map[types.UID]wantedFields  // wanted state of the resource of an object
	named              namedDifferences            // by the client
	violate            func(property, text string) // records a violation
	later              func(property, text string) // records a violation that is reported last
	warn               func(text string)           // adds a warning to the log of Run
	abort              func()                      // called when the suite was stopped
}

// wantedFields holds the wanted values of fields of a State. Other fields may have any
// value.
type wantedFields map[string]string

// A difference is the difference between two lists of the resources in the external system.
type difference struct{ created, removed, changed []string }

// empty reports whether the lists were equal.
func (d difference) empty() bool { return len(d.created)+len(d.removed)+len(d.changed) == 0 }

// String lists the created, removed and changed resources.
func (d difference) String() string {
	var parts []string
	for verb, ids := range map[string][]string{"created": d.created, "removed": d.removed, "changed": d.changed} {
		if len(ids) > 0 {
			parts = append(parts, verb+" "+strings.Join(ids, ", "))
		}
	}
	slices.Sort(parts)

	return strings.Join(parts, " and ")
}

// reset removes all state except the existing resources.
func (l *ledger) reset() {
	l.madeFor, l.adoptable, l.wanted = map[string]types.UID{}, map[types.UID]string{}, map[types.UID]wantedFields{}
	for id := range l.existing {
		l.madeFor[id] = noObject
	}
	l.creator = noObject
}

// list returns the resources of the external system. It reads them with the probe.
func (l *ledger) list() (map[string]Resource, error) {
	var list []Resource
	err := l.host.callProbe("Probe.List", func(ctx context.Context) (err error) {
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

// refresh lists the resources, and returns the difference to the previous list. It records that new resources were
// created for maker. An error of the probe stops the suite.
func (l *ledger) refresh(maker types.UID) difference {
	now, err := l.list()
	if err != nil {
		_ = l.host.giveUpProbe(err.Error(), err)

		return difference{}
	}
	var d difference
	for _, id := range slices.Sorted(maps.Keys(now)) {
		before, was := l.existing[id]
		switch {
		case !was:
			d.created = append(d.created, id)
			l.madeFor[id] = maker
		case !maps.Equal(before.State, now[id].State):
			d.changed = append(d.changed, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.existing)) {
		if _, is := now[id]; !is {
			d.removed = append(d.removed, id)
		}
	}
	l.existing = now
	if !d.empty() {
		l.changes++
	}

	return d
}

// isIndistinguishable reports whether the resource of mg cannot be distinguished from the resource of another object
// with the same name. This is the case if the provider chooses the name and the external system does not store owners.
func (l *ledger) isIndistinguishable(id string, mg resource.Managed) bool {
	return l.traits.Named && !l.traits.Stamped && id == meta.GetExternalName(mg) && l.madeFor[id] != noObject
}

// describeForeignChanges describes the changes that a call has made to resources of other objects. It returns "" if
// there are none.
func (l *ledger) describeForeignChanges(d difference, before map[string]types.UID, mg resource.Managed) string {
	var out []string
	object := mg.GetUID()
	for verb, ids := range map[string][]string{"removed": d.removed, "changed": d.changed} {
		for _, id := range ids {
			if of, was := before[id]; was && of != object && l.adoptable[object] != id &&
				!l.isIndistinguishable(id, mg) {
				out = append(out, fmt.Sprintf("%s %s, which %s", verb, id, describeOwner(of)))
			}
		}
	}
	slices.Sort(out)

	return strings.Join(out, " and ")
}

// describeOwner describes the owner of a resource.
func describeOwner(of types.UID) string {
	if of == noObject {
		return "belongs to another owner"
	}

	return "was made for another object, " + string(of)
}

// Traits returns the traits of the suite's class.
func (l *ledger) Traits() sim.Traits { return l.traits }

// Changes returns the number of changes that the ledger has detected.
func (l *ledger) Changes() int { return l.changes }

// Of returns the IDs of the resources that were created for an object or adopted by it.
func (l *ledger) Of(object types.UID) []string {
	var ids []string
	for id, r := range l.existing {
		if l.madeFor[id] == object && object != noObject && !r.Deleting {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)

	return ids
}

// MadeFor returns the UID of the object for which the resource of mg was created. It also reports whether the resource
// exists.
func (l *ledger) MadeFor(mg resource.Managed) (types.UID, bool) {
	id := meta.GetExternalName(mg)
	_, exists := l.existing[id]
	if l.isIndistinguishable(id, mg) {
		return mg.GetUID(), exists
	}

	return l.madeFor[id], exists
}

// Lacks describes how the resource of mg differs from its wanted state. It returns "" if there is no difference.
func (l *ledger) Lacks(mg resource.Managed) string {
	r, exists := l.existing[meta.GetExternalName(mg)]
	switch {
	case meta.GetExternalName(mg) == "":
		return "it has no external name"
	case !exists || r.Deleting:
		return fmt.Sprintf("its resource %q does not exist", meta.GetExternalName(mg))
	}
	if why := describeMismatch(r, l.wanted[mg.GetUID()]); why != "" {
		return why
	}
	if generation := mg.GetCondition(commonv1.TypeReady).ObservedGeneration; generation != 0 &&
		generation != mg.GetGeneration() {
		return fmt.Sprintf("it is called ready, or not, for generation %d instead of %d", generation,
			mg.GetGeneration())
	}

	return ""
}

// describeMismatch describes how a resource differs from its wanted state. It returns "" if there is no difference.
func describeMismatch(r Resource, want wantedFields) string {
	for _, field := range slices.Sorted(maps.Keys(want)) {
		if got := r.State[field]; got != want[field] {
			return fmt.Sprintf("%s of its resource %q is %q instead of %q", field, r.ID, got, want[field])
		}
	}

	return ""
}

// describeChanges describes how the resources differ from those of before: field by field, with both values.
func (l *ledger) describeChanges(before map[string]Resource) string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(l.existing)) {
		was, existed := before[id]
		if !existed {
			out = append(out, fmt.Sprintf("it made %q", id))

			continue
		}
		now := l.existing[id]
		for _, field := range slices.Sorted(maps.Keys(mergedKeys(was.State, now.State))) {
			if a, b := was.State[field], now.State[field]; a != b {
				out = append(out, fmt.Sprintf("%s of %q was %s and is %s", field, id, quotedBeside(a, b), quotedBeside(b, a)))
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if _, exists := l.existing[id]; !exists {
			out = append(out, fmt.Sprintf("it removed %q", id))
		}
	}

	return strings.Join(out, ", ")
}

// mergedKeys returns a map with the keys of both maps.
func mergedKeys(a, b map[string]string) map[string]string {
	out := maps.Clone(b)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, a)

	return out
}

// maxQuoted is the maximum length of a quoted value, in bytes.
const maxQuoted = 80

// quoted returns a quoted value, shortened if it is long.
func quoted(value string) string {
	if len(value) > maxQuoted {
		value = strings.ToValidUTF8(value[:maxQuoted], "") + "..."
	}

	return strconv.Quote(value)
}

// quotedBeside quotes a value, shortened so that what differs from the other value stays.
func quotedBeside(value, other string) string {
	same := 0
	for same < min(len(value), len(other)) && value[same] == other[same] {
		same++
	}
	if len(value) <= maxQuoted || same < maxQuoted/2 {
		return quoted(value)
	}

	return quoted("..." + strings.ToValidUTF8(value[same-maxQuoted/4:], ""))
}

// Summary lists the resources that exist.
func (l *ledger) Summary() string {
	var lines []string
	for id, r := range l.existing {
		lines = append(lines, fmt.Sprint(id, " for ", l.madeFor[id], " ", r.State, r.Deleting))
	}
	slices.Sort(lines)

	return strings.Join(lines, "\n")
}

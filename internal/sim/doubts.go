package sim

import (
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// DoubtsAt returns the doubts (see IsDoubt) that make a difference at an operation. If usual is set, each doubt is
// returned once, with its usual duration. Otherwise it is returned once for each duration.
func DoubtsAt(o Operation, usual bool) (out []Variant) {
	for _, d := range doubts {
		at := d.remote
		switch {
		case !o.External && o.Mutates:
			at = d.write
		case !o.External:
			at = d.read
		}
		if o.cached() && (slices.Contains(answers, d.kind) || d.kind.BlocksCall()) {
			continue // a cache answers
		}
		if ops, limited := onlyAt[d.kind]; !at || limited && !slices.Contains(ops, o.Name) {
			continue
		}
		out = append(out, Variant{Kind: d.kind})
		for _, last := range d.last {
			if !usual {
				out = append(out, Variant{Kind: d.kind, For: last})
			}
		}
		for _, writes := range d.writes {
			if !usual {
				out = append(out, Variant{Kind: d.kind, Writes: writes})
			}
		}
	}

	return out
}

// answers are the doubts that replace a response of the API server.
var answers = []Kind{Unserved, UnservedKind, UnservedForbidden, UnservedGateway}

// IsDoubt returns whether the kind is a doubt. A doubt is a fault after which the API server or the external system
// reports or stores something wrong.
func IsDoubt(k Kind) bool {
	for _, d := range doubts {
		if d.kind == k {
			return true
		}
	}

	return false
}

// doubts are the faults after which the platform reports or stores something wrong. A search explores them separately.
var doubts = []struct {
	kind                Kind
	write, read, remote bool // at writes and reads of the API server, and at calls of the external system
	last                []time.Duration
	writes              []int
}{
	{kind: Strip, write: true, read: true, remote: true},
	{kind: StripAnnotations, write: true, read: true, remote: true},
	{kind: StripFinalizers, write: true, read: true, remote: true},
	{kind: StripOne, write: true, read: true, writes: []int{2, 3, 4, 5}},
	{kind: Outdate, write: true, read: true, remote: true},
	{kind: Unserved, write: true, read: true},
	{kind: UnservedKind, write: true, read: true},
	{kind: UnservedForbidden, write: true, read: true},
	{kind: UnservedGateway, write: true, read: true},
	{kind: UnservedAfter, write: true},
	{kind: UnservedForbiddenAfter, write: true},
	{kind: Panics, remote: true},
	{kind: PanicsAfter, remote: true},
	{kind: Refused, write: true, remote: true, last: []time.Duration{5 * time.Second, 10 * time.Minute}},
	{kind: RefusedSize, write: true, remote: true, last: []time.Duration{5 * time.Second, 10 * time.Minute}},
	{kind: RefusedAccess, write: true, remote: true, last: []time.Duration{5 * time.Second, 10 * time.Minute}},
	{kind: AbsentLive, remote: true},
	{kind: DroppedAnnotations, write: true, remote: true, last: []time.Duration{time.Millisecond, 10 * time.Minute}},
	{kind: DroppedFinalizers, write: true, remote: true, last: []time.Duration{time.Millisecond, 10 * time.Minute}},
	{kind: DroppedStatus, write: true, remote: true, last: []time.Duration{time.Millisecond, 10 * time.Minute}},
	{kind: Rewound, write: true, read: true, remote: true, writes: []int{2, 3, 5}},
	{kind: RewoundDown, write: true, read: true, remote: true, writes: []int{2}},
	{kind: Deaf, write: true, read: true, remote: true, last: []time.Duration{2 * time.Minute}},
	{kind: DeafAfter, write: true, read: true, remote: true, last: []time.Duration{2 * time.Minute}},
	{kind: Relist, write: true, read: true, remote: true,
		last: []time.Duration{time.Millisecond, 50 * time.Second, 3 * time.Minute}},
}

// doubt injects a doubt, or an action of a user, before an operation. It returns true if the doubt replaces the
// operation.
func (w *World) doubt(p *process, o Operation, f Fault) (bool, error) {
	switch f.Kind {
	case Strip, StripAnnotations, StripFinalizers, StripOne:
		w.strip(f)
	case Outdate:
		w.outdate()
	case Unserved, UnservedKind, UnservedForbidden, UnservedGateway:
		return true, o.page(f.Kind)
	case AbsentLive:
		if w.effects.absent = ""; o.mg != nil && !isDeleted(o.mg) && !w.ownedByOther(w.nameOf(o.mg)) {
			w.effects.absent = f.Kind
		}
		w.notSeen(o, f)
	case DroppedAnnotations, DroppedFinalizers, DroppedStatus:
		w.effects.drops, w.effects.dropped = w.now().Add(f.duration()), f.Kind
	case Refused, RefusedSize, RefusedAccess:
		w.effects.denies, w.effects.denial = w.now().Add(f.duration()), f.Kind
	case Relist:
		w.breaksWatch(p, f)
	case Rewound:
		w.rewind(f)
	case RewoundDown:
		p.ending.restore = &f
		p.stop(stopKind(o, f))
	case Panics:
		_ = w.note(len(w.trace)-1, errors.New("panicked"))
		panic(clientPanic(o.leakyError(p)))
	default:
		w.users.act(f)
	}

	return false, nil
}

// notSeen exempts an object whose resource was never observed under its name and is now reported as absent. The
// reconciler has no reason to doubt that report.
func (w *World) notSeen(o Operation, f Fault) {
	if o.mg == nil || w.external.Traits().Named {
		return
	}
	now := w.stored(o.mg)
	if now == nil || createdNames(now, externalName(o.mg)) {
		return
	}
	if live := w.external.Of(o.mg.GetUID()); w.users.adopted[o.mg.GetUID()] && len(live) <= 1 {
		w.exempt.vacated[externalName(o.mg)] = true
		w.users.left[o.mg.GetUID()] = true
		w.exempt.surplus.add(f.Kind, now)
	}
}

package sim

import (
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// doubts are faults after which the platform reports or stores something wrong. They are explored separately: see
// Explorer.Doubts.
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

// answers has the doubts that replace an answer of the API server.
var answers = []Kind{Unserved, UnservedKind, UnservedForbidden, UnservedGateway}

// companions has the faults that doubts are combined with, in both orders: a process that dies, a user who changes or
// deletes the object, and one who replaces it.
var companions = []Kind{Crash, CrashAfter, Edit, Delete, Strip}

func doubted(k Kind) bool {
	for _, d := range doubts {
		if d.kind == k {
			return true
		}
	}

	return false
}

// doubtsAt returns the doubts that make sense at an operation, with every duration or only with the usual one.
func doubtsAt(o operation, usual bool) (out []variant) {
	for _, d := range doubts {
		at := d.remote
		switch {
		case !o.external && o.mutates:
			at = d.write
		case !o.external:
			at = d.read
		}
		if o.cached() && (slices.Contains(answers, d.kind) || d.kind.blocksCall()) {
			continue // a cache answers
		}
		if ops, limited := onlyAt[d.kind]; !at || limited && !slices.Contains(ops, o.name) {
			continue
		}
		out = append(out, variant{kind: d.kind})
		for _, last := range d.last {
			if !usual {
				out = append(out, variant{kind: d.kind, last: last})
			}
		}
		for _, writes := range d.writes {
			if !usual {
				out = append(out, variant{kind: d.kind, writes: writes})
			}
		}
	}

	return out
}

// companionsAt returns the companions that make sense at an operation.
func companionsAt(o operation) (out []variant) {
	for _, v := range kindsAt(o, false, true) {
		if v.usual() && slices.Contains(companions, v.kind) {
			out = append(out, v)
		}
	}
	if doubts := doubtsAt(o, true); slices.Contains(doubts, variant{kind: Strip}) {
		out = append(out, variant{kind: Strip})
	}

	return out
}

// kindsInDoubt returns the faults that an Explorer of doubts tries at an operation.
func (e *Explorer) kindsInDoubt(o operation, usual bool) []variant {
	out := doubtsAt(o, usual)
	if e.depth() < 2 {
		return out
	}
	for _, v := range companionsAt(o) {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}

	return out
}

// afterDoubt returns the faults that are tried at a boundary after another fault: a companion after a doubt, and a
// doubt after a companion, unless they were explored.
func (e *Explorer) afterDoubt(t faultPoint, depth int) (out []variant) {
	s, last := t.step(), t.run.Schedule.Faults[len(t.run.Schedule.Faults)-1].Kind
	add := func(name string, kinds []variant) {
		if !e.Unpruned && e.wasExplored(s.hash, s.op.name+" "+name, e.depth()-depth) {
			e.Pruned += len(kinds)

			return
		}
		for _, v := range kinds {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	if doubted(last) {
		add("companions", companionsAt(s.op))
	}
	if slices.Contains(companions, last) {
		add("doubts", doubtsAt(s.op, true))
	}

	return out
}

// notSeen exempts an object whose resource was never observed under its name, and is then reported as absent: the
// reconciler has no reason to doubt that.
func (w *World) notSeen(o operation, f Fault) {
	if o.mg == nil || w.external.Traits().Named {
		return
	}
	now := w.stored(o.mg)
	if now == nil || createdNames(now, externalName(o.mg)) {
		return
	}
	if live := w.external.Of(o.mg.GetUID()); w.users.adopted[o.mg.GetUID()] && len(live) <= 1 {
		w.vacated[externalName(o.mg)] = true
		w.users.left[o.mg.GetUID()] = true
		w.exemptions.add(f.Kind, now)
	}
}

// doubt injects a doubt, or an action of a user, before an operation. If it answers in place of the operation it
// returns true.
func (w *World) doubt(p *process, o operation, f Fault) (bool, error) {
	switch f.Kind {
	case Strip, StripAnnotations, StripFinalizers, StripOne:
		w.strip(f)
	case Outdate:
		w.outdate()
	case Unserved, UnservedKind, UnservedForbidden, UnservedGateway:
		return true, o.page(f.Kind)
	case AbsentLive:
		if w.absent = ""; o.mg != nil && !isDeleted(o.mg) && !w.ownedByOther(w.nameOf(o.mg)) {
			w.absent = f.Kind
		}
		w.notSeen(o, f)
	case DroppedAnnotations, DroppedFinalizers, DroppedStatus:
		w.drops, w.dropped = w.now().Add(f.duration()), f.Kind
	case Refused, RefusedSize, RefusedAccess:
		w.denies, w.denial = w.now().Add(f.duration()), f.Kind
	case Relist:
		w.breaksWatch(p, f)
	case Rewound:
		w.rewind(f)
	case RewoundDown:
		p.ends = &f
		p.stop(stopKind(o, f))
	case Panics:
		_ = w.note(len(w.trace)-1, errors.New("panicked"))
		panic(clientPanic(o.leakyError(p)))
	default:
		w.users.act(f)
	}

	return false, nil
}

package sim

import (
	"context"
	"slices"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// Every kind of fault, and where it makes a difference. Pairs says where it is
// combined with others: at an operation that only reads, what happens after it is
// what happens before the next one, and an answer that is lost is a failure.
var kinds = []struct {
	kind                Kind
	write, read, remote bool // at writes and reads of the API server, and at calls of the external system
	pairs               where
}{
	{Fail, true, true, true, atReads},
	{Refuse, false, false, true, nowhereElse},
	{Throttle, true, false, true, nowhereElse},
	{Conflict, true, false, true, atWrites},
	{Lost, true, false, true, atWrites},
	{LostTold, false, false, true, nowhereElse},
	{Hang, true, false, true, nowhereElse},
	{HangAfter, true, false, true, nowhereElse},
	{Crash, true, true, true, atReads | atWrites},
	{CrashAfter, true, true, true, atWrites},
	{Stop, true, false, true, nowhereElse},
	{StopAfter, true, false, true, atWrites},
	{Outage, true, false, true, atWrites},
	{Freeze, true, false, true, nowhereElse},
	{Stale, true, false, true, atWrites},
	{ClockBack, true, false, true, nowhereElse},
	{ClockAhead, true, false, true, nowhereElse},
	{Usurp, true, false, true, atWrites},
	{Edit, true, false, true, atReads | atWrites},
	{Delete, true, false, true, nowhereElse},
	{Pause, true, false, true, nowhereElse},
	{Drift, false, false, true, nowhereElse},
	{Absent, false, false, true, nowhereElse},
	{Refusing, false, false, true, nowhereElse},
	{ExternalOut, false, false, true, nowhereElse},
	{Vanish, false, false, true, nowhereElse},
	{Squat, false, false, true, nowhereElse},
	{Snatch, true, false, false, nowhereElse},
}

// What else goes wrong at reads that no cache answers: what is decided after them is decided late.
var uncached = []Kind{Throttle, Hang}

// lone says whether faults of the kind are not combined with others at an operation unless those
// of every kind are.
func lone(o operation, k Kind) bool {
	return !o.external && !o.mutates && slices.Contains(uncached, k)
}

// Where faults of some kinds make a difference, of those operations; elsewhere they are
// nothing, or nobody could help it: what takes the place of a resource after it was
// looked at, and before it is changed, is changed. Only who serves it could refuse.
var places = map[Kind][]string{
	Absent: {"Observe"},
	Vanish: {"Connect", "Observe", "Recover", "Create", "Update", "Delete"},
	Squat:  {"Connect", "Observe", "Create", "Recover"},
	Snatch: {"patch"},

	LostTold: {"Create"},

	AbsentLive:  {"Observe"},
	Panics:      {"Connect", "Observe", "Recover", "Create", "Update", "Delete", "Disconnect"},
	PanicsAfter: {"Connect", "Observe", "Recover", "Create", "Update", "Delete", "Disconnect"},
}

// Where faults are combined with others.
type where int

const (
	atReads where = 1 << iota
	atWrites

	nowhereElse where = 0
)

func known(kind Kind) bool {
	for _, k := range kinds {
		if k.kind == kind {
			return true
		}
	}

	return doubted(kind)
}

// kindsAt returns the kinds of faults that make sense at an operation, or those of
// them that are combined with others, with crashes on both sides if these are asked
// for.
func kindsAt(o operation, combined, crashes bool) []variant {
	var out []variant
	for _, k := range kinds {
		at := atReads
		if o.mutates {
			at = atWrites
		}
		if at, limited := places[k.kind]; limited && !slices.Contains(at, o.name) {
			continue
		}
		read := k.read || lone(o, k.kind) && !o.cached()
		possible := o.external && k.remote || !o.external && (o.mutates && k.write || !o.mutates && read)
		if possible && (!combined || k.pairs&at != 0 || crashes && k.kind == CrashAfter) {
			out = append(out, variant{kind: k.kind})
			if combined {
				continue
			}
			for _, last := range others[k.kind] {
				out = append(out, variant{kind: k.kind, last: last})
			}
			for n := 2; k.kind == LostTold && n <= len(toldErrors); n++ {
				out = append(out, variant{kind: k.kind, writes: n})
			}
		}
	}

	return out
}

// A variant is a kind of fault, and how long it lasts, or how much it undoes.
type variant struct {
	kind   Kind
	last   time.Duration
	writes int
}

// usual says whether it lasts as long, and undoes as much, as is usual.
func (v variant) usual() bool { return v.last == 0 && v.writes == 0 }

// How long faults last besides the usual.
var others = map[Kind][]time.Duration{
	Outage:      {50 * time.Millisecond, time.Second, 40 * time.Second, 2 * time.Minute, 15 * time.Minute},
	Freeze:      {120 * time.Millisecond, time.Minute},
	Crash:       {2 * time.Minute},
	CrashAfter:  {2 * time.Minute},
	ClockBack:   {time.Second, time.Hour},
	ClockAhead:  {time.Hour},
	ExternalOut: {time.Second, 10 * time.Minute},
	Usurp:       {50 * time.Second},
	Refusing:    {10 * time.Minute},
	Squat:       {10 * time.Minute},
}

// A crash is what a process panics with when it dies. Only the boundary of the
// process recovers from it.
type crash struct{ process *process }

// EndsProcess keeps the reconciler from recovering.
func (crash) EndsProcess() {}

// String is what a sink's caller says, who goes on, and has no effect any more.
func (crash) String() string { return "the process died" }

// A clientPanic is what a client panics with. The reconciler makes an error of its call of it.
type clientPanic string

// panicked ends a pass as controller-runtime does if a panic comes to it.
func (p *process) panicked(i *item, with clientPanic) {
	err := errors.Errorf("panic: %s [recovered]", string(with))
	p.queue.done(p.world.now(), i.key, i.priority, reconcile.Result{}, err)
	p.world.violate("L3", "a panic of a client came to the queue: the object does not tell of it")
}

// talks says whether the fault makes the external system say something.
func (f Fault) talks() bool {
	return slices.Contains([]Kind{Fail, Refuse, Throttle, Conflict, Lost, LostTold, Refusing, ExternalOut, Panics, PanicsAfter}, f.Kind)
}

// before is what a fault does before an operation. If it answers in the
// operation's place it returns true.
func (w *World) before(ctx context.Context, p *process, o operation, f Fault) (bool, error) {
	w.readsLate(f)
	w.loses(p, o, f)
	switch f.Kind {
	case Fail:
		return true, o.failure(p)
	case Refuse:
		return true, external.NotCreated(o.refusal(p))
	case Throttle:
		busy := kerrors.NewTooManyRequests("slow down: "+o.blab(p), 1)
		if o.external {
			return true, external.Throttled("", 0, busy)
		}

		return true, busy
	case Conflict:
		if o.external {
			return true, kerrors.NewConflict(schema.GroupResource{Resource: "things"}, "x", errors.New("changed meanwhile: "+o.blab(p)))
		}
		w.users.Touch()
	case Absent:
		if w.absent = ""; o.mg != nil && isDeleted(o.mg) {
			w.absent = f.Kind
		}
	case Hang:
		<-ctx.Done()

		return true, ctx.Err()
	case Crash, Stale:
		p.die(f)
	case Stop:
		p.stop(stopKind(o, f))
	case Outage:
		if w.now().After(w.apiBack) {
			w.apiGone = w.now()
		}
		w.apiBack = w.now().Add(f.duration())
		w.unleased(p)
	case Refusing:
		w.refuses = w.now().Add(f.duration())
	case ExternalOut:
		if w.now().After(w.externalBack) {
			w.externalGone = w.now()
			clear(w.denied)
		}
		w.externalBack = w.now().Add(f.duration())
	case Freeze:
		p.cache.frozen = w.now().Add(f.duration())
	case Usurp:
		w.usurp(p, f)
	case Vanish, Squat:
		w.displace(o, f)
	case Deaf:
		return true, w.deafen(ctx, p, o, f)
	default:
		return w.doubt(p, o, f)
	}

	return false, nil
}

// after is what a fault does after an operation.
func (w *World) after(ctx context.Context, p *process, o operation, f Fault, err error) error {
	w.loses(p, o, f)
	switch f.Kind { //nolint:exhaustive // the others do nothing afterwards
	case Lost:
		if err == nil {
			w.losesUntold(o)

			return o.lost(p)
		}
	case LostTold:
		if err == nil {
			return o.lostTold(p, f)
		}
	case UnservedAfter, UnservedForbiddenAfter:
		if err == nil {
			return o.page(f.Kind)
		}
	case HangAfter:
		<-ctx.Done()

		return ctx.Err()
	case DeafAfter:
		if late := w.deafen(ctx, p, o, f); err == nil && !o.external {
			return late
		}
	case PanicsAfter:
		w.tells(p, o, "panicked", false)
		panic(clientPanic(o.blab(p)))
	case CrashAfter, ClockBack, ClockAhead:
		p.die(f)
	case StopAfter:
		p.stop(stopKind(o, f))
	case Snatch:
		w.snatch(p, o)
	}

	return err
}

// stopKind returns which kind of fault a process is asked to stop by.
func stopKind(o operation, f Fault) Kind {
	if o.external {
		return graceful
	}

	return f.Kind
}

func isAfter(k Kind) bool {
	return slices.Contains([]Kind{Lost, LostTold, HangAfter, CrashAfter, ClockBack, ClockAhead, StopAfter, Snatch, PanicsAfter, DeafAfter, UnservedAfter, UnservedForbiddenAfter}, k)
}

// lost is the error of an operation whose answer is lost. Where a reconciler takes an error of Create
// that says neither for a failure, a client has to tell that something may have been created, as
// check create-errors-tell of package conformance holds it to.
func (o operation) lost(p *process) error {
	if o.name == "Create" && o.external && p.world.harbour == nil {
		return external.MaybeCreated(o.failure(p))
	}

	return o.failure(p)
}

// failure is the error of an operation that nothing can be told from.
func (o operation) failure(p *process) error {
	if o.external {
		return errors.New("the external system failed: " + o.blab(p))
	}

	return kerrors.NewInternalError(errors.New("the API server failed, Authorization: Bearer " + canary))
}

// refusal is the error of a call that surely had no effect.
func (o operation) refusal(p *process) error { return errors.New("refused: " + o.blab(p)) }

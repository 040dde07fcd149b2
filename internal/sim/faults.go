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

// A pairing is the set of operations at which a kind of fault is combined with others.
type pairing int

const (
	pairedAtReads pairing = 1 << iota
	pairedAtWrites

	neverPaired pairing = 0
)

// A Variant is a kind of fault with its duration, or with the number of writes that it undoes. Zero means the usual
// value.
type Variant struct {
	Kind   Kind
	For    time.Duration
	Writes int
}

// KindsAt returns the kinds of faults that make a difference at an operation, with all their durations. If combined is
// set, it returns only the kinds to combine with other faults, each with its usual duration. If both combined and
// crashes are set, the result includes crashes before and after the operation.
func KindsAt(o Operation, combined, crashes bool) []Variant {
	var out []Variant
	for _, k := range kinds {
		at := pairedAtReads
		if o.Mutates {
			at = pairedAtWrites
		}
		if at, limited := onlyAt[k.kind]; limited && !slices.Contains(at, o.Name) {
			continue
		}
		read := k.read || RarelyPaired(o, k.kind) && !o.cached()
		possible := o.External && k.remote || !o.External && (o.Mutates && k.write || !o.Mutates && read)
		if possible && (!combined || k.pairs&at != 0 || crashes && k.kind == CrashAfter) {
			out = append(out, Variant{Kind: k.kind})
			if combined {
				continue
			}
			for _, last := range durations[k.kind] {
				out = append(out, Variant{Kind: k.kind, For: last})
			}
			for n := 2; k.kind == LostReported && n <= len(reportedErrors); n++ {
				out = append(out, Variant{Kind: k.kind, Writes: n})
			}
		}
	}

	return out
}

// onlyAt restricts some kinds to the operations at which they make a difference. At other operations they have no
// effect, or nothing can prevent their effect. For instance, a resource that is replaced after it was observed and
// before it is changed is changed: only the external system could refuse that.
var onlyAt = map[Kind][]string{
	Absent:     {"Observe"},
	Vanish:     {"Connect", "Observe", "Recover", "Create", "Update", "Delete"},
	NameTaken:  {"Connect", "Observe", "Create", "Recover"},
	DeleteRace: {"patch"},

	LostReported: {"Create"},

	AbsentLive:  {"Observe"},
	Panics:      {"Connect", "Observe", "Recover", "Create", "Update", "Delete", "Disconnect"},
	PanicsAfter: {"Connect", "Observe", "Recover", "Create", "Update", "Delete", "Disconnect"},
}

// RarelyPaired returns whether an Explorer combines faults of the kind at this operation with other faults only if its
// field All is set.
func RarelyPaired(o Operation, k Kind) bool {
	return !o.External && !o.Mutates && slices.Contains(uncachedReads, k)
}

// uncachedReads are the faults that are also injected at reads from the API server. A decision after such a fault is
// made late.
var uncachedReads = []Kind{Throttle, Hang}

// durations are durations to try in addition to the usual ones.
var durations = map[Kind][]time.Duration{
	Outage:      {50 * time.Millisecond, time.Second, 40 * time.Second, 2 * time.Minute, 15 * time.Minute},
	Freeze:      {120 * time.Millisecond, time.Minute},
	Crash:       {2 * time.Minute},
	CrashAfter:  {2 * time.Minute},
	ClockBack:   {time.Second, time.Hour},
	ClockAhead:  {time.Hour},
	ExternalOut: {time.Second, 10 * time.Minute},
	LeaseLost:   {50 * time.Second},
	Refusing:    {10 * time.Minute},
	NameTaken:   {10 * time.Minute},
}

func isKnown(kind Kind) bool { return slices.Contains(Kinds(), kind) }

// Kinds returns all kinds of faults.
func Kinds() (all []Kind) {
	for _, k := range kinds {
		all = append(all, k.kind)
	}
	for _, d := range doubts {
		all = append(all, d.kind)
	}

	return all
}

// kinds has every kind of fault, and the operations at which it makes a difference. pairs is the set of operations at
// which it is combined with others. At a read, a fault after the operation equals one before the next operation, and a
// lost answer equals a failure.
var kinds = []struct {
	kind                Kind
	write, read, remote bool // at writes and reads of the API server, and at calls of the external system
	pairs               pairing
}{
	{Fail, true, true, true, pairedAtReads},
	{Refuse, false, false, true, neverPaired},
	{Throttle, true, false, true, neverPaired},
	{Conflict, true, false, true, pairedAtWrites},
	{Lost, true, false, true, pairedAtWrites},
	{LostReported, false, false, true, neverPaired},
	{Hang, true, false, true, neverPaired},
	{HangAfter, true, false, true, neverPaired},
	{Crash, true, true, true, pairedAtReads | pairedAtWrites},
	{CrashAfter, true, true, true, pairedAtWrites},
	{Stop, true, false, true, neverPaired},
	{StopAfter, true, false, true, pairedAtWrites},
	{Outage, true, false, true, pairedAtWrites},
	{Freeze, true, false, true, neverPaired},
	{Stale, true, false, true, pairedAtWrites},
	{ClockBack, true, false, true, neverPaired},
	{ClockAhead, true, false, true, neverPaired},
	{LeaseLost, true, false, true, pairedAtWrites},
	{Edit, true, false, true, pairedAtReads | pairedAtWrites},
	{Delete, true, false, true, neverPaired},
	{Pause, true, false, true, neverPaired},
	{Drift, false, false, true, neverPaired},
	{Absent, false, false, true, neverPaired},
	{Refusing, false, false, true, neverPaired},
	{ExternalOut, false, false, true, neverPaired},
	{Vanish, false, false, true, neverPaired},
	{NameTaken, false, false, true, neverPaired},
	{DeleteRace, true, false, false, neverPaired},
}

// Usual returns whether the variant has the usual duration and the usual number of writes.
func (v Variant) Usual() bool { return v.For == 0 && v.Writes == 0 }

// A crash is the panic of a process that dies. Only the boundary of the process recovers from it.
type crash struct{ process *process }

// EndsProcess marks the panic as the end of a process, so that the reconciler does not recover from it.
func (crash) EndsProcess() {}

// String returns a text for loggers that print this panic.
func (crash) String() string { return "the process died" }

// A clientPanic is the panic of a client. The reconciler converts it to an error of the call.
type clientPanic string

// panicked ends a pass as controller-runtime does after a panic.
func (p *process) panicked(i *item, with clientPanic) {
	err := errors.Errorf("panic: %s [recovered]", string(with))
	p.queue.done(p.world.now(), i.key, i.priority, reconcile.Result{}, err)
	p.world.violate("L3", "a panic of a client reached the queue: the object does not report it")
}

// LeaksSecrets returns whether a fault of the kind makes the external system put secrets into its errors.
func (f Fault) LeaksSecrets() bool {
	return slices.Contains([]Kind{Fail, Refuse, Throttle, Conflict, Lost, LostReported, Refusing, ExternalOut, Panics,
		PanicsAfter}, f.Kind)
}

// before injects a fault before an operation. It returns true if the fault replaces the operation.
func (w *World) before(ctx context.Context, p *process, o Operation, f Fault) (bool, error) {
	w.readsLate(f)
	w.loses(p, o, f)
	switch f.Kind {
	case Fail:
		return true, o.failure(p)
	case Refuse:
		return true, external.NotCreated(o.refusal(p))
	case Throttle:
		busy := kerrors.NewTooManyRequests("slow down: "+o.leakyError(p), 1)
		if o.External {
			return true, external.Throttled("", 0, busy)
		}

		return true, busy
	case Conflict:
		if o.External {
			return true, o.conflict(p)
		}
		w.users.Touch()
	case Absent:
		if w.effects.absent = ""; o.mg != nil && isDeleted(o.mg) {
			w.effects.absent = f.Kind
		}
	case Hang:
		<-ctx.Done()

		return true, ctx.Err()
	case Crash, Stale:
		p.die(f)
	case Stop:
		p.stop(stopKind(o, f))
	case Outage:
		if w.now().After(w.effects.apiBack) {
			w.effects.apiGone = w.now()
		}
		w.effects.apiBack = w.now().Add(f.duration())
		w.suspendLease(p)
	case Refusing:
		w.effects.refuses = w.now().Add(f.duration())
	case ExternalOut:
		if w.now().After(w.effects.externalBack) {
			w.effects.externalGone = w.now()
			clear(w.effects.denied)
		}
		w.effects.externalBack = w.now().Add(f.duration())
	case Freeze:
		p.cache.frozen = w.now().Add(f.duration())
	case LeaseLost:
		w.loseLease(p, f)
	case Vanish, NameTaken:
		w.displace(o, f)
	case Deaf:
		return true, w.blockCall(ctx, p, o, f)
	default:
		return w.doubt(p, o, f)
	}

	return false, nil
}

// refusal returns the error of a call that had no effect.
func (o Operation) refusal(p *process) error { return errors.New("refused: " + o.leakyError(p)) }

// conflict returns the error of an external system that reports a conflict.
func (o Operation) conflict(p *process) error {
	return kerrors.NewConflict(schema.GroupResource{Resource: "things"}, "x",
		errors.New("changed meanwhile: "+o.leakyError(p)))
}

// after injects a fault after an operation, and returns the error of the operation.
func (w *World) after(ctx context.Context, p *process, o Operation, f Fault, err error) error {
	w.loses(p, o, f)
	switch f.Kind { //nolint:exhaustive // the others do nothing afterwards
	case Lost:
		if err == nil {
			w.losesUnreported(o)

			return o.lost(p)
		}
	case LostReported:
		if err == nil {
			return o.lostReported(p, f)
		}
	case UnservedAfter, UnservedForbiddenAfter:
		if err == nil {
			return o.page(f.Kind)
		}
	case HangAfter:
		<-ctx.Done()

		return ctx.Err()
	case DeafAfter:
		if late := w.blockCall(ctx, p, o, f); err == nil && !o.External {
			return late
		}
	case PanicsAfter:
		w.recordAnswer(p, o, "panicked", false)
		panic(clientPanic(o.leakyError(p)))
	case CrashAfter, ClockBack, ClockAhead:
		p.die(f)
	case StopAfter:
		p.stop(stopKind(o, f))
	case DeleteRace:
		w.raceDelete(p, o)
	}

	return err
}

// lost returns the error of an operation whose answer is lost. If the reconciler treats an error of Create as a failure
// unless it says otherwise, the client has to say that something may have been created. The check create-errors-tell of
// package conformance verifies that.
func (o Operation) lost(p *process) error {
	if o.Name == "Create" && o.External && p.world.system == nil {
		return external.MaybeCreated(o.failure(p))
	}

	return o.failure(p)
}

// failure returns an error that does not say whether the operation had an effect.
func (o Operation) failure(p *process) error {
	if o.External {
		return errors.New("the external system failed: " + o.leakyError(p))
	}

	return kerrors.NewInternalError(errors.New("the API server failed, Authorization: Bearer " + canary))
}

// stopKind returns the kind of fault that stops a process.
func stopKind(o Operation, f Fault) Kind {
	if o.External {
		return graceful
	}

	return f.Kind
}

// IsAfter returns whether a fault of the kind happens after the operation has had its effect.
func IsAfter(k Kind) bool {
	return slices.Contains([]Kind{Lost, LostReported, HangAfter, CrashAfter, ClockBack, ClockAhead, StopAfter,
		DeleteRace,
		PanicsAfter, DeafAfter, UnservedAfter, UnservedForbiddenAfter}, k)
}

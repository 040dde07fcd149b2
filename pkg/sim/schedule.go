package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Kind of fault says what goes wrong at a boundary: before or after one
// operation.
type Kind string

// What can go wrong. Whatever happens "after" happens when the operation had its
// effect, and before its answer is read.
const (
	Fail        Kind = "fail"         // an error, without an effect; nobody can tell
	Refuse      Kind = "refuse"       // no effect, and the external system says so
	Throttle    Kind = "throttle"     // too many requests
	Conflict    Kind = "conflict"     // somebody else wrote meanwhile; an external system says "conflict"
	Lost        Kind = "lost"         // the effect, and its answer is lost
	LostTold    Kind = "lost-told"    // the same of a Create, and the error says so: a status of the 500s; with 2, a connection that broke; with 3, MaybeCreated
	Hang        Kind = "hang"         // no effect, and no answer before the deadline
	HangAfter   Kind = "hang-after"   // the effect, and no answer before the deadline
	Crash       Kind = "crash"        // the process dies before the operation
	CrashAfter  Kind = "crash-after"  // the process dies after it
	Stop        Kind = "stop"         // the process is asked to stop before the operation
	StopAfter   Kind = "stop-after"   // the process is asked to stop after it
	Outage      Kind = "outage"       // the API server is away, for a while from now on
	Freeze      Kind = "freeze"       // the cache stands still, for a while from now on
	Stale       Kind = "stale"        // the process dies, and the next begins with an old cache
	ClockBack   Kind = "clock-back"   // the process dies after the operation, and the next has a clock that is behind
	ClockAhead  Kind = "clock-ahead"  // the process dies after the operation, and the next has a clock that is ahead
	Usurp       Kind = "usurp"        // the process is held up so long that another takes over
	Edit        Kind = "edit"         // a user changes the spec
	Delete      Kind = "delete"       // a user deletes the object
	Pause       Kind = "pause"        // a user pauses the object for a minute
	Drift       Kind = "drift"        // somebody changes the external resource
	Absent      Kind = "absent"       // what is to be deleted is said not to exist, once
	Refusing    Kind = "refusing"     // the external system refuses every change, for a while from now on
	ExternalOut Kind = "external-out" // the external system is away, for a while from now on
	Vanish      Kind = "vanish"       // somebody deletes the external resource
	Squat       Kind = "squat"        // somebody else's resource takes the place of what the object stands for, for a while
	Snatch      Kind = "snatch"       // the API server removes an object that had no finalizer until now: it was being asked to

	Strip            Kind = "strip"             // a user replaces the object by its manifest, which has neither our annotations nor our finalizer
	StripAnnotations Kind = "strip-annotations" // the same, and the finalizers stay
	StripFinalizers  Kind = "strip-finalizers"  // the same, and the annotations stay
	StripOne         Kind = "strip-one"         // a user removes one annotation of ours: the external name; with a number, the second to fifth of the record of a creation
	Outdate          Kind = "outdate"           // a user replaces the object by a manifest that was exported with all annotations, before the last creation if there was another

	Unserved          Kind = "unserved"           // a page that says 404 in the place of the API server's answer
	UnservedKind      Kind = "unserved-kind"      // a 404 of an API server that does not serve the kind: it names no object
	UnservedForbidden Kind = "unserved-forbidden" // a page that says 403 in the place of the API server's answer
	UnservedGateway   Kind = "unserved-gateway"   // a page that says 502 in the place of the API server's answer

	UnservedAfter          Kind = "unserved-after"           // a write has its effect, and a page that says 404 takes the place of its answer
	UnservedForbiddenAfter Kind = "unserved-forbidden-after" // the same, and the page says 403

	Panics      Kind = "panics"       // a method of the client panics before its effect
	PanicsAfter Kind = "panics-after" // a method of the client panics after its effect

	Refused       Kind = "refused"        // the API server refuses every write as invalid (422), for a while from now on
	RefusedSize   Kind = "refused-size"   // the same, as too large (413)
	RefusedAccess Kind = "refused-access" // the same, as forbidden (403): a quota, or the rights of the provider

	AbsentLive Kind = "absent-live" // what is there is said not to exist, once

	DroppedAnnotations Kind = "dropped-annotations" // annotations that a write adds or changes are not stored, and the answer says that it succeeded, for a while from now on
	DroppedFinalizers  Kind = "dropped-finalizers"  // the same of finalizers
	DroppedStatus      Kind = "dropped-status"      // the same of all fields of the status

	Rewound     Kind = "rewound"      // the API server is restored to what it was one or several writes ago, and versions go back with it, while the process runs
	RewoundDown Kind = "rewound-down" // the process is asked to stop, and the same happens before the next begins

	Deaf      Kind = "deaf"       // a call has no effect, does not mind the end of its context, and never returns: the process ends with it; for a while: it returns late, with an error
	DeafAfter Kind = "deaf-after" // the same, after its effect; for a while: a call of a client returns late, with its answer

	Relist Kind = "relist" // the watch of the cache breaks, and a while later one list takes the place of all events since: of what changed several times only the last is seen
)

// Defaults of how long a fault lasts.
var lasts = map[Kind]time.Duration{
	Outage: 10 * time.Second, Freeze: 3 * time.Second, Usurp: 20 * time.Second, Pause: time.Minute,
	ClockBack: time.Minute, ClockAhead: time.Minute, ExternalOut: 10 * time.Second, Refusing: time.Minute, Squat: 3 * time.Minute,
	Crash: time.Second, CrashAfter: time.Second, Stale: time.Second,
	DroppedAnnotations: time.Minute, DroppedFinalizers: time.Minute, DroppedStatus: time.Minute,
	Refused: time.Minute, RefusedSize: time.Minute, RefusedAccess: time.Minute,
	Relist: time.Second,
}

// A Fault is what goes wrong at the n-th time that an operation is begun.
type Fault struct {
	Op   string
	N    int
	Kind Kind
	For  time.Duration // 0 is the default of the kind

	Writes int // that a restore undoes, which annotation StripOne removes, or which error LostTold returns; 0 is one
}

func (f Fault) duration() time.Duration {
	if f.For > 0 {
		return f.For
	}

	return lasts[f.Kind]
}

// rewinds says whether a fault of the kind restores the API server.
func (k Kind) rewinds() bool { return k == Rewound || k == RewoundDown }

// counted says whether a fault of the kind has a number in place of a duration.
func (k Kind) counted() bool { return k.rewinds() || k == StripOne || k == LostTold }

// String returns the fault as "operation#n:kind", "operation#n:kind(duration)" or, of a restore,
// "operation#n:kind(writes)".
func (f Fault) String() string {
	s := fmt.Sprintf("%s#%d:%s", f.Op, f.N, f.Kind)
	if f.For > 0 {
		s += "(" + f.For.String() + ")"
	}
	if f.Writes > 0 {
		s += fmt.Sprintf("(%d)", f.Writes)
	}

	return s
}

// A Schedule is one run: a scenario over a class of external system, and what goes
// wrong in it. It says everything: two runs of a schedule are the same.
type Schedule struct {
	Scenario string
	Class    string
	Faults   []Fault

	inquiry *inquiry // of an Explorer
}

// Equal says whether the schedules are of the same story, with the same faults in the
// same order.
func (s Schedule) Equal(other Schedule) bool {
	return s.Scenario == other.Scenario && s.Class == other.Class && slices.Equal(s.Faults, other.Faults)
}

// String returns the schedule on one line, as ParseSchedule reads it.
func (s Schedule) String() string {
	parts := []string{s.Scenario + "/" + s.Class}
	for _, f := range s.Faults {
		parts = append(parts, f.String())
	}

	return strings.Join(parts, " ")
}

// ParseSchedule reads what String wrote.
func ParseSchedule(line string) (Schedule, error) {
	parts := strings.Fields(line)
	if len(parts) == 0 {
		return Schedule{}, errors.New("cannot read an empty schedule")
	}
	scenario, class, ok := strings.Cut(parts[0], "/")
	if !ok {
		return Schedule{}, errors.Errorf("cannot read %q: it is not scenario/class", parts[0])
	}
	s := Schedule{Scenario: scenario, Class: class}
	for _, part := range parts[1:] {
		f, err := parseFault(part)
		if err != nil {
			return Schedule{}, err
		}
		s.Faults = append(s.Faults, f)
	}

	return s, nil
}

func parseFault(text string) (Fault, error) {
	op, rest, ok := strings.Cut(text, "#")
	count, what, ok2 := strings.Cut(rest, ":")
	n, err := strconv.Atoi(count)
	if !ok || !ok2 || err != nil || n < 1 {
		return Fault{}, errors.Errorf("cannot read the fault %q: it is not operation#n:kind", text)
	}
	kind, length, timed := strings.Cut(what, "(")
	f := Fault{Op: op, N: n, Kind: Kind(kind)}
	if timed && f.Kind.counted() {
		writes, closed := strings.CutSuffix(length, ")")
		if f.Writes, err = strconv.Atoi(writes); err != nil || !closed || f.Writes <= 0 {
			return Fault{}, errors.Errorf("cannot read the fault %q: it has no number of writes, or of an annotation, as in %s(2)", text, kind)
		}
	} else if timed {
		length, closed := strings.CutSuffix(length, ")")
		if f.For, err = time.ParseDuration(length); err != nil || !closed || f.For <= 0 {
			return Fault{}, errors.Errorf("cannot read the fault %q: it does not last for a while, as in %s(5s)", text, kind)
		}
	}
	if !known(f.Kind) {
		return Fault{}, errors.Errorf("cannot read the fault %q: there is no kind %q", text, kind)
	}

	return f, nil
}

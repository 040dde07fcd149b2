package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Schedule describes one run: a scenario, a class of external system, and faults. It determines the run: two runs of
// one schedule are identical.
type Schedule struct {
	Scenario string
	Class    string
	Faults   []Fault

	guide Guide // of a search
}

// A Fault is one failure in a run. It happens before or after the N-th execution of the operation Op.
type Fault struct {
	Op   string
	N    int
	Kind Kind
	For  time.Duration // 0 is the default of the kind

	// Writes is a number whose meaning depends on the kind: how many writes a restore undoes, which annotation StripOne
	// removes, or which error LostReported returns. 0 means 1.
	Writes int
}

// A Kind is a kind of fault. Each kind happens either before or after an operation.
type Kind string

// Duration returns the usual duration of a fault of the kind.
func (k Kind) Duration() time.Duration { return lasts[k] }

func (f Fault) duration() time.Duration {
	if f.For > 0 {
		return f.For
	}

	return lasts[f.Kind]
}

// The kinds of faults. A fault "after" an operation happens when the operation has had its effect, and before the
// process has read the answer.
const (
	Fail     Kind = "fail"     // the operation has no effect, and its error does not say so
	Refuse   Kind = "refuse"   // the operation has no effect, and its error says so
	Throttle Kind = "throttle" // the operation has no effect; its error says that there are too many requests
	// Conflict: the operation has no effect. The API server reports that another client wrote first, or the external
	// system reports a conflict
	Conflict Kind = "conflict"
	Lost     Kind = "lost" // the operation has its effect, and its answer is lost
	// LostReported: a Create has its effect, and its answer is lost. The error says that something may have been created:
	// it is a status of the 500s, with number 2 a broken connection, or with number 3 MaybeCreated
	LostReported Kind = "lost-reported"
	Hang         Kind = "hang"         // the operation has no effect, and no answer before the deadline
	HangAfter    Kind = "hang-after"   // the operation has its effect, and no answer before the deadline
	Crash        Kind = "crash"        // the process dies before the operation
	CrashAfter   Kind = "crash-after"  // the process dies after the operation
	Stop         Kind = "stop"         // the process is asked to stop before the operation
	StopAfter    Kind = "stop-after"   // the process is asked to stop after the operation
	Outage       Kind = "outage"       // the API server is unavailable for a while
	Freeze       Kind = "freeze"       // the cache gets no events for a while
	Stale        Kind = "stale"        // the process dies, and the next process begins with an old cache
	ClockBack    Kind = "clock-back"   // the process dies after the operation; the clock of the next process is behind
	ClockAhead   Kind = "clock-ahead"  // the process dies after the operation; the clock of the next process is ahead
	LeaseLost    Kind = "lease-lost"   // the process is suspended until another process has become the leader
	Edit         Kind = "edit"         // a user changes the spec
	Delete       Kind = "delete"       // a user deletes the object
	Pause        Kind = "pause"        // a user pauses the object for a minute
	Drift        Kind = "drift"        // another client of the external system changes the external resource
	Absent       Kind = "absent"       // Observe once reports the existing resource of a deleted object as absent
	Refusing     Kind = "refusing"     // the external system refuses every change for a while
	ExternalOut  Kind = "external-out" // the external system is unavailable for a while
	Vanish       Kind = "vanish"       // another client of the external system deletes the external resource
	// NameTaken: for a while, a resource of another owner is in place of the external resource of the object
	NameTaken Kind = "name-taken"
	// DeleteRace: a deletion was requested while the object had no finalizer. The API server completes this deletion
	// although a finalizer has been stored since
	DeleteRace Kind = "delete-race"

	// Strip: a user replaces the object with a manifest that has no finalizers and no annotations of the runtime
	Strip            Kind = "strip"
	StripAnnotations Kind = "strip-annotations" // as with strip, but the finalizers stay
	StripFinalizers  Kind = "strip-finalizers"  // as with strip, but the annotations stay
	// StripOne: a user removes one annotation of the runtime: the external name, or with a number from 2 to 5 one of the
	// annotations that record a creation
	StripOne Kind = "strip-one"
	// Outdate: a user replaces the object with a manifest that was exported with all annotations: before the last
	// creation, or, if there was only one creation, during it
	Outdate Kind = "outdate"

	Unserved          Kind = "unserved"           // a proxy answers with a 404 page in place of the API server
	UnservedKind      Kind = "unserved-kind"      // the API server answers that it does not serve the kind (404)
	UnservedForbidden Kind = "unserved-forbidden" // a proxy answers with a 403 page in place of the API server
	UnservedGateway   Kind = "unserved-gateway"   // a proxy answers with a 502 page in place of the API server

	UnservedAfter          Kind = "unserved-after"           // a write has its effect; a proxy answers with a 404 page
	UnservedForbiddenAfter Kind = "unserved-forbidden-after" // a write has its effect; a proxy answers with a 403 page

	Panics      Kind = "panics"       // a method of the client panics before it has an effect
	PanicsAfter Kind = "panics-after" // a method of the client panics after it has had its effect

	Refused     Kind = "refused"      // the API server refuses every write as invalid (422) for a while
	RefusedSize Kind = "refused-size" // the API server refuses every write as too large (413) for a while
	// RefusedAccess: the API server refuses every write as forbidden (403) for a while, because of a quota or of the
	// permissions of the provider
	RefusedAccess Kind = "refused-access"

	AbsentLive Kind = "absent-live" // Observe once reports the existing resource of an object as absent

	// DroppedAnnotations: for a while, the API server confirms writes, and does not store the annotations that they add or
	// change
	DroppedAnnotations Kind = "dropped-annotations"
	// DroppedFinalizers: for a while, the API server confirms writes, and does not store the finalizers that they add or
	// change
	DroppedFinalizers Kind = "dropped-finalizers"
	DroppedStatus     Kind = "dropped-status" // for a while, the API server confirms writes, and does not store the status

	// Rewound: while the process runs, the API server is restored to the state before the last writes, and its resource
	// versions decrease
	Rewound Kind = "rewound"
	// RewoundDown: the process stops, and the API server is restored before the next process begins
	RewoundDown Kind = "rewound-down"

	// Deaf: a call has no effect, ignores the end of its context, and never returns. With a duration, the call returns
	// late, with an error
	Deaf Kind = "deaf"
	// DeafAfter: a call has its effect, ignores the end of its context, and never returns. With a duration, a call of a
	// client returns late, with its answer
	DeafAfter Kind = "deaf-after"

	// Relist: the watch of the cache breaks. A while later, one list replaces the events since then. If an object has
	// changed several times, only the last change is visible
	Relist Kind = "relist"
)

// lasts has the usual durations of faults.
var lasts = map[Kind]time.Duration{
	Outage: 10 * time.Second, Freeze: 3 * time.Second, LeaseLost: 20 * time.Second, Pause: time.Minute,
	ClockBack: time.Minute, ClockAhead: time.Minute, ExternalOut: 10 * time.Second,
	Refusing: time.Minute, NameTaken: 3 * time.Minute,
	Crash: time.Second, CrashAfter: time.Second, Stale: time.Second,
	DroppedAnnotations: time.Minute, DroppedFinalizers: time.Minute, DroppedStatus: time.Minute,
	Refused: time.Minute, RefusedSize: time.Minute, RefusedAccess: time.Minute,
	Relist: time.Second,
}

// GuidedBy returns a copy of the schedule whose run the guide controls. If the guide is nil, no guide controls the run.
func (s Schedule) GuidedBy(g Guide) Schedule {
	s.guide = g

	return s
}

// Guide returns the guide of the schedule, or nil.
func (s Schedule) Guide() Guide { return s.guide }

// Equal returns whether the schedules have the same scenario, the same class, and the same faults in the same order.
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

// String returns the fault as "operation#n:kind", "operation#n:kind(duration)" or, for a counted kind,
// "operation#n:kind(number)".
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

// ParseSchedule parses the result of Schedule.String. It returns an error if the syntax is wrong or a kind of fault is
// unknown. It does not check the names of the scenario and the class: Run returns an error if one of them is unknown.
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
			return Fault{}, errors.Errorf("cannot read the fault %q: it has no number of writes, or of an annotation, as in "+
				"%s(2)",
				text, kind)
		}
	} else if timed {
		length, closed := strings.CutSuffix(length, ")")
		if f.For, err = time.ParseDuration(length); err != nil || !closed || f.For <= 0 {
			return Fault{}, errors.Errorf("cannot read the fault %q: it does not last for a while, as in %s(5s)",
				text, kind)
		}
	}
	if !isKnown(f.Kind) {
		return Fault{}, errors.Errorf("cannot read the fault %q: there is no kind %q", text, kind)
	}

	return f, nil
}

// counted returns whether a fault of the kind has a number instead of a duration.
func (k Kind) counted() bool { return k.rewinds() || k == StripOne || k == LostReported }

// rewinds returns whether a fault of the kind restores the API server.
func (k Kind) rewinds() bool { return k == Rewound || k == RewoundDown }

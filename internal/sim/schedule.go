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

// A Fault is one failure. It happens at the n-th start of an operation.
type Fault struct {
	Op   string
	N    int
	Kind Kind
	For  time.Duration // 0 is the default of the kind

	// Writes is a number whose meaning depends on the kind: how many writes a restore undoes, which annotation StripOne
	// removes, or which error LostReported returns. 0 means 1.
	Writes int
}

// A Kind is a kind of fault. It happens at a boundary, that is, before or after one operation.
type Kind string

// Duration returns the usual duration of a fault of the kind.
func (k Kind) Duration() time.Duration { return lasts[k] }

func (f Fault) duration() time.Duration {
	if f.For > 0 {
		return f.For
	}

	return lasts[f.Kind]
}

// The kinds of faults. A fault "after" an operation happens when the operation has had its effect and its answer has
// not been read.
const (
	Fail     Kind = "fail"     // the operation fails without an effect, and its error says neither
	Refuse   Kind = "refuse"   // the operation has no effect, and the external system says so
	Throttle Kind = "throttle" // the operation fails with too many requests
	Conflict Kind = "conflict" // another client wrote first; an external system reports "conflict"
	Lost     Kind = "lost"     // the operation has its effect, and its answer is lost
	// LostReported: a Create has its effect, its answer is lost, and the error says so. The error is a status of the 500s;
	// with number 2 a broken connection; with number 3 MaybeCreated
	LostReported Kind = "lost-reported"
	Hang         Kind = "hang"         // the operation has no effect, and no answer before the deadline
	HangAfter    Kind = "hang-after"   // the operation has its effect, and no answer before the deadline
	Crash        Kind = "crash"        // the process dies before the operation
	CrashAfter   Kind = "crash-after"  // the process dies after the operation
	Stop         Kind = "stop"         // the process is asked to stop before the operation
	StopAfter    Kind = "stop-after"   // the process is asked to stop after the operation
	Outage       Kind = "outage"       // the API server is unavailable for a while
	Freeze       Kind = "freeze"       // the cache gets no events for a while
	Stale        Kind = "stale"        // the process dies, and the next one begins with an old cache
	ClockBack    Kind = "clock-back"   // the process dies after the operation; the clock of the next process is behind
	ClockAhead   Kind = "clock-ahead"  // the process dies after the operation; the clock of the next process is ahead
	LeaseLost    Kind = "lease-lost"   // the process is blocked so long that another becomes the leader
	Edit         Kind = "edit"         // a user changes the spec
	Delete       Kind = "delete"       // a user deletes the object
	Pause        Kind = "pause"        // a user pauses the object for a minute
	Drift        Kind = "drift"        // the external resource is changed out of band
	Absent       Kind = "absent"       // a resource to delete is once reported as absent
	Refusing     Kind = "refusing"     // the external system refuses every change for a while
	ExternalOut  Kind = "external-out" // the external system is unavailable for a while
	Vanish       Kind = "vanish"       // the external resource is deleted out of band
	NameTaken    Kind = "name-taken"   // a resource of another owner replaces the one of the object for a while
	// DeleteRace: the API server completes a deletion that was requested before the object had its first finalizer, which
	// was just stored
	DeleteRace Kind = "delete-race"

	Strip            Kind = "strip"             // a replace by a user removes annotations and finalizers
	StripAnnotations Kind = "strip-annotations" // a replace by a user removes annotations, and the finalizers stay
	StripFinalizers  Kind = "strip-finalizers"  // a replace by a user removes finalizers, and the annotations stay
	// StripOne: a user removes one annotation of the runtime. By default it is the external name. The numbers 2 to 5 mean
	// the annotations of the record of a creation
	StripOne Kind = "strip-one"
	// Outdate: a user replaces the object with a manifest that was exported with all annotations. If there was more than
	// one creation, it was exported before the last one
	Outdate Kind = "outdate"

	Unserved          Kind = "unserved"           // a page with status 404 replaces the answer of the API server
	UnservedKind      Kind = "unserved-kind"      // the API server does not serve the kind: 404 without a name
	UnservedForbidden Kind = "unserved-forbidden" // a page with status 403 replaces the answer of the API server
	UnservedGateway   Kind = "unserved-gateway"   // a page with status 502 replaces the answer of the API server

	UnservedAfter          Kind = "unserved-after"           // a write succeeds, and a 404 page replaces the answer
	UnservedForbiddenAfter Kind = "unserved-forbidden-after" // a write succeeds, and a 403 page replaces the answer

	Panics      Kind = "panics"       // a method of the client panics before its effect
	PanicsAfter Kind = "panics-after" // a method of the client panics after its effect

	Refused     Kind = "refused"      // the API server refuses every write as invalid (422) for a while
	RefusedSize Kind = "refused-size" // the API server refuses every write as too large (413) for a while
	// RefusedAccess: the API server refuses every write as forbidden (403) for a while, because of a quota or of the
	// permissions of the provider
	RefusedAccess Kind = "refused-access"

	AbsentLive Kind = "absent-live" // an existing resource is once reported as absent

	// DroppedAnnotations: for a while the API server does not store annotations that a write adds or changes, although its
	// answer reports success
	DroppedAnnotations Kind = "dropped-annotations"
	DroppedFinalizers  Kind = "dropped-finalizers" // finalizers that a write adds or changes are not stored for a while
	DroppedStatus      Kind = "dropped-status"     // the status that a write changes is not stored for a while

	// Rewound: the API server is restored to the state before the last writes while the process runs, and its
	// versions decrease
	Rewound     Kind = "rewound"
	RewoundDown Kind = "rewound-down" // the process stops, and the API server is restored before the next one begins

	// Deaf: a call has no effect, ignores the end of its context, and never returns. It ends with the process. With a
	// duration, the call returns late with an error
	Deaf Kind = "deaf"
	// DeafAfter: a call has its effect, and then does not return, as with deaf. With a duration, a call of a client
	// returns late with its answer
	DeafAfter Kind = "deaf-after"

	// Relist: the watch of the cache breaks. After a while one list replaces all events since then: of several changes
	// only the last is visible
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

// GuidedBy returns a copy of the schedule with a guide, which controls its run. A nil guide removes the guide.
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

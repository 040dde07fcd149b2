package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A faultKind is a kind of fault.
type faultKind string

const (
	kill    faultKind = "kill"    // the provider, with SIGKILL
	restart faultKind = "restart" // the provider, with SIGTERM
	suspend faultKind = "suspend" // the leader, until another one leads and longer
	outage  faultKind = "outage"  // of the API server
	silence faultKind = "silence" // of NATS
	pages   faultKind = "pages"   // of a proxy, instead of answers of the API server
	replace faultKind = "replace" // of objects by their manifests, by users
	rewind  faultKind = "rewind"  // of the API server to an earlier state, after the rounds
	drop    faultKind = "drop"    // of annotations by a policy, after the rounds
)

func faultKinds() []faultKind {
	return []faultKind{kill, restart, suspend, outage, silence, pages, replace, rewind, drop}
}

// A fault is one fault of a round.
type fault struct {
	kind faultKind

	// at is when it begins, counted from the begin of the round, and lasts its duration: for an outage until
	// the server is started again, for a suspended leader the time after another one leads.
	at, lasts time.Duration

	// who is the replica of a kill or a restart.
	who int

	// hard reports whether a server crashes, rather than being asked to stop.
	hard bool
}

func (f fault) String() string { return fmt.Sprintf("%s at %.1f s", f.kind, f.at.Seconds()) }

// A course is the plan of a round.
type course struct {
	// pair reports whether there are two replicas, one of which leads, rather than a single provider.
	pair bool

	// notified reports whether streams share lists, and are observed when JetStream notifies of changes,
	// rather than each at each poll.
	notified bool
	faults   []fault // by time
}

func (c course) String() string {
	text := "alone"
	if c.pair {
		text = "two replicas"
	}

	if c.notified {
		text += ", notified by JetStream"
	}

	for _, f := range c.faults {
		text += ", " + f.String()
	}

	return text
}

const (
	shortestOutage = 50 * time.Millisecond
	longestOutage  = 3 * time.Second
)

// notifies decides whether JetStream notifies in a round: in at least one of two successive rounds, and the
// seed decides in which.
func notifies(seed uint64, round int) bool {
	const apart = 1 << 32 // keeps this apart from other uses of the seed

	r := rand.New(rand.NewPCG(seed, apart+uint64(round-1)/2))
	sure, both := r.IntN(2), r.IntN(2) == 0

	return both || (round-1)%2 == sure
}

// plan returns the faults of a round, whose number begins with one. Odd rounds have two replicas, even ones
// a single provider that is killed often.
func plan(seed uint64, round int, window time.Duration) course {
	r := rand.New(rand.NewPCG(seed, uint64(round)))
	within := func(from, to float64) time.Duration {
		return time.Duration((from + (to-from)*r.Float64()) * float64(window))
	}
	lasts := func() time.Duration {
		return shortestOutage + time.Duration(r.Int64N(int64(longestOutage-shortestOutage)))
	}

	c := course{pair: round%2 == 1, notified: notifies(seed, round)}
	add := func(t faultKind, at time.Duration) {
		c.faults = append(c.faults, fault{kind: t, at: at, lasts: lasts(), who: r.IntN(2), hard: r.IntN(2) == 0})
	}

	add(outage, within(0.05, 0.9))
	add(silence, within(0.05, 0.9))
	add(pages, within(0, 0.1)) // until the end of the round's faults

	if c.pair {
		add(suspend, within(0.05, 0.4))
		add(kill, within(0.1, 0.95))
		add(restart, within(0.1, 0.95))
	} else {
		for range 5 {
			add(kill, within(0.02, 0.98))
		}
	}

	slices.SortFunc(c.faults, func(a, b fault) int { return int(a.at - b.at) })

	return c
}

// forgotten finds the kinds of faults that were planned for rounds and never made: a run without them
// proves nothing about them.
func forgotten(o Options, rounds int, made map[faultKind]int) verdict {
	planned := map[faultKind]int{replace: 1, rewind: 1, drop: 1}

	for n := range rounds {
		for _, f := range plan(o.Seed, n+1, o.Window).faults {
			planned[f.kind]++
		}
	}

	v := verdict{}

	for _, t := range faultKinds() {
		if planned[t] > 0 && made[t] == 0 {
			v.find(untried, "%s: planned %d times in %d rounds", t, planned[t], rounds)
		}
	}

	return v
}

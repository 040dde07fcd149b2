package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A trouble is a kind of fault.
type trouble string

const (
	kill    trouble = "kill"    // the provider, with SIGKILL
	restart trouble = "restart" // the provider, with SIGTERM
	suspend trouble = "suspend" // the leader, until another one leads and longer
	outage  trouble = "outage"  // of the API server
	silence trouble = "silence" // of NATS
	pages   trouble = "pages"   // of a proxy, in the place of answers of the API server
	replace trouble = "replace" // of objects by their manifests, by people
	rewind  trouble = "rewind"  // of the API server to an earlier state, after the rounds
	drop    trouble = "drop"    // of annotations by a policy, after the rounds
)

func troubles() []trouble {
	return []trouble{kill, restart, suspend, outage, silence, pages, replace, rewind, drop}
}

// A fault is what goes wrong once in a round.
type fault struct {
	trouble trouble

	// at is when it begins, counted from the begin of the round, and lasts how
	// long it lasts: for an outage until the server is started again, for a
	// suspended leader how much longer than until another one leads.
	at, lasts time.Duration

	// who is the replica that a kill or a restart is about.
	who int

	// hard is whether a server crashes, rather than being asked to stop.
	hard bool
}

func (f fault) String() string { return fmt.Sprintf("%s at %.1f s", f.trouble, f.at.Seconds()) }

// A course is what goes wrong in a round.
type course struct {
	// pair is whether there are two replicas, one of which leads, rather than a
	// provider that is alone.
	pair bool

	// told is whether streams share lists, and are looked at when JetStream tells
	// that they have changed, rather than each by itself at each poll.
	told   bool
	faults []fault // by time
}

func (c course) String() string {
	text := "alone"
	if c.pair {
		text = "two replicas"
	}

	if c.told {
		text += ", told by JetStream"
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

// told decides whether JetStream tells in a round: in one of each two that follow each
// other at least, and in which of them is up to the seed.
func told(seed uint64, round int) bool {
	const apart = 1 << 32 // from what else the seed decides

	r := rand.New(rand.NewPCG(seed, apart+uint64(round-1)/2))
	sure, both := r.IntN(2), r.IntN(2) == 0

	return both || (round-1)%2 == sure
}

// plan decides what goes wrong in a round, whose number begins with one. Odd
// rounds are about replicas, even ones about a provider that dies often.
func plan(seed uint64, round int, window time.Duration) course {
	r := rand.New(rand.NewPCG(seed, uint64(round)))
	within := func(from, to float64) time.Duration {
		return time.Duration((from + (to-from)*r.Float64()) * float64(window))
	}
	lasts := func() time.Duration {
		return shortestOutage + time.Duration(r.Int64N(int64(longestOutage-shortestOutage)))
	}

	c := course{pair: round%2 == 1, told: told(seed, round)}
	add := func(t trouble, at time.Duration) {
		c.faults = append(c.faults, fault{trouble: t, at: at, lasts: lasts(), who: r.IntN(2), hard: r.IntN(2) == 0})
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

// forgotten finds the kinds of faults that were planned for rounds and never made: who did
// not meet them has not shown that he bears them.
func forgotten(o Options, rounds int, made map[trouble]int) verdict {
	planned := map[trouble]int{replace: 1, rewind: 1, drop: 1}

	for n := range rounds {
		for _, f := range plan(o.Seed, n+1, o.Window).faults {
			planned[f.trouble]++
		}
	}

	v := verdict{}

	for _, t := range troubles() {
		if planned[t] > 0 && made[t] == 0 {
			v.find(untried, "%s: planned %d times in %d rounds", t, planned[t], rounds)
		}
	}

	return v
}

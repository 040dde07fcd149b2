package chaos

import (
	"fmt"
	"io"
	"time"
)

// A Result is the findings of a run.
type Result struct {
	// Rounds is the number of rounds.
	Rounds int

	// Took is how long they took.
	Took time.Duration

	found  verdict
	faults map[faultKind]int
	done   int64
}

// Held reports whether everything was as desired, and each kind of fault was made.
func (r *Result) Held() bool { return r.found.held() }

func (r *Result) add(v verdict, faults map[faultKind]int, done int64) {
	if r.found == nil {
		r.found = verdict{}
	}

	for f, what := range v {
		r.found[f] = append(r.found[f], what...)
	}

	r.faults, r.done = faults, done
}

// Print writes a line for each figure, for users and for machines.
func (r *Result) Print(out io.Writer) {
	fmt.Fprintf(out, "rounds: %d\n", r.Rounds)

	for _, f := range flaws() {
		fmt.Fprintf(out, "%s: %d\n", f, len(r.found[f]))
	}

	for _, t := range faultKinds() {
		fmt.Fprintf(out, "%s_faults: %d\n", t, r.faults[t])
	}

	if minutes := r.Took.Minutes(); minutes > 0 {
		fmt.Fprintf(out, "replaces_a_minute: %.0f\n", float64(r.faults[replace])/minutes)
	}

	fmt.Fprintf(out, "operations: %d\nseconds: %.0f\n", r.done, r.Took.Seconds())
}

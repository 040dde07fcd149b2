package tour

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	// every is the interval between the checks of Until.
	every = 50 * time.Millisecond

	// quiet is how long Until waits before it prints that it still waits.
	quiet = 5 * time.Second

	// margin is the indentation of a line of evidence.
	margin = "       "
)

// A Report prints the evidence and the times of one step. Tour.Run creates it.
type Report struct {
	tour     *Tour
	evidence int // lines
	warnings int
}

// See prints evidence: a value, a condition or an event, as a user sees it. Each line of the text is printed in the
// column of evidence.
func (r *Report) See(format string, args ...any) {
	r.evidence++
	r.print(format, args...)
}

// Took prints a duration that the step has measured as evidence, with a warning if it is more than most. A most of zero
// is no bound.
func (r *Report) Took(what string, took, most time.Duration) {
	r.evidence++
	r.bound(what+" took", took, most)
}

// bound prints a duration, and a warning if it exceeds the bound.
func (r *Report) bound(what string, took, most time.Duration) {
	r.print("%s %s.", what, seconds(took))
	if most > 0 && took > most {
		r.warnings++
		r.print("WARNING: more than %s. The machine: %s.", seconds(most), r.tour.load())
	}
}

// A Missed is the error of an expected state that was not reached.
type Missed struct {
	Want string
	Saw  error // the last state that was observed
}

// Error returns the expected and the observed state as text.
func (m *Missed) Error() string { return fmt.Sprintf("want %s, saw: %v", m.Want, m.Saw) }

// Unwrap returns the observed state.
func (m *Missed) Unwrap() error { return m.Saw }

// Until calls look repeatedly until it returns nil: then the wanted state is reached. Until returns a *Missed if the
// patience of the tour or ctx ends first. While it waits, it prints the wanted and the observed state at growing
// intervals.
func (r *Report) Until(ctx context.Context, want string, look func(ctx context.Context) error) error {
	patience := r.tour.patience(want)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last error
	for begin, next := time.Now(), quiet; ; {
		err := look(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // keep the reason, not the error of the ended context
			last = err
		}
		if waited := time.Since(begin); waited > next && ctx.Err() == nil {
			r.print("... still waiting, for %s at most: want %s, saw so far: %v", seconds(patience), want, last)
			next = 3 * waited
		}
		select {
		case <-ctx.Done():
			return &Missed{Want: want, Saw: last}
		case <-tick.C:
		}
	}
}

// print prints a text in the column of evidence.
func (r *Report) print(format string, args ...any) {
	for line := range strings.Lines(strings.TrimRight(fmt.Sprintf(format, args...), "\n")) {
		fmt.Fprintf(r.tour.Out, "%s%s\n", margin, strings.TrimRight(line, "\n"))
	}
}

func seconds(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.3f s", d.Seconds())
	}

	return fmt.Sprintf("%.1f s", d.Seconds())
}

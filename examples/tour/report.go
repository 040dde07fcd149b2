package tour

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	// every is how often Until looks.
	every = 50 * time.Millisecond

	// quiet is for how long Until says nothing while it waits.
	quiet = 5 * time.Second

	// margin is what stands before a line of evidence.
	margin = "       "
)

// A Report is what one step tells. Run makes it.
type Report struct {
	tour     *Tour
	evidence int // lines
	warnings int
}

// See prints evidence: a value, a condition or an event, as a user sees it. A text of
// several lines is several pieces of evidence.
func (r *Report) See(format string, args ...any) {
	r.evidence++
	r.print(format, args...)
}

// Took prints as evidence how long something took that the step has measured, with a
// warning if that was more than at most. Zero is no bound.
func (r *Report) Took(what string, took, most time.Duration) {
	r.evidence++
	r.bound(what+" took", took, most)
}

// bound prints a time, and what was exceeded.
func (r *Report) bound(what string, took, most time.Duration) {
	r.print("%s %s.", what, seconds(took))
	if most > 0 && took > most {
		r.warnings++
		r.print("WARNING: more than %s. The machine: %s.", seconds(most), r.tour.load())
	}
}

// A Missed is the error of a state that was waited for and not reached.
type Missed struct {
	Want string
	Saw  error // the last that was seen
}

// Error says what was wanted, and what was seen.
func (m *Missed) Error() string { return fmt.Sprintf("want %s, saw: %v", m.Want, m.Saw) }

// Unwrap returns what was seen.
func (m *Missed) Unwrap() error { return m.Saw }

// Until looks again and again until look returns no error: then what is wanted is so. It
// returns a *Missed when the patience of the tour or ctx ends first. While it waits, it
// prints now and then for what, and what it sees instead.
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
		if last == nil || ctx.Err() == nil { // not that time is up, but why
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

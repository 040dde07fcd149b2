package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// A reason is a line of the list of equivalent mutants.
type reason struct {
	file, function, what string
}

// readReasons reads the list: file | function | mutation | why no test can notice it. A line about a subject must
// fit one of its mutants; lines about other packages are ignored.
func readReasons(name string, all []*subject) (map[reason]string, error) {
	known := map[reason]string{}
	if name == "" {
		return known, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	there, dirs := map[reason]bool{}, map[string]bool{}
	for _, sub := range all {
		dirs[sub.dir] = true
		for _, m := range sub.candidates {
			there[m.reason()] = true
		}
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, " | ", 4)
		if len(parts) != 4 {
			return nil, fmt.Errorf("%s:%d: want file | function | mutation | reason", name, number)
		}
		r := reason{parts[0], parts[1], parts[2]}
		if dirs[r.file[:max(strings.LastIndexByte(r.file, '/'), 0)]] && !there[r] {
			return nil, fmt.Errorf("%s:%d: there is no such mutant any more: remove the line, or correct it", name,
				number)
		}
		known[r] = parts[3]
	}
	return known, nil
}

func (m *mutant) reason() reason {
	return reason{m.subject.dir + "/" + m.file.name, m.function(), m.what}
}

// A report prints each result as it comes, and counts them.
type report struct {
	tally
	out     io.Writer
	reasons map[reason]string
	verbose bool
}

// A tally counts mutants by result.
type tally struct {
	Killed   int // Slow are among them
	Slow     int // by nothing but the time that they took
	Survived int // Excused and Unseen are among them
	Excused  int // with a reason
	Unseen   int // no test reaches them
}

// add takes a result.
func (r *report) add(of result) {
	m := of.mutant
	if of.killed {
		r.Killed++
		if of.slow {
			r.Slow++
		}
		if r.verbose {
			fmt.Fprintf(r.out, "killed   %s (%s)\n", m, of.by)
		}
		return
	}
	r.Survived++
	fmt.Fprintf(r.out, "SURVIVED %s\n", m)
	for _, line := range m.diff() {
		fmt.Fprintf(r.out, "    %s\n", line)
	}
	switch why, ok := r.reasons[m.reason()]; {
	case ok:
		r.Excused++
		fmt.Fprintf(r.out, "    equivalent: %s\n", why)
	case len(m.covered) == 0:
		r.Unseen++
		fmt.Fprintf(r.out, "    no test reaches it\n")
	default:
		fmt.Fprintf(r.out, "    tests that reach it: %d\n", len(m.covered))
	}
}

func (t tally) mutants() int { return t.Killed + t.Survived }

func (t tally) percent() float64 { return 100 * float64(t.Killed) / float64(t.mutants()) }

// plus returns the sum of two.
func (t tally) plus(o tally) tally {
	return tally{t.Killed + o.Killed, t.Slow + o.Slow, t.Survived + o.Survived, t.Excused + o.Excused,
		t.Unseen + o.Unseen}
}

// figures prints the counts.
func (t tally) figures(out io.Writer) {
	fmt.Fprintf(out, "mutants: %d\ncompiled: %d\nkilled: %d\nkilled_by_time_alone: %d\nsurvived: "+
		"%d\nsurvived_with_a_reason: %d\nreached_by_no_test: %d\n",
		t.mutants(), t.mutants(), t.Killed, t.Slow, t.Survived, t.Excused, t.Unseen)
}

// enough returns an error if too few mutants were killed.
func enough(percent, least float64) error {
	if percent < least {
		return fmt.Errorf("%.1f %% of the mutants were killed, less than %g %%: write a test for each that survived, or "+
			"say in %s why it is equivalent", percent, least, reasonsFile)
	}
	return nil
}

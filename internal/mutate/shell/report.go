package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A reason is a line of the list of equivalent mutants.
type reason struct {
	file, function, what string
}

// readReasons reads the list: file | function | mutation | why no test can tell. A line must fit a mutant of the subjects; what it says of others is left out.
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
			return nil, fmt.Errorf("%s:%d: there is no such mutant any more: remove the line, or correct it", name, number)
		}
		known[r] = parts[3]
	}
	return known, nil
}

func (m *mutant) reason() reason {
	return reason{m.subject.dir + "/" + m.file.name, m.function(), m.what}
}

// A report prints what is found while it is found, and the figures.
type report struct {
	out      io.Writer
	reasons  map[reason]string
	verbose  bool
	mutants  int
	start    time.Time
	killed   int
	slow     int
	survived int
	excused  int
	unseen   int
}

// add takes a result.
func (r *report) add(of result) {
	m := of.mutant
	if of.killed {
		r.killed++
		if of.slow {
			r.slow++
		}
		if r.verbose {
			fmt.Fprintf(r.out, "killed   %s (%s)\n", m, of.by)
		}
		return
	}
	r.survived++
	fmt.Fprintf(r.out, "SURVIVED %s\n", m)
	for _, line := range m.diff() {
		fmt.Fprintf(r.out, "    %s\n", line)
	}
	switch why, ok := r.reasons[m.reason()]; {
	case ok:
		r.excused++
		fmt.Fprintf(r.out, "    equivalent: %s\n", why)
	case len(m.covered) == 0:
		r.unseen++
		fmt.Fprintf(r.out, "    no test reaches it\n")
	default:
		fmt.Fprintf(r.out, "    tests that reach it: %d\n", len(m.covered))
	}
}

// end prints the figures, and returns an error if too few mutants were killed.
func (r *report) end(least float64) error {
	percent := 100 * float64(r.killed) / float64(r.mutants)
	fmt.Fprintf(r.out, "mutants: %d\ncompiled: %d\nkilled: %d\nkilled_by_time_alone: %d\nsurvived: %d\nsurvived_with_a_reason: %d\nreached_by_no_test: %d\nseconds: %.0f\npercent: %.1f\n",
		r.mutants, r.killed+r.survived, r.killed, r.slow, r.survived, r.excused, r.unseen, time.Since(r.start).Seconds(), percent)
	if percent < least {
		return fmt.Errorf("%.1f %% of the mutants were killed, less than %g %%: write a test for each that survived, or say in %s why it is equivalent", percent, least, reasonsFile)
	}
	return nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A result is the outcome of the tests with a mutant.
type result struct {
	mutant *mutant
	killed bool
	slow   bool   // by nothing but the time that it took
	by     string // the test, or why the run ended
}

// compare orders tests by the time that they take, and by their names.
func compare(a, b float64, one, other string) int {
	return cmp.Or(cmp.Compare(a, b), strings.Compare(one, other))
}

// tryAll tries all mutants, a few of them concurrently, and passes the results to took, one at a time. If the tests of
// a subject share a control plane, only one mutant of the subject runs at a time. These mutants come first, so that
// others run beside them.
func (l lab) tryAll(ctx context.Context, drawn []*mutant, took func(result)) {
	var lanes [][]*mutant // one after the other
	shared := map[*subject]int{}
	var single []*mutant
	for _, m := range drawn {
		if !m.subject.cluster {
			single = append(single, m)
			continue
		}
		i, ok := shared[m.subject]
		if !ok {
			i = len(lanes)
			shared[m.subject] = i
			lanes = append(lanes, nil)
		}
		lanes[i] = append(lanes[i], m)
	}
	work := make(chan []*mutant)
	go func() {
		defer close(work)
		for _, lane := range lanes {
			work <- lane
		}
		for _, m := range single {
			work <- []*mutant{m}
		}
	}()
	var one sync.Mutex
	var workers sync.WaitGroup
	for range max(l.parallel, 1) {
		workers.Go(func() {
			for lane := range work {
				for _, m := range lane {
					r := l.try(ctx, m)
					if ctx.Err() != nil {
						continue // it was not the mutant that ended the run
					}
					one.Lock()
					took(r)
					one.Unlock()
				}
			}
		})
	}
	workers.Wait()
}

// try runs the tests that reach a mutant, the quickest first, until one fails.
func (l lab) try(ctx context.Context, m *mutant) result {
	for _, batch := range batches(m.covered, m.subject.took) {
		if ctx.Err() != nil {
			return result{mutant: m}
		}
		if out, err := l.runBatch(ctx, m, batch); err != nil {
			return result{mutant: m, killed: true, slow: errors.Is(err, errSlow), by: failed(out, err)}
		}
	}
	return result{mutant: m}
}

// runBatch runs some of the tests with a mutant. A timeout counts only if the unchanged code is not equally slow at the
// moment, as on a busy machine.
func (l lab) runBatch(ctx context.Context, m *mutant, batch []string) (out []byte, err error) {
	expected := m.subject.startup
	for _, test := range batch {
		expected += m.subject.took[test]
	}
	tests := []string{"-test.skip=" + l.skip, "-test.run=^(" + strings.Join(batch, "|") + ")$"}
	const tries = 3
	for range tries {
		out, _, err = l.run(ctx, m.subject, l.bound(expected), []string{fmt.Sprintf("%s=%d", chosen, m.number)},
			tests...)
		if !errors.Is(err, errSlow) {
			return out, err
		}
		_, took, failed := l.run(ctx, m.subject, unchanged, nil, tests...)
		if failed != nil {
			return out, err
		}
		now := took.Seconds()
		if l.bound(now) < 2*l.bound(expected) {
			return out, err
		}
		expected = now
	}
	return out, err
}

// bound returns the time limit of a run that takes the given number of seconds without a mutation.
func (s settings) bound(seconds float64) time.Duration {
	const times = 5
	return s.patience + time.Duration(times*seconds*float64(time.Second))
}

// batches divides tests, the quickest first, into runs. The first run takes up to a second, and each following run up
// to five times as long as the one before. The failure of a quick test thus saves the slow ones, and the binary is not
// started too often.
func batches(tests []string, took map[string]float64) (all [][]string) {
	most, sum := 1.0, 0.0
	for i, test := range tests {
		if i == 0 || sum+took[test] > most {
			if i > 0 {
				most *= 5
			}
			all, sum = append(all, nil), 0
		}
		all[len(all)-1] = append(all[len(all)-1], test)
		sum += took[test]
	}
	return all
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// failed returns the name of the test that failed, or the reason for which the run ended.
func failed(out []byte, err error) string {
	if m := failure.FindSubmatch(out); m != nil {
		return string(m[1])
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	return err.Error()
}

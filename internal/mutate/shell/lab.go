package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The environment variables that the hooks read.
const (
	chosen = "MOORAGE_MUTANT"
	record = "MOORAGE_MUTANT_RECORD"
)

// A lab compiles the subjects with their mutants and runs them. It writes nothing to a subject: the compiler reads the
// changed sources through -overlay.
type lab struct {
	settings
	tmp string
	run func(ctx context.Context, s *subject, bound time.Duration, env []string,
		args ...string) (out []byte, took time.Duration, err error) // start, but in tests
}

// newLab makes a lab. It must be closed.
func newLab(s settings) (lab, error) {
	tmp, err := os.MkdirTemp("", "mutate-")
	l := lab{settings: s, tmp: tmp}
	l.run = l.start
	return l, err
}

func (l lab) close() { _ = os.RemoveAll(l.tmp) }

// prepare compiles a subject with its mutants, runs the tests of the unchanged code, and records which tests reach
// which mutant.
func (l lab) prepare(ctx context.Context, s *subject) error {
	if len(s.drawn) == 0 {
		return nil
	}
	if err := l.compile(ctx, s); err != nil {
		return err
	}
	// The first run starts what the tests share, the second measures a start.
	for range 2 {
		start := time.Now()
		if out, _, err := l.run(ctx, s, unchanged, nil, "-test.run=^$"); err != nil {
			return fmt.Errorf("the tests of %s do not start: %w\n%s", s.dir, err, tail(out))
		}
		s.startup = time.Since(start).Seconds()
	}
	notes := filepath.Join(l.tmp, s.name+".notes")
	if out, _, err := l.run(ctx, s, unchanged, []string{record + "=" + notes}, "-test.skip="+l.skip); err != nil {
		return fmt.Errorf("the tests of %s fail without a mutation: %w\n%s", s.dir, err, tail(out))
	}
	if err := s.read(notes); err != nil {
		return fmt.Errorf("the tests of %s say nothing of themselves: %w", s.dir, err)
	}
	return nil
}

// unchanged is the time limit of a run without a mutation.
const unchanged = 10 * time.Minute

// recheck runs the tests of the unchanged code again. If they fail, objects that other runs left behind may have killed
// mutants.
func (l lab) recheck(ctx context.Context, s *subject) error {
	if len(s.drawn) == 0 || !s.cluster {
		return nil
	}
	if out, _, err := l.run(ctx, s, unchanged, nil, "-test.skip="+l.skip); err != nil {
		return fmt.Errorf("the tests of %s fail without a mutation after the mutants have run: %w\n%s", s.dir, err,
			tail(out))
	}
	return nil
}

// compile compiles the tests of a subject with all its mutants.
func (l lab) compile(ctx context.Context, s *subject) error {
	texts, err := s.hooked()
	if err != nil {
		return err
	}
	for name, c := range s.combine() {
		texts[name] = c.text
	}
	replace := map[string]string{}
	for name, text := range texts {
		to := filepath.Join(l.tmp, s.name+"_"+name)
		replace[filepath.Join(s.abs, name)] = to
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return err
	}
	list := filepath.Join(l.tmp, s.name+".json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return err
	}
	s.binary = filepath.Join(l.tmp, s.name+".test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", list, "-o",
		s.binary, ".")
	build.Dir = s.abs
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // under the race detector, too: nothing is compiled twice
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot compile %s with its mutants: %w\n%s", s.dir, err, out)
	}
	if _, err := os.Stat(s.binary); err != nil {
		return fmt.Errorf("%s has no tests", s.dir)
	}
	return nil
}

// The reasons to end a run.
var (
	errSlow  = errors.New("the run took too long")
	errLarge = errors.New("the run took too much memory")
)

// start runs a compiled subject, and returns its output and its duration. It returns an error if the tests fail, or if
// it has to end the process.
func (l lab) start(ctx context.Context, s *subject, bound time.Duration, env []string,
	args ...string) ([]byte, time.Duration, error) {
	begin := time.Now()
	ctx, stop := context.WithTimeoutCause(ctx, bound, errSlow)
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	test := exec.CommandContext(ctx, s.binary,
		append([]string{"-test.short", "-test.failfast", "-test.timeout=0"}, args...)...)
	test.Dir = s.abs
	// One control plane per subject, whose name is that of the lab.
	test.Env = append(append(test.Environ(), "MOORAGE_DEVCLUSTER_RUN="+l.tmp+s.name), env...)
	test.WaitDelay = time.Second
	var out bytes.Buffer
	test.Stdout, test.Stderr = &out, &out
	if err := test.Start(); err != nil {
		return nil, 0, err
	}
	go watch(ctx, test.Process.Pid, func() { end(errLarge) })
	err := test.Wait()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return out.Bytes(), time.Since(begin), err
}

// watch calls end when a process uses more memory than tests need. A process that grows without limit would use all
// memory of the machine. Without /proc watch does nothing.
func watch(ctx context.Context, pid int, end func()) {
	const most, interval = 4 << 30, 250 * time.Millisecond
	clock := time.NewTicker(interval)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			return
		}
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			if pages, err := strconv.Atoi(fields[1]); err == nil && pages*os.Getpagesize() > most {
				end()
				return
			}
		}
	}
}

// tail returns the end of the output of a run.
func tail(out []byte) []byte {
	const most = 8 << 10
	return out[max(0, len(out)-most):]
}

// read reads the notes of the hooks.
func (s *subject) read(notes string) error {
	text, err := os.ReadFile(notes)
	if err != nil {
		return err
	}
	s.took = map[string]float64{}
	reached := map[int][]string{}
	outside := map[int]bool{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		for _, field := range fields[2:] {
			number, err := strconv.Atoi(field)
			if err != nil {
				return err
			}
			if fields[0] == "-" {
				outside[number] = true
			} else {
				reached[number] = append(reached[number], fields[0])
			}
		}
		if fields[0] != "-" {
			if s.took[fields[0]], err = strconv.ParseFloat(fields[1], 64); err != nil {
				return err
			}
		}
	}
	for _, m := range s.drawn {
		m.covered = reached[m.number]
		if outside[m.number] {
			m.covered = m.covered[:0]
			for test := range s.took {
				m.covered = append(m.covered, test)
			}
		}
		slices.SortFunc(m.covered, func(a, b string) int {
			return compare(s.took[a], s.took[b], a, b)
		})
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A suite runs the tests of modules, several modules at a time and several packages of each: tests wait for servers some of their time.
type suite struct {
	race    bool
	jobs    int
	only    func(module, folder string) bool // which packages; nil: all
	proof   []listed                         // the tests that are left out
	records string                           // the folder that testrun exec writes to
	self    string                           // this program

	mu      sync.Mutex
	modules []moduleTime
}

// A moduleTime is what the Go command took for a module: the processor time of tests is taken by records.
type moduleTime struct {
	name          string
	compile, wall time.Duration
	cpu           time.Duration // of the Go command and all that it started
	failed        bool
}

// run compiles the modules and tests them. It prints the table at the end, and fails if a test failed.
func (s *suite) run(ctx context.Context, modules []string) error {
	var err error
	if s.self, err = os.Executable(); err != nil {
		return err
	}
	if s.records, err = os.MkdirTemp("", "testrun-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.records)
	began := time.Now()
	seen, stop := &observer{folder: s.records, roots: map[int]*sampler{}, shared: map[int]time.Duration{}}, make(chan struct{})
	var observing sync.WaitGroup
	observing.Go(func() { seen.observe(stop) })
	broken := s.compileAndTest(ctx, modules)
	close(stop)
	observing.Wait()
	records, err := readRecords(s.records)
	table{records: records, modules: s.modules, seen: seen, wall: time.Since(began)}.print(os.Stdout)
	remember(records)
	err = errors.Join(err, broken)
	for _, m := range s.modules {
		if m.failed {
			err = errors.Join(err, fmt.Errorf("tests of %s failed: see above", m.name))
		}
	}
	return err
}

// compile compiles all that the tests of a module are linked of. Go commands that run at once do not share their work, so that tests begin only after it.
func (s *suite) compile(ctx context.Context, module string) error {
	fmt.Printf("== compile %s\n", module)
	args := []string{"list", "-test", "-deps", "-export"}
	if s.race {
		args = append(args, "-race")
	}
	began := time.Now()
	cmd := s.command(ctx, module, append(args, "./...")...)
	cmd.Stdout = io.Discard
	err := cmd.Run()
	s.add(moduleTime{name: module, compile: time.Since(began), cpu: processorTime(cmd)})
	if err != nil {
		return fmt.Errorf("cannot compile the tests of %s: %w", module, err)
	}
	return nil
}

// compileAndTest compiles the modules, one after the other, and tests each from then on. One that does not compile ends it, when those before it are tested.
func (s *suite) compileAndTest(ctx context.Context, modules []string) error {
	free := make(chan struct{}, s.jobs)
	var all sync.WaitGroup
	defer all.Wait()
	for _, m := range modules {
		if err := s.compile(ctx, m); err != nil {
			return err
		}
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			s.test(ctx, m)
		})
	}
	return nil
}

func (s *suite) test(ctx context.Context, module string) {
	packages, err := s.packages(ctx, module)
	if err == nil && len(packages) == 0 {
		return
	}
	began := time.Now()
	cmd := s.command(ctx, module, append(s.flags(module), packages...)...)
	if err == nil {
		fmt.Printf("== test %s\n", module)
		err = cmd.Run()
	}
	if err != nil {
		fmt.Printf("== test %s: FAILED: %v\n", module, err)
	} else {
		fmt.Printf("== test %s: done\n", module)
	}
	s.add(moduleTime{name: module, wall: time.Since(began), cpu: processorTime(cmd), failed: err != nil})
}

func (s *suite) flags(module string) []string {
	// Vet reads all that is linked, too: a third of what is compiled cold. It is a part of the proof and of make lint. With -exec, Go repeats no result from its cache:
	// it does not know what tests read outside of their module, and what they compile.
	flags := []string{"test", "-vet=off", "-exec", s.self + " exec " + s.records, "-p", strconv.Itoa(s.jobs), "-timeout", "60m"}
	if skip := skipped(s.proof, module); skip != "" {
		flags = append(flags, "-skip", skip)
	}
	if s.race {
		flags = append(flags, "-race")
	}
	return flags
}

// packages returns the packages of a module, those first that took longest the last time.
func (s *suite) packages(ctx context.Context, module string) ([]string, error) {
	cmd := s.command(ctx, module, "list", "-f", "{{.ImportPath}} {{.Dir}}", "./...")
	cmd.Stdout = nil
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the packages of %s: %w", module, err)
	}
	last, folders := remembered(), map[string]string{}
	var packages []string
	for line := range strings.Lines(string(out)) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
		if s.only == nil || s.only(module, folder) {
			folders[path] = folder
			packages = append(packages, path)
		}
	}
	slices.SortStableFunc(packages, func(a, b string) int { return int(last[folders[b]] - last[folders[a]]) })
	return packages, nil
}

func (s *suite) command(ctx context.Context, module string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "MAKEFLAGS=")
	if s.race {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	return cmd
}

func (s *suite) add(m moduleTime) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.modules {
		if s.modules[i].name == m.name {
			s.modules[i].wall += m.wall
			s.modules[i].cpu += m.cpu
			s.modules[i].failed = s.modules[i].failed || m.failed
			return
		}
	}
	s.modules = append(s.modules, m)
}

func processorTime(cmd *exec.Cmd) time.Duration {
	if cmd.ProcessState == nil {
		return 0
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// short returns a folder of the repository as it is written in a list.
func short(folder string) string {
	root, err := os.Getwd()
	if err != nil {
		return folder
	}
	name, err := filepath.Rel(root, folder)
	if err != nil {
		return folder
	}
	return filepath.ToSlash(name)
}

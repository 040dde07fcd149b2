package main

import (
	"cmp"
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
	"syscall"
	"time"
)

// A suite runs the tests of modules: several modules, and several packages of each, run concurrently. Tests spend some
// of their time waiting for servers.
type suite struct {
	race        bool
	jobs        int      // Go commands at a time, and packages at a time of each
	waitingJobs int      // packages of waiting at a time, besides
	waiting     []string // folders of packages that begin first
	only        []string // folders of packages; nil: all
	leftOut     []listed // tests
	env         []string // additional variables of the Go commands

	mu      sync.Mutex
	modules []moduleTime
	found   []string // folders of the tested packages
}

// A moduleTime is the time of the Go commands for a module.
type moduleTime struct {
	name          string
	compile, wall time.Duration
	cpu           time.Duration // of the Go command and all its children
	failed        bool
}

// unrepeated are folders whose test results Go must not repeat from its cache. Their tests compile or list files that
// the Go command does not see.
var unrepeated = []string{"cmd/kubectl-moorage", "cmd/moorage", "examples/edge/internal/tour",
	"examples/provider-nats/internal/app", "examples/provider-nats/internal/plugintest",
	"examples/provider-postgres/internal/systemtest",
	"examples/provider-nats/internal/tour",
	"examples/provider-postgres/internal/planted",
	"internal/layering", "internal/trials", "internal/sim/planted", "pkg/xp"}

func isUnrepeated(folder string) bool {
	return slices.ContainsFunc(unrepeated, func(f string) bool { return strings.HasPrefix(folder+"/", f+"/") })
}

// gcPercent is the value of GOGC for test binaries, for the programs that they start, and for the linker. They live for
// seconds or minutes. At 100 %, garbage collection uses up to a quarter of all processor time. The variable GOGC
// overrides it.
const gcPercent = 400

// A goPackage is a package to test.
type goPackage struct{ path, folder string }

// run compiles the modules and tests them. It prints the table at the end, and fails if a test failed.
func (s *suite) run(ctx context.Context, modules []string) error {
	env, notRun, err := needPostgres(modules, debianPostgres)
	if err != nil {
		return err
	}
	s.env = env
	fmt.Print(notRun)
	defer fmt.Print(notRun)
	began := time.Now()
	seen, stop := newObserver(), make(chan struct{})
	var observing sync.WaitGroup
	observing.Go(func() { seen.observe(stop) })
	err = s.compileAndTest(ctx, modules)
	close(stop)
	observing.Wait()
	t := table{records: seen.ended, modules: s.modules, idle: seen.idle, wall: time.Since(began)}
	for _, d := range seen.shared {
		t.shared += d
	}
	t.print(os.Stdout)
	remember(seen.ended)
	for _, m := range s.modules {
		if m.failed {
			err = errors.Join(err, fmt.Errorf("tests of %s failed: see above", m.name))
		}
	}
	for _, folder := range s.only {
		if err == nil && !slices.Contains(s.found, folder) {
			err = fmt.Errorf("%s is listed, and is no package of %s", folder, strings.Join(modules, " "))
		}
	}
	return err
}

// compileAndTest compiles the modules one after the other, and starts the tests of each as soon as it is compiled.
// Concurrent Go commands do not share what they compile. A module that does not compile ends the run after the tests of
// the earlier modules.
func (s *suite) compileAndTest(ctx context.Context, modules []string) error {
	waiting, jobs := newLane(s.waitingJobs), newLane(s.jobs)
	defer jobs.finish()
	defer waiting.finish()
	for _, m := range s.ordered(modules) {
		packages, err := s.packages(ctx, m)
		if err != nil {
			return err
		}
		if err := s.compile(ctx, m, packages); err != nil {
			return err
		}
		for _, g := range s.grouped(packages) {
			l := jobs
			if g.waiting {
				l = waiting
			}
			l.add(func() { s.test(ctx, m, g.packages) })
		}
	}
	return nil
}

// compile compiles everything that the tests of the packages link.
func (s *suite) compile(ctx context.Context, module string, packages []goPackage) error {
	if len(packages) == 0 {
		return nil
	}
	fmt.Printf("== compile %s\n", module)
	args := []string{"list", "-test", "-deps", "-export"}
	if s.race {
		args = append(args, "-race")
	}
	began := time.Now()
	cmd := s.command(ctx, module, append(args, paths(packages)...)...)
	cmd.Stdout = io.Discard
	err := cmd.Run()
	s.add(moduleTime{name: module, compile: time.Since(began), cpu: processorTime(cmd)})
	if err != nil {
		return fmt.Errorf("cannot compile the tests of %s: %w", module, err)
	}
	return nil
}

func (s *suite) test(ctx context.Context, module string, packages []goPackage) {
	began := time.Now()
	flags := s.flags(module)
	if isUnrepeated(relative(packages[0].folder)) {
		flags = append(flags, "-count=1")
	}
	cmd := s.command(ctx, module, append(flags, paths(packages)...)...)
	fmt.Printf("== test %s\n", module)
	err := cmd.Run()
	if err != nil {
		fmt.Printf("== test %s: FAILED: %v\n", module, err)
	} else {
		fmt.Printf("== test %s: done\n", module)
	}
	s.add(moduleTime{name: module, wall: time.Since(began), cpu: processorTime(cmd), failed: err != nil})
}

func (s *suite) flags(module string) []string {
	// vet also reads everything that is linked, which is a third of what is compiled without a cache. It is a part of the
	// proof and of make lint.
	flags := []string{"test", "-vet=off", "-p", strconv.Itoa(s.jobs), "-timeout", "60m"}
	if skip := skipped(s.leftOut, module); skip != "" {
		flags = append(flags, "-skip", skip)
	}
	if s.race {
		flags = append(flags, "-race")
	}
	return flags
}

// packages returns the packages of a module. Packages whose tests took longest in the last run come first.
func (s *suite) packages(ctx context.Context, module string) ([]goPackage, error) {
	cmd := s.command(ctx, module, "list", "-f", "{{.ImportPath}} {{.Dir}}", "./...")
	cmd.Stdout = nil
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the packages of %s: %w", module, err)
	}
	var packages []goPackage
	for line := range strings.Lines(string(out)) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
		if s.only == nil || slices.Contains(s.only, relative(folder)) {
			packages = append(packages, goPackage{path, folder})
			s.found = append(s.found, relative(folder))
		}
	}
	last := remembered()
	slices.SortStableFunc(packages, func(a, b goPackage) int { return cmp.Compare(last[b.folder], last[a.folder]) })
	return packages, nil
}

func paths(packages []goPackage) []string {
	list := make([]string, len(packages))
	for i, p := range packages {
		list[i] = p.path
	}
	return list
}

func (s *suite) command(ctx context.Context, module string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = module
	// with PWD as it is there: Go takes the folder's name from it
	cmd.Env = append(cmd.Environ(), "MAKEFLAGS=", "GOWORK=off")
	cmd.Env = append(cmd.Env, s.env...)
	if os.Getenv("GOGC") == "" {
		cmd.Env = append(cmd.Env, "GOGC="+strconv.Itoa(gcPercent))
	}
	if s.race {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	endTogether(cmd)
	return cmd
}

// endTogether makes the end of the context kill a command with all its children.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
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

// relative returns a folder relative to the root of the repository, as it is in the lists. The root is the working
// folder.
func relative(folder string) string {
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

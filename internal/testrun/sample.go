package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A kind is the role of a process in a test.
type kind int

const (
	computing kind = iota // the test binary, and other programs that it starts
	compiling             // the Go command and its tools
	serving               // API servers, etcd and NATS
	kinds
)

// programs are the kinds of programs by name, as the kernel cuts it: 15 bytes.
var programs = map[string]kind{
	"go": compiling, "compile": compiling, "link": compiling, "asm": compiling, "cgo": compiling, "vet": compiling,
	"buildid": compiling,
	"make":    compiling, "controller-gen": compiling, "golangci-lint": compiling,
	"devcluster": serving, "kube-apiserver": serving, "etcd": serving, "nats-server": serving,
}

// A process is a line of the process table, with processor time in ticks.
type process struct {
	parent int
	name   string
	own    int
	waited int  // of its reaped children
	shared bool // a control plane that ends after its last user
}

// A record is the time that one test binary used, estimated from samples.
type record struct {
	folder string        // of the package
	wall   time.Duration // from its start to its end
	cpu    time.Duration // with all its children
	kinds  [kinds]time.Duration
	waited [kinds + 1]time.Duration // wall time by the busiest kind; the last one is idle
}

// An observer samples all test binaries that the Go commands of this process run, and the control planes that they
// share. It does not change how they run. With go test -exec, Go would repeat no result from its cache.
type observer struct {
	self    int // this process
	folder  func(pid int) (name string, isTest bool)
	sampled bool // at least once
	running map[int]*sampler
	ended   []record
	before  map[int]int           // ticks of shared control planes when they were first seen, by process
	shared  map[int]time.Duration // processor time of shared control planes since then
	idle    time.Duration         // of all processors of the machine, since the observer was made
	started time.Duration         // what idleTime returned then
}

func newObserver() *observer {
	return &observer{self: os.Getpid(), folder: testFolder, running: map[int]*sampler{}, before: map[int]int{},
		shared: map[int]time.Duration{}, started: idleTime()}
}

// interval is the interval at which the process table is read, once for all test binaries.
const interval = time.Second

// observe samples until stop is closed.
func (o *observer) observe(stop <-chan struct{}) {
	clock := time.NewTicker(interval)
	defer clock.Stop()
	for last := time.Now(); ; {
		select {
		case <-stop:
			o.sample(0, nil)
			o.idle = idleTime() - o.started
			return
		case now := <-clock.C:
			o.sample(now.Sub(last), processes())
			last = now
		}
	}
}

func (o *observer) sample(elapsed time.Duration, table map[int]process) {
	for root, s := range o.running {
		if _, runs := table[root]; !runs {
			o.ended = append(o.ended, s.record())
			delete(o.running, root)
		}
	}
	for pid, p := range table {
		if p.shared {
			if _, known := o.before[pid]; !known {
				o.before[pid] = o.ownBefore(p)
			}
			o.shared[pid] = time.Duration(p.own-o.before[pid]) * tick
		}
		command := table[p.parent]
		if o.running[pid] != nil || command.name != "go" || command.parent != o.self {
			continue
		}
		if folder, ok := o.folder(pid); ok {
			o.running[pid] = newSampler(pid, folder)
		}
	}
	for _, s := range o.running {
		s.sample(elapsed, table)
	}
	o.sampled = o.sampled || len(table) > 0
}

// ownBefore returns the time that a shared control plane used before this run. It is zero if the control plane has
// started since. It is the complete time if the control plane was there at the first sample.
func (o *observer) ownBefore(p process) int {
	if o.sampled {
		return 0
	}
	return p.own
}

// testFolder returns the folder of the package that a process tests, if it is a test binary that the Go command runs.
func testFolder(pid int) (string, bool) {
	folder := fmt.Sprintf("/proc/%d", pid)
	args, err := os.ReadFile(folder + "/cmdline")
	if err != nil || !strings.Contains(string(args), "\x00-test.") {
		return "", false
	}
	name, err := os.Readlink(folder + "/cwd")
	return name, err == nil
}

// A sampler follows a process, its descendants, and the control planes that several test binaries share.
type sampler struct {
	folder string
	root   int
	mine   map[int]bool
	last   map[int]int
	ticks  [kinds]int               // processor time of the descendants, by kind
	all    int                      // ticks of the root and of its reaped children
	wall   time.Duration            // since it was first seen
	waited [kinds + 1]time.Duration // wall time by kind; the last one is idle
}

const idle = kinds

func newSampler(root int, folder string) *sampler {
	return &sampler{folder: folder, root: root, mine: map[int]bool{root: true}, last: map[int]int{}}
}

// sample adds the processor time since the last sample, and assigns the time in between to the busiest kind.
func (s *sampler) sample(elapsed time.Duration, table map[int]process) {
	s.adopt(table)
	s.wall += elapsed
	s.all = table[s.root].own + table[s.root].waited
	var did [kinds]int
	for pid, p := range table {
		shared := p.shared && !s.mine[pid]
		if !s.mine[pid] && !shared {
			continue
		}
		before, known := s.last[pid]
		s.last[pid] = p.own
		if shared && !known {
			continue
		}
		k := kindOf(p.name)
		did[k] += p.own - before
		if !shared {
			s.ticks[k] += p.own - before
		}
	}
	most, busy := computing, 0
	for k, n := range did {
		if n > busy {
			most, busy = kind(k), n
		}
	}
	if time.Duration(busy)*tick*10 < elapsed {
		most = idle
	}
	s.waited[most] += elapsed
}

// record returns the times so far. A process that ends between two samples is not seen by name. It is usually a
// compiler or belongs to the test, so its time is divided in proportion to theirs.
func (s *sampler) record() record {
	r := record{folder: s.folder, wall: s.wall, cpu: time.Duration(s.all) * tick, waited: s.waited}
	var named time.Duration
	for k, n := range s.ticks {
		r.kinds[k] = time.Duration(n) * tick
		named += r.kinds[k]
	}
	missing, seen := r.cpu-named, r.kinds[computing]+r.kinds[compiling]
	switch {
	case missing <= 0:
		r.cpu = named
	case seen == 0:
		r.kinds[computing] += missing
	default:
		part := float64(missing) / float64(seen)
		r.kinds[computing] += time.Duration(part * float64(r.kinds[computing]))
		r.kinds[compiling] += time.Duration(part * float64(r.kinds[compiling]))
	}
	return r
}

// adopt adds the children of the followed processes.
func (s *sampler) adopt(table map[int]process) {
	for again := true; again; {
		again = false
		for pid, p := range table {
			if s.mine[p.parent] && !s.mine[pid] {
				s.mine[pid], again = true, true
			}
		}
	}
}

func kindOf(name string) kind {
	return programs[name]
}

// tick is the unit of processor time in the process table of Linux, which is the same on every architecture that Go
// runs on.
const tick = 10 * time.Millisecond

// idleTime returns how long all processors of the machine together have had nothing to do since it started. Without
// /proc it is zero.
func idleTime() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return idleOf(string(text))
}

// idleOf reads the first line of /proc/stat: cpu user nice system idle iowait. A processor that waits for a disk has
// nothing to do either.
func idleOf(stat string) time.Duration {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[0] != "cpu" {
		return 0
	}
	var ticks int
	for _, f := range fields[4:6] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * tick
}

// processes reads the process table. Without /proc the table is empty.
func processes() map[int]process {
	table := map[int]process{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended meanwhile
		}
		if pid, p, ok := parse(string(line)); ok {
			if p.name == "devcluster" {
				args, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
				p.shared = strings.Contains(string(args), "--idle-exit")
			}
			table[pid] = p
		}
	}
	return table
}

// parse reads a line of the process table. The name is in parentheses and may contain some itself.
func parse(line string) (int, process, bool) {
	from, to := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if from < 0 || to < from {
		return 0, process{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line[:from]))
	rest := strings.Fields(line[to+1:])
	if err != nil || len(rest) < 15 {
		return 0, process{}, false
	}
	number := func(i int) int { n, _ := strconv.Atoi(rest[i]); return n }
	return pid, process{parent: number(1), name: line[from+1 : to], own: number(11) + number(12),
		waited: number(13) + number(14)}, true
}

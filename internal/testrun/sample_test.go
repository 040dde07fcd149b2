package main

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSampler follows a test binary that waits for a compiler, then for its own server, then for a shared one, then
// computes, then sleeps.
func TestSampler(t *testing.T) {
	const second = 100 // ticks
	s := newSampler(10, "internal/sim")
	at := func(test, link, own, shared int) map[int]process {
		return map[int]process{
			1:  {name: "init"},
			10: {parent: 1, name: "sim.test", own: test},
			11: {parent: 10, name: "go"},
			12: {parent: 11, name: "link", own: link},
			13: {parent: 10, name: "nats-server", own: own},
			20: {parent: 1, name: "devcluster", own: shared, shared: true},
			21: {parent: 1, name: "devcluster", own: 1000 * shared}, // of another package
			30: {parent: 1, name: "compile", own: 1000 * shared},    // of another run
		}
	}
	s.sample(0, at(0, 0, 0, 5*second))
	s.sample(time.Second, at(0, second, 0, 5*second))
	s.sample(time.Second, at(0, second, second, 5*second))
	s.sample(time.Second, at(0, second, second, 6*second))
	s.sample(time.Second, at(second, second, second, 6*second))
	s.sample(time.Second, at(second+second/20, second, second, 6*second))
	s.sample(0, map[int]process{10: {parent: 1, name: "sim.test", own: 2 * second}})

	want := [kinds + 1]time.Duration{computing: time.Second, compiling: time.Second, serving: 2 * time.Second,
		idle: time.Second}
	if diff := cmp.Diff(want, s.waited); diff != "" {
		t.Errorf("waited: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([kinds]int{computing: 2 * second, compiling: second, serving: second}, s.ticks); diff != "" {
		t.Errorf("processor: -want, +got:\n%s", diff)
	}
}

// TestObserver checks that test binaries of this program's Go commands are followed from when they are seen until they
// end, and that shared control planes are counted once.
func TestObserver(t *testing.T) {
	o := newObserver()
	o.self = 2
	o.folder = func(pid int) (string, bool) { return "pkg/a", pid == 11 }
	table := map[int]process{
		2: {name: "testrun"}, 10: {parent: 2, name: "go"}, 11: {parent: 10, name: "a.test", own: 100, waited: 50},
		12: {parent: 10, name: "compile", own: 7},
		20: {parent: 1, name: "devcluster", own: 300, shared: true},
		30: {parent: 1, name: "go"}, 11011: {parent: 30, name: "a.test"}, // of another run
	}
	// it served another run before
	o.sample(time.Second, map[int]process{21: {parent: 1, name: "devcluster", own: 1000, shared: true}})
	table[21] = process{parent: 1, name: "devcluster", own: 1200, shared: true}
	o.sample(time.Second, table)
	o.sample(time.Second, table)
	if len(o.ended) != 0 {
		t.Errorf("it runs: %+v", o.ended)
	}
	o.sample(time.Second, map[int]process{2: {name: "testrun"}})
	want := []record{{folder: "pkg/a", wall: 2 * time.Second, cpu: 1500 * time.Millisecond}}
	want[0].kinds[computing] = 1500 * time.Millisecond
	want[0].waited = [kinds + 1]time.Duration{computing: time.Second, idle: time.Second}
	if diff := cmp.Diff(want, o.ended, cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("ended: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[int]time.Duration{20: 3 * time.Second, 21: 2 * time.Second}, o.shared); diff != "" {
		t.Errorf("shared: -want, +got:\n%s", diff)
	}
}

// TestTestFolder checks that a test binary is recognized with its folder, and that other processes are not.
func TestTestFolder(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Logf("this system has no process table: %v", err)
		return
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if folder, ok := testFolder(os.Getpid()); !ok || folder != here {
		t.Errorf("%s, %t, want %s", folder, ok, here)
	}
	if folder, ok := testFolder(1); ok {
		t.Errorf("process 1 tests %s", folder)
	}
}

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason string
		line   string
		pid    int
		want   process
		ok     bool
	}{
		"Plain": {
			"The fourth field is the parent, the fourteenth and the fifteenth are times, the two after them those of children.",
			"7 (go) S 3 7 7 0 -1 1 2 3 4 5 60 70 8 9 20 0", 7, process{parent: 3, name: "go", own: 130, waited: 17},
			true},
		"Spaces": {"A name may hold spaces and parentheses.", "7 (a) b (c) S 3 7 7 0 -1 1 2 3 4 5 60 70 8 9 20 0", 7,
			process{parent: 3, name: "a) b (c", own: 130, waited: 17}, true},
		"Short": {"A line that is cut off says nothing.", "7 (go) S 3 7", 0, process{}, false},
		"Empty": {"Nor does an empty one.", "", 0, process{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pid, got, ok := parse(tc.line)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(process{})); diff != "" || pid != tc.pid ||
				ok != tc.ok {
				t.Errorf("%s\n%d, %t; -want, +got:\n%s", tc.reason, pid, ok, diff)
			}
		})
	}
}

// TestProcesses checks that this process is in the table, below its parent.
func TestProcesses(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Logf("this system has no process table: %v", err)
		return
	}
	if p := processes()[os.Getpid()]; p.parent != os.Getppid() {
		t.Errorf("parent %d, want %d", p.parent, os.Getppid())
	}
}

// TestIdleOf checks that idle time and waits for disks are added, and that another file is no time.
func TestIdleOf(t *testing.T) {
	for stat, want := range map[string]time.Duration{
		"cpu  10 20 30 400 5 0 0 0 0 0\ncpu0 10 20 30 400 5 0\n": 4050 * time.Millisecond,
		"intr 1 2 3 4 5 6\n":      0,
		"cpu  1 2\n":              0,
		"cpu  10 20 30 x 5 0 0\n": 0,
		"":                        0,
	} {
		if got := idleOf(stat); got != want {
			t.Errorf("idleOf(%q) = %s, want %s", stat, got, want)
		}
	}
	if before, now := idleTime(), idleTime(); before == 0 || now < before {
		t.Errorf("idleTime: %s, then %s", before, now)
	}
}

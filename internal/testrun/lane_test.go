package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLane checks that a lane begins functions in their order, runs so many at a time, and ends after the last.
func TestLane(t *testing.T) {
	var mu sync.Mutex
	var began []int
	running, most := 0, 0
	together := make(chan struct{})
	l := newLane(2)
	for i := range 6 {
		l.add(func() {
			mu.Lock()
			began = append(began, i)
			running++
			most = max(most, running)
			first := len(began) == 1
			if len(began) == 2 {
				close(together)
			}
			mu.Unlock()
			if first {
				<-together
			}
			mu.Lock()
			defer mu.Unlock()
			running--
		})
	}
	l.finish()
	slices.Sort(began[:2])
	if diff := cmp.Diff(6, len(began)); diff != "" || began[0] != 0 || began[1] != 1 {
		t.Errorf("began: %v", began)
	}
	if running != 0 || most != 2 {
		t.Errorf("%d run after the end; %d at a time, want 2", running, most)
	}
}

// TestGrouped checks that waiting packages have groups of their own, in the order of the list, before all others, and
// that no package is lost.
func TestGrouped(t *testing.T) {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	pkg := func(name string) goPackage { return goPackage{name, filepath.Join(folder, name)} }
	s := suite{waiting: []string{"slow", "internal/layering", "elsewhere"}}
	got := s.grouped([]goPackage{pkg("a"), pkg("internal/layering"), pkg("pkg/xp"), pkg("slow"), pkg("b")})
	want := []group{
		{[]goPackage{pkg("slow")}, true},
		{[]goPackage{pkg("internal/layering")}, true},
		{[]goPackage{pkg("pkg/xp")}, false},
		{[]goPackage{pkg("a"), pkg("b")}, false},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(group{}, goPackage{})); diff != "" {
		t.Errorf("grouped: -want, +got:\n%s", diff)
	}
	if got := s.grouped(nil); got != nil {
		t.Errorf("grouped(nil) = %v", got)
	}
}

// TestOrdered checks that modules with waiting packages come first, and that each module comes once.
func TestOrdered(t *testing.T) {
	t.Chdir(root)
	s := suite{waiting: []string{"examples/syncer", "internal/systemtest", "bench/internal/load"}}
	got := s.ordered([]string{".", "devcluster", "examples/edge", "bench", "examples/syncer"})
	want := []string{".", "bench", "examples/syncer", "devcluster", "examples/edge"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ordered: -want, +got:\n%s", diff)
	}
}

// TestWaitingList checks that each folder of the list has tests and is listed once. Packages of a module that is not
// tested would be ignored without a word.
func TestWaitingList(t *testing.T) {
	modules := modulesOf(t)
	t.Chdir(root)
	listed := waiting()
	if len(listed) == 0 || strings.Contains(strings.Join(listed, ""), "#") {
		t.Fatalf("the list is not read: %v", listed)
	}
	for i, folder := range listed {
		if slices.Contains(listed[:i], folder) {
			t.Errorf("%s is listed twice", folder)
		}
		if files, err := filepath.Glob(filepath.Join(folder, "*_test.go")); err != nil || len(files) == 0 {
			t.Errorf("%s has no tests: %v", folder, err)
		}
		if module, _ := moduleOf(folder); !slices.Contains(modules, module) {
			t.Errorf("%s: the module %s is not tested", folder, module)
		}
	}
}

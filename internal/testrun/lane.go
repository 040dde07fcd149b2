package main

import (
	"slices"
	"sync"
)

// A lane runs functions in the order in which they were added, several at a time.
type lane struct {
	next    chan func()
	workers sync.WaitGroup
}

// queued is how many functions wait in a lane before add blocks. A run has fewer groups.
const queued = 1000

// newLane returns a lane that runs n functions at a time.
func newLane(n int) *lane {
	l := &lane{next: make(chan func(), queued)}
	for range n {
		l.workers.Go(func() {
			for f := range l.next {
				f()
			}
		})
	}
	return l
}

func (l *lane) add(f func()) { l.next <- f }

// finish returns when all functions have returned. Nothing can be added any more.
func (l *lane) finish() {
	close(l.next)
	l.workers.Wait()
}

// A group is packages of a module that one Go command tests.
type group struct {
	packages []goPackage
	waiting  bool
}

// grouped returns a group for each package of the waiting list, in the order of the list. Others are in two groups: one
// of the packages whose results may not be repeated, then one of the rest.
func (s *suite) grouped(packages []goPackage) []group {
	var groups []group
	for _, folder := range s.waiting {
		for _, p := range packages {
			if relative(p.folder) == folder {
				groups = append(groups, group{packages: []goPackage{p}, waiting: true})
			}
		}
	}
	var unrepeatable, others []goPackage
	for _, p := range packages {
		switch folder := relative(p.folder); {
		case slices.Contains(s.waiting, folder):
		case isUnrepeated(folder):
			unrepeatable = append(unrepeatable, p)
		default:
			others = append(others, p)
		}
	}
	for _, some := range [][]goPackage{unrepeatable, others} {
		if len(some) > 0 {
			groups = append(groups, group{packages: some})
		}
	}
	return groups
}

// ordered returns the modules with packages of the waiting list before the others.
func (s *suite) ordered(modules []string) []string {
	var first, others []string
	for _, m := range modules {
		isListed := slices.ContainsFunc(s.waiting, func(folder string) bool {
			module, _ := moduleOf(folder)
			return module == m
		})
		if isListed {
			first = append(first, m)
		} else {
			others = append(others, m)
		}
	}
	return append(first, others...)
}

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
	"strconv"
	"sync"
	"time"
)

// A verdict is what the tests say of a mutant.
type verdict int

const (
	killed   verdict = iota // a test failed
	survived                // all tests passed
	broken                  // it could not be compiled or started: the tests said nothing
)

// A result is a verdict and, where there is something to explain, the output of the command behind it.
type result struct {
	verdict verdict
	detail  string
}

// A lab compiles the tests of one package against other versions of one of its files, and runs them. Nothing is written to the package: the compiler sees the
// other version through -overlay.
type lab struct {
	file string // absolute
	tmp  string
}

// newLab makes a lab for the package that the file is in. It must be closed.
func newLab(file string) (lab, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return lab{}, err
	}
	// go list and the compiler know the file by its real path.
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return lab{}, err
	}
	tmp, err := os.MkdirTemp("", "mutate-")
	return lab{file: abs, tmp: tmp}, err
}

func (l lab) close() { _ = os.RemoveAll(l.tmp) }

// tryAll tries the mutants, a few at a time. Each of the channels gives one result.
func (l lab) tryAll(mutants []mutant) []chan result {
	results := make([]chan result, len(mutants))
	for i := range results {
		results[i] = make(chan result, 1)
	}
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range mutants {
			next <- i
		}
	}()
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range next {
				v, detail := l.try(strconv.Itoa(i), mutants[i].src)
				results[i] <- result{v, detail}
			}
		})
	}
	return results
}

// try runs the tests with this version of the file. Compiling and running are two steps, because go test has one exit code for both.
func (l lab) try(name string, src []byte) (verdict, string) {
	overlay, err := l.overlay(name, src)
	if err != nil {
		return broken, err.Error()
	}
	binary := filepath.Join(l.tmp, name+".test")
	defer func() { _ = os.Remove(binary) }()

	// The compiler judges a mutant, not vet: unreachable code is no reason to leave one out.
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, ".")
	build.Dir = filepath.Dir(l.file)
	if out, err := build.CombinedOutput(); err != nil {
		return broken, string(out)
	}
	if _, err := os.Stat(binary); err != nil {
		return broken, "the package has no tests"
	}
	return l.test(binary)
}

// test runs a compiled test and returns what it says.
func (l lab) test(binary string) (verdict, string) {
	// The test ends itself at its timeout; the context is for a process that cannot.
	ctx, cancel := context.WithTimeout(context.Background(), patience+10*time.Second)
	defer cancel()
	test := exec.CommandContext(ctx, binary, "-test.short", "-test.failfast", "-test.timeout", patience.String())
	test.Dir = filepath.Dir(l.file)
	out, err := test.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil && bytes.Contains(out, []byte("testing: warning: no tests to run")):
		return broken, "the package has no tests"
	case err == nil:
		return survived, ""
	case errors.As(err, &exit):
		return killed, string(out)
	}
	return broken, fmt.Sprintf("cannot run the tests: %v", err)
}

// overlay writes the source and the file that puts it in the place of the lab's own.
func (l lab) overlay(name string, src []byte) (string, error) {
	source := filepath.Join(l.tmp, name+".go")
	if err := os.WriteFile(source, src, 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {l.file: source}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(l.tmp, name+".json")
	return path, os.WriteFile(path, replace, 0o600)
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A verdict is the result of the tests with a mutant.
type verdict int

const (
	killed   verdict = iota // a test failed
	survived                // all tests passed
	broken                  // it could not be compiled or started: no test ran
)

// A result is a verdict with the output of the command. If the mutant survived there is no output.
type result struct {
	verdict verdict
	detail  string
}

// A lab compiles and runs the tests of one package with changed versions of one of its files. It writes nothing to the
// package: the compiler reads the changed version through -overlay.
type lab struct {
	file string // absolute
	tmp  string
	own  string // a pattern of the tests in the file's own test file; "": it has none
}

// A trial tests the mutant with a number, counted from 1. The number 0 means the unchanged source.
type trial func(number int) result

// newLab makes a lab for the package that the file is in. It must be closed.
func newLab(file string) (lab, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return lab{}, err
	}
	// go list and the compiler use the real path of the file.
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return lab{}, err
	}
	own, err := testsBeside(abs)
	if err != nil {
		return lab{}, err
	}
	tmp, err := os.MkdirTemp("", "mutate-")
	return lab{file: abs, tmp: tmp, own: own}, err
}

// declares finds the tests that a file declares.
var declares = regexp.MustCompile(`(?m)^func (Test\w*)\(\w+ \*testing\.T\)`)

// testsBeside returns the pattern for -test.run of the tests in x_test.go, for a file x.go. It is empty without such
// tests.
func testsBeside(file string) (string, error) {
	text, err := os.ReadFile(strings.TrimSuffix(file, ".go") + "_test.go")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var names []string
	for _, m := range declares.FindAllSubmatch(text, -1) {
		names = append(names, string(m[1]))
	}
	if len(names) == 0 {
		return "", nil
	}
	return "^(" + strings.Join(names, "|") + ")$", nil
}

func (l lab) close() { _ = os.RemoveAll(l.tmp) }

// tryAll tries the mutants, a few of them concurrently. Each channel yields one result.
func tryAll(mutants int, try trial) []chan result {
	results := make([]chan result, mutants)
	for i := range results {
		results[i] = make(chan result, 1)
	}
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range results {
			next <- i
		}
	}()
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range next {
				results[i] <- try(i + 1)
			}
		})
	}
	return results
}

// trial compiles all mutants at once. If that does not compile, it compiles each mutant separately when the mutant is
// tried.
func (l lab) trial(src []byte, mutants []mutant) (trial, error) {
	all, choice, err := combined(src, mutants)
	if err != nil {
		return nil, err
	}
	binary, _, err := l.compile("all", all, choice)
	if err != nil {
		return l.separate(src, mutants), nil
	}
	return func(number int) result {
		v, detail := l.test(binary, number)
		return result{v, detail}
	}, nil
}

// separate compiles each mutant when it is tried.
func (l lab) separate(src []byte, mutants []mutant) trial {
	return func(number int) result {
		text := src
		if number > 0 {
			text = mutants[number-1].src
		}
		binary, said, err := l.compile(strconv.Itoa(number), text, nil)
		if err != nil {
			return result{broken, said}
		}
		defer func() { _ = os.Remove(binary) }()
		v, detail := l.test(binary, 0)
		return result{v, detail}
	}
}

// compile compiles the tests with a version of the file and, if it is not nil, with an additional file. said is the
// text of an error for readers. Compiling and running are separate steps, because go test has one exit code for both.
func (l lab) compile(name string, src, beside []byte) (binary, said string, err error) {
	overlay, err := l.overlay(name, src, beside)
	if err != nil {
		return "", err.Error(), err
	}
	binary = filepath.Join(l.tmp, name+".test")
	// The compiler judges a mutant, not vet: a mutant with unreachable code is tried as well.
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, ".")
	build.Dir = filepath.Dir(l.file)
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // under the race detector, too: nothing is compiled twice
	if out, err := build.CombinedOutput(); err != nil {
		return "", string(out), err
	}
	if _, err := os.Stat(binary); err != nil {
		return "", "the package has no tests", err
	}
	return binary, "", nil
}

// test runs a compiled test with the mutant of the given number, and returns the verdict and the output. The file's own
// tests run first: they kill most mutants in milliseconds, and other tests try every combination of facts.
func (l lab) test(binary string, number int) (verdict, string) {
	if number > 0 && l.own != "" {
		if v, detail := l.runTests(binary, number, "-test.run", l.own); v == killed {
			return v, detail
		}
	}
	return l.runTests(binary, number)
}

// runTests runs the tests that the flags choose.
func (l lab) runTests(binary string, number int, flags ...string) (verdict, string) {
	// The test ends itself at its timeout. The context is for a process that does not end.
	ctx, cancel := context.WithTimeout(context.Background(), patience+10*time.Second)
	defer cancel()
	test := exec.CommandContext(ctx, binary,
		append(flags, "-test.short", "-test.failfast", "-test.timeout", patience.String())...)
	test.Dir = filepath.Dir(l.file)
	test.Env = append(test.Environ(), chosen+"="+strconv.Itoa(number))
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

// overlay writes the source, the additional file, and the overlay that adds both to the package.
func (l lab) overlay(name string, src, beside []byte) (string, error) {
	replace := map[string]string{}
	for path, text := range map[string][]byte{
		l.file: src, filepath.Join(filepath.Dir(l.file), "mutant_chosen.go"): beside,
	} {
		if text == nil {
			continue
		}
		replace[path] = filepath.Join(l.tmp, name+"_"+filepath.Base(path))
		if err := os.WriteFile(replace[path], text, 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(l.tmp, name+".json")
	return path, os.WriteFile(path, overlay, 0o600)
}

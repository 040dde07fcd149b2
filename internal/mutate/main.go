// Command mutate checks that the tests of a decision notice every change of the decision.
//
//	go run ./internal/mutate FILE
//
// FILE is a Go file whose decisions are switches without an expression. The first case that holds wins, so the presence
// and the position of a case matter. Each mutant is FILE with one case deleted, or with two neighboring cases
// exchanged. If a test of the package fails, the mutant is reported as killed. If all tests pass, it is reported as
// SURVIVED with its position. The last lines are "mutants: N" and "survived: N".
//
// The exit code is 1 if a mutant survives, if there is no mutant, if a mutant does not compile, or if the tests fail
// without any change. A mutant that does not compile tests nothing.
//
// The default clause is not deleted, because a function would not compile without it. The cases of a switch over a
// value are deleted and not exchanged, because their order has no effect.
package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// The number of mutants that are compiled and run concurrently, and the time limit of a run. The time limit ends a
// mutant with an endless loop.
const (
	parallel = 2
	patience = time.Minute
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/mutate FILE")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run tries every mutant of a file and returns an error if one survives or cannot be tried.
func run(out io.Writer, file string) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	mutants, err := mutate(file, src)
	if err != nil {
		return err
	}
	if len(mutants) == 0 {
		return fmt.Errorf("%s has no case to delete or to exchange", file)
	}
	l, err := newLab(file)
	if err != nil {
		return err
	}
	defer l.close()

	try, err := l.trial(src, mutants)
	if err != nil {
		return err
	}
	switch r := try(0); r.verdict {
	case killed:
		return fmt.Errorf("the tests fail without a mutation:\n%s", r.detail)
	case broken:
		return fmt.Errorf("the tests do not run without a mutation:\n%s", r.detail)
	case survived:
	}
	return report(out, mutants, tryAll(len(mutants), try))
}

// report prints a line per mutant, in the order of the source, as soon as its result is known.
func report(out io.Writer, mutants []mutant, results []chan result) error {
	survivors, wrecks := 0, 0
	for i, m := range mutants {
		r := <-results[i]
		switch r.verdict {
		case killed:
			fmt.Fprintf(out, "killed   %s\n", m)
		case survived:
			survivors++
			fmt.Fprintf(out, "SURVIVED %s\n", m)
		case broken:
			wrecks++
			fmt.Fprintf(out, "BROKEN   %s\n%s\n", m, r.detail)
		}
	}
	fmt.Fprintf(out, "mutants: %d\nsurvived: %d\n", len(mutants), survivors)
	switch {
	case wrecks > 0:
		return fmt.Errorf("%d mutants do not compile, so nothing was tested with them", wrecks)
	case survivors > 0:
		return fmt.Errorf("%d mutants survived: no test notices these changes", survivors)
	}
	return nil
}

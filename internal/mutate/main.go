// Command mutate checks whether the tests of a decision notice every change of it.
//
//	go run ./internal/mutate FILE
//
// FILE is Go source whose decisions are expression-less switches: the first case that holds wins, so both the
// presence of a case and its place matter. Each mutant is FILE with one case deleted, or with two neighboring cases
// exchanged. A mutant must make a test of the package fail; it is reported as killed then, and as SURVIVED with its
// place if all tests pass. The last lines are "mutants: N" and "survived: N".
//
// It exits 1 if a mutant survives, if there is none to try, if one does not compile (nothing was tested then), or if
// the tests fail without any change.
//
// The default clause stays: without it a function would not compile. A switch over a value has no order to test, so
// its cases are deleted and not exchanged.
package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// How many mutants are compiled and run at a time, and how long one may run: the timeout kills a mutant that loops
// forever.
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

// report prints a line per mutant, in the order of the source, as soon as it is known.
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

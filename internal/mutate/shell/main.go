// Command shell tells how many changes of the code around the decisions the tests notice.
//
//	go run ./internal/mutate/shell -seed N
//
// It runs in the root of the module. A mutant is one change in a function of a subject, see subjects: a condition negated, a call or an assignment removed,
// neighbours exchanged (statements, cases of a switch, operands and arguments of one type), a constant changed; but not what no caller could see whatever the
// code is for, see equivalents.go and orders.go. The seed draws -mutants of them from all subjects; one that does not compile is drawn anew. -at names a file, or a line of
// it, and takes only its mutants: for whoever works on a survivor.
//
// All drawn mutants of a subject are compiled into one test binary: each mutated function holds a copy of its body per mutant, and an environment variable
// chooses one. One run of the unchanged code says which tests reach which mutant, and how long they take. A mutant is run with these tests only, the quickest
// first, and until the first fails. A run that takes many times as long as the unchanged code takes at the moment, or that takes gigabytes of memory, fails, too.
//
// For each mutant that survives it prints where it is, the change as a diff, and how many tests reach it. reasons.txt says of some why no test can tell them
// from the unchanged code; they are printed with their reason, and count as survivors all the same. The last lines are figures, "name: value" each. It exits 1 if
// less than -least percent are killed, if the tests fail without a mutation, before or after, or if reasons.txt has a line that fits no mutant.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// subjects are the packages whose functions are mutated, and whose own tests must notice it.
var subjects = []string{"pkg/reconciler/managed", "pkg/providerconfig", "pkg/serviceprovider", "pkg/syncer"}

// reasonsFile says of mutants why they are equivalent to the unchanged code.
const reasonsFile = "internal/mutate/shell/reasons.txt"

// settings are what the command line says.
type settings struct {
	subjects []string
	reasons  string // a file; "": none
	seed     uint64
	mutants  int
	least    float64 // percent
	parallel int
	patience time.Duration // how long a run may take besides five times what it takes without a mutation
	skip     string        // tests, as go test -skip takes them
	at       string        // FILE or FILE:LINE; "": everywhere
	verbose  bool
}

func main() {
	s := settings{subjects: subjects, reasons: reasonsFile, patience: 5 * time.Second}
	flag.Uint64Var(&s.seed, "seed", 1, "which mutants are drawn")
	flag.IntVar(&s.mutants, "mutants", 300, "how many mutants are drawn")
	flag.Float64Var(&s.least, "least", 95, "how many percent must be killed")
	flag.IntVar(&s.parallel, "parallel", runtime.NumCPU(), "how many mutants run at a time")
	flag.StringVar(&s.skip, "skip", "", "tests that are left out, as go test -skip takes them")
	flag.StringVar(&s.at, "at", "", "take the mutants of this FILE or FILE:LINE only")
	flag.BoolVar(&s.verbose, "v", false, "print the killed mutants, too")
	only := flag.String("subjects", "", "take these packages only, separated by commas")
	flag.Parse()
	if *only != "" {
		s.subjects = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Stdout, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate-shell:", err)
		os.Exit(1)
	}
}

// run draws mutants, tries them and returns an error if that does not end well.
func run(ctx context.Context, out io.Writer, s settings) error {
	start := time.Now()
	var all []*subject
	for _, dir := range s.subjects {
		sub, err := load(ctx, dir)
		if err != nil {
			return err
		}
		all = append(all, sub)
	}
	known, err := readReasons(s.reasons, all)
	if err != nil {
		return err
	}
	drawn, redrawn, err := draw(all, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "seed: %d\n%d mutants drawn of %d; %d did not compile and were drawn anew\n", s.seed, len(drawn), candidates(all), redrawn)
	l, err := newLab(s)
	if err != nil {
		return err
	}
	defer l.close()
	for _, sub := range all {
		if err := l.prepare(ctx, sub); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "compiled and run without a mutation after %.0f s\n", time.Since(start).Seconds())
	r := report{out: out, reasons: known, verbose: s.verbose, mutants: len(drawn), start: start}
	l.tryAll(ctx, drawn, r.add)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, sub := range all {
		if err := l.recheck(ctx, sub); err != nil {
			return err
		}
	}
	return r.end(s.least)
}

func candidates(all []*subject) (n int) {
	for _, sub := range all {
		n += len(sub.candidates)
	}
	return n
}

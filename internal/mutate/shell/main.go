// Command shell measures how many changes of the code around the decisions the tests notice.
//
//	go run ./internal/mutate/shell -seed N
//
//	go run ./internal/mutate/shell -all
//
// It runs in the root of the module. A mutant is one change in a function of a subject (see subjects). The changes are:
// a condition is negated, a call or an assignment is removed, a constant is changed, or neighbors are exchanged.
// Neighbors are statements, cases of a switch, or operands and arguments of one type. Changes that no caller could
// notice are not made: see equivalents.go and orders.go. The mutants of all subjects that compile are the pool.
//
// The pool is divided into draws of at least -mutants mutants each. Every mutant is in exactly one draw. -seed chooses
// a draw, so that every seed takes the same time. -all tries every draw. Each draw has the same share of each sort of
// change and, if there are enough, of each file (see divide). The draws therefore differ less than random ones would,
// and their mean is that of the pool. The mutants of a draw depend only on the source. -at restricts the mutants to a
// file, or to a line of a file, for work on a survivor.
//
// All drawn mutants of a subject are compiled into one test binary. Each mutated function has a copy of its body per
// mutant, and an environment variable chooses one. A run of the unchanged code finds out which tests reach which
// mutant, and how long they take. Only these tests are run for a mutant, the quickest first, until one fails. A run
// also fails if it takes many times as long as the unchanged code currently does, or if it takes gigabytes of memory.
//
// For each mutant that survives, the command prints its position, the change as a diff, and how many tests reach it.
// For some mutants, reasons.txt has the reason why no test can distinguish them from the unchanged code. They are
// printed with that reason, and still count as survivors. The last lines are figures of the form "name: value". The
// exit code is 1 if less than -least percent of a draw are killed, if the tests fail without a mutation, before or
// after, or if reasons.txt has a line that matches no mutant.
//
// -all writes the result of each draw to the file given by -results. A run that was stopped continues with that file,
// unless a file of the repository has changed since.
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

// subjects are the packages whose functions are mutated. The tests of each package have to notice its mutants.
var subjects = []string{
	"pkg/reconciler/managed", "pkg/reconciler/managed/internal/attempt", "pkg/reconciler/managed/internal/objectjson",
	"pkg/providerconfig", "pkg/serviceprovider", "pkg/syncer",
}

// reasonsFile has the reasons for which mutants are equivalent to the unchanged code.
const reasonsFile = "internal/mutate/shell/reasons.txt"

// settings are the settings of the command line.
type settings struct {
	subjects []string
	reasons  string // a file; "": none
	seed     uint64
	all      bool    // every draw
	results  string  // of all draws: a file; "": they are not kept
	mutants  int     // of a draw, at least
	least    float64 // percent
	parallel int
	patience time.Duration // how long a run may take besides five times what it takes without a mutation
	skip     string        // tests, as go test -skip takes them
	at       string        // FILE or FILE:LINE; "": everywhere
	verbose  bool
}

func main() {
	s := settings{subjects: subjects, reasons: reasonsFile, patience: 5 * time.Second}
	flag.Uint64Var(&s.seed, "seed", 1, "which draw is tried")
	flag.BoolVar(&s.all, "all", false, "try every draw, and so the whole pool")
	flag.StringVar(&s.results, "results", "bin/mutate-shell.json",
		"where -all keeps the results of the draws that it has tried")
	flag.IntVar(&s.mutants, "mutants", 300, "how many mutants a draw has at least, if there are as many")
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

// run tries the draw of the seed, or all draws. It returns an error if too few mutants are killed or a step fails.
func run(ctx context.Context, out io.Writer, s settings) error {
	var subjects []*subject
	for _, dir := range s.subjects {
		sub, err := load(ctx, dir)
		if err != nil {
			return err
		}
		subjects = append(subjects, sub)
	}
	known, err := readReasons(s.reasons, subjects)
	if err != nil {
		return err
	}
	pool, misfits, err := poolOf(subjects, s.at)
	if err != nil {
		return err
	}
	t := trial{settings: s, out: out, subjects: subjects, reasons: known, draws: divide(pool, s.mutants)}
	fmt.Fprintf(out, "%d mutants in the pool; %d more do not compile\n%d draws\n", len(pool), misfits, len(t.draws))
	if s.all {
		return t.everyDraw(ctx)
	}
	return t.oneDraw(ctx)
}

// A trial is a run of the command: its settings, its subjects and their draws.
type trial struct {
	settings
	out      io.Writer
	subjects []*subject
	reasons  map[reason]string
	draws    [][]*mutant
}

// oneDraw tries the draw that the seed chooses.
func (t trial) oneDraw(ctx context.Context) error {
	chosen := int(t.seed % uint64(len(t.draws)))
	draw := t.draws[chosen]
	fmt.Fprintf(t.out, "seed: %d\ndraw: %d\n%d mutants drawn\n", t.seed, chosen+1, len(draw))
	start := time.Now()
	l, err := t.prepare(ctx, draw)
	if err != nil {
		return err
	}
	defer l.close()
	r := t.report(t.out)
	if err := t.try(ctx, l, draw, &r); err != nil {
		return err
	}
	r.figures(t.out)
	fmt.Fprintf(t.out, "seconds: %.0f\npercent: %.1f\n", time.Since(start).Seconds(), r.percent())
	return enough(r.percent(), t.least)
}

// prepare compiles mutants and runs the tests without a mutation. The lab must be closed.
func (t trial) prepare(ctx context.Context, mutants []*mutant) (l lab, err error) {
	start := time.Now()
	for _, sub := range t.subjects {
		sub.choose(mutants)
	}
	if l, err = newLab(t.settings); err != nil {
		return l, err
	}
	for _, sub := range t.subjects {
		if err := l.prepare(ctx, sub); err != nil {
			l.close()
			return l, err
		}
	}
	fmt.Fprintf(t.out, "compiled and run without a mutation after %.0f s\n", time.Since(start).Seconds())
	return l, nil
}

// try tries the mutants of a draw.
func (t trial) try(ctx context.Context, l lab, draw []*mutant, r *report) error {
	l.tryAll(ctx, draw, r.add)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, sub := range t.subjects {
		if err := l.recheck(ctx, sub); err != nil {
			return err
		}
	}
	return nil
}

func (t trial) report(out io.Writer) report {
	return report{out: out, reasons: t.reasons, verbose: t.verbose}
}

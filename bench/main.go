// Command bench measures what a provider costs: requests, CPU, memory, and the latency for users. It starts one API
// server and puts the same load on each contender in turn: the floor, which is a handwritten minimal reconciler with
// the same guarantees; Moorage; and Moorage with bulk observation. It prints the figures beside those of the floor,
// and exits with code 1 if one is over its bound.
//
//	go run . [-small] [-objects N] [-rounds N] [-order floor,moorage,bulk] [-one-server]
//
//	         [-parts life,named,events,storm] [-json FILE] [-page FILE]
//
// With -page, the table is also written into a page between its markers. Only a full run is stored; with fewer
// objects, rounds or parts some figures may be zero. With -order another contender begins, and with -one-server all
// use the same server, to measure the effect of either.
//
// docs/performance.md explains each figure.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/bench/internal/load"
	"github.com/moorage-dev/moorage/bench/internal/provider"
	"github.com/moorage-dev/moorage/bench/internal/report"
)

func main() {
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) == 3 && os.Args[1] == "provider" { // the child process, started by this program
		return provider.Run(os.Args[2], os.Stdin, os.Stdout)
	}
	o, err := options(os.Args[1:])
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	results, err := load.Run(ctx, o.scenario, o.order, o.parts, os.Stderr)
	if err != nil {
		return err
	}
	if o.whole() {
		if err := keep(o, results); err != nil {
			return err
		}
	}
	over, unmeasured, err := show(results)
	if err != nil {
		return err
	}

	return verdict(o, results[0], over, unmeasured)
}

// verdict returns an error for a run whose figures are over their bounds, incomplete although the run is full, or not
// comparable because the floor is not one. A small run only shows that everything works.
func verdict(o choice, floor load.Result, over, unmeasured int) error {
	var errs []error
	if over > 0 && !o.small {
		errs = append(errs, fmt.Errorf("%d of what must hold does not hold", over))
	}
	if o.whole() {
		if unmeasured > 0 {
			errs = append(errs, fmt.Errorf("%d of what is to be measured was not", unmeasured))
		}
		for _, excess := range report.Floor(floor) {
			errs = append(errs, fmt.Errorf("the floor is none: %s", excess))
		}
	}

	return errors.Join(errs...)
}

// keep writes the figures to a file and the table into a page, if these are set.
func keep(o choice, results []load.Result) error {
	if o.file != "" {
		text, err := json.MarshalIndent(results, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.file, append(text, '\n'), 0o644); err != nil { // not secret
			return err
		}
	}
	if o.page == "" {
		return nil
	}
	text, err := os.ReadFile(o.page)
	if err != nil {
		return err
	}
	setting := report.Setting{Objects: o.scenario.Objects, Rounds: o.scenario.Rounds, Processors: runtime.NumCPU(),
		Go: runtime.Version()}
	filled, err := report.Fill(string(text), report.Markdown(setting, results))
	if err != nil {
		return err
	}

	return os.WriteFile(o.page, []byte(filled), 0o644) // not secret
}

// show prints the tables. It returns how many figures are over their bounds, and how many were not measured.
func show(results []load.Result) (over, unmeasured int, err error) {
	for _, r := range results {
		if err := report.Requests(os.Stdout, r); err != nil {
			return 0, 0, err
		}
	}
	for _, r := range results[1:] {
		more, missing, err := report.Write(os.Stdout, r.Contender, report.Compare(results[0], r))
		if err != nil {
			return over, unmeasured, err
		}
		over, unmeasured = over+more, unmeasured+missing
	}

	return over, unmeasured, nil
}

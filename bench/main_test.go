package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/bench/internal/load"
	"github.com/moorage-dev/moorage/bench/internal/provider"
	"github.com/moorage-dev/moorage/bench/internal/report"
)

// TestMain runs the program as a provider when a test has started it as its child.
func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if len(os.Args) == 3 && os.Args[1] == "provider" {
		if err := provider.Run(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestSmallRun runs all parts of a small run. It does not judge times, because the machine may be busy. It judges
// counts, with a tolerance of a tenth of one request per object in each phase: a stale cache makes a reconciler, the
// floor included, repeat requests. The strict bounds are for runs with thousands of objects. Writes in a steady state
// are judged exactly. With lists at most half of the calls are allowed: one call lists a hundred objects, but objects
// with a late poll are observed individually, and a slow machine has many of those.
func TestSmallRun(t *testing.T) {
	results, err := load.Run(t.Context(), load.Small, provider.Contenders, load.Parts, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		for _, excess := range excesses(r, load.Small.Objects) {
			t.Errorf("%s: %s", r.Contender, excess)
		}
		for _, f := range report.Compare(results[0], r) {
			if f.Unmeasured() && f.Name != "heap per cached object" { // too few objects to measure it
				t.Errorf("%s: %s was not measured", r.Contender, f.Name)
			}
		}
		if len(r.Rounds) != 1 || len(r.Rounds[0].QuietCPUs) != load.Small.Quiet ||
			len(r.Rounds[0].Latencies) != load.Small.Probes {
			t.Errorf("%s: rounds %+v, want one, with %d times of quiet and %d users who waited", r.Contender, r.Rounds,
				load.Small.Quiet, load.Small.Probes)
		}
	}
	// A full run bounds the ratio: on a busy machine many objects are observed individually.
	if calls := results[2].PollCalls; calls >= results[0].PollCalls {
		t.Errorf("%v calls in a poll interval with lists, and %v without", calls, results[0].PollCalls)
	}
}

// excesses returns the requests that exceed the need of a number of objects.
func excesses(r load.Result, objects int) (found []string) {
	need := map[string]int{"create": 3 * objects, "named": 2 * objects, "steady": 0, "restart": 1, "delete": objects}
	for phase, most := range need {
		sent, counted := r.Requests[phase]
		if n := load.Sum(sent); !counted || n > most+objects/10 {
			found = append(found, fmt.Sprintf("%s: %d requests (%v), want %d and at most %d more", phase, n, sent, most,
				objects/10))
		}
	}
	writes := map[string]int{"steady": 0, "restart": 1} // the status after a user's change
	if r.Contender == provider.Floor {                  // it does not wait for its cache, so repeated writes conflict
		writes["restart"] = 1 + objects/10
	}
	for phase, most := range writes {
		if n := load.Writes(r.Requests[phase]); n > most {
			found = append(found, fmt.Sprintf("%s: %d writes (%v), want %d", phase, n, r.Requests[phase], most))
		}
	}
	if r.SteadyRequests > 0.1 { // events included
		found = append(found, fmt.Sprintf("%v requests in a steady pass", r.SteadyRequests))
	}

	return found
}

const objects = 100

// lean returns the requests that a number of objects needs.
func lean() load.Result {
	return load.Result{Contender: provider.Moorage, Requests: map[string]map[string]int{
		"create": {"PATCH widgets": 200, "PATCH widgets/status": 100},
		"named":  {"PATCH widgets": 100, "PATCH widgets/status": 100},
		"steady": {}, "restart": {"PATCH widgets/status": 1}, "delete": {"PATCH widgets": 100},
	}}
}

// TestExcesses checks that one request more per object is an excess in any phase, and so is an uncounted phase.
// Repeated reads are none, and neither are single writes in phases that write much.
func TestExcesses(t *testing.T) {
	repeated := lean()
	for phase, sent := range repeated.Requests {
		sent["GET widgets"] = 3
		if phase != "steady" && phase != "restart" {
			sent["PATCH widgets"]++
		}
	}
	if found := excesses(repeated, objects); len(found) > 0 {
		t.Errorf("some repeated requests are said to be too many: %q", found)
	}
	for phase := range lean().Requests {
		more, none := lean(), lean()
		more.Requests[phase]["GET widgets"] = objects
		delete(none.Requests, phase)
		for what, r := range map[string]load.Result{"a request more for each object": more, "nothing counted": none} {
			if found := excesses(r, objects); len(found) != 1 {
				t.Errorf("%s: %s: found %q", phase, what, found)
			}
		}
	}
}

// TestExcessesSingleWrite checks that a single write is an excess in a steady state, and after a restart beside the
// status after a user's change.
func TestExcessesSingleWrite(t *testing.T) {
	for _, phase := range []string{"steady", "restart"} {
		for _, write := range []string{"PATCH widgets/status", "PATCH widgets", "PUT widgets", "POST widgets",
			"DELETE widgets"} {
			r := lean()
			r.Requests[phase][write]++
			if found := excesses(r, objects); len(found) != 1 || !strings.HasPrefix(found[0], phase+": ") {
				t.Errorf("%s: %s: found %q", phase, write, found)
			}
		}
	}
	r := lean()
	r.Contender, r.Requests["restart"]["PATCH widgets/status"] = provider.Floor, 11
	if found := excesses(r, objects); len(found) > 0 {
		t.Errorf("the floor is not forgiven what it was refused: %q", found)
	}
	r.Requests["restart"]["PATCH widgets/status"] = 12
	if found := excesses(r, objects); !slices.ContainsFunc(found,
		func(f string) bool { return strings.HasPrefix(f, "restart: 12 writes") }) {
		t.Errorf("the floor is forgiven more than a tenth: %q", found)
	}
	r.Requests["restart"]["PATCH widgets/status"] = 1
	r.Requests["steady"]["PATCH widgets/status"] = 1
	if found := excesses(r, objects); len(found) != 1 {
		t.Errorf("the floor is forgiven a write in steady state: %q", found)
	}
}

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/bench/internal/load"
	"github.com/moorage-dev/moorage/bench/internal/provider"
	"github.com/moorage-dev/moorage/bench/internal/report"
)

// The program starts itself as a provider; here it is the program of the tests.
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

// A small run goes through everything. Of its figures the counts are held to their
// bounds; times tell nothing on a machine that does other things.
func TestSmallRun(t *testing.T) {
	results, err := load.Run(t.Context(), load.Small, []string{provider.Floor, provider.Moorage, provider.Bulk}, load.Parts, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if calls := results[2].PollCalls; calls > results[0].PollCalls/10 {
		t.Errorf("%v calls in a poll interval with lists, and %v without", calls, results[0].PollCalls)
	}
	for _, r := range results {
		for _, f := range report.Compare(results[0], r) {
			if counted := strings.HasPrefix(f.Name, "requests") || strings.HasPrefix(f.Name, "writes") || f.Name == "the same, name chosen"; counted && f.Over() {
				t.Errorf("%s: %s: %v, want at most %v", r.Contender, f.Name, f.Value, f.Most)
			}
			if f.Value == 0 && f.Most != 0 && f.Name != "heap per cached object" {
				t.Errorf("%s: %s was not measured", r.Contender, f.Name)
			}
		}
	}
}

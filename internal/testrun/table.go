package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// longest is the maximum number of packages in the table.
const longest = 20

// A table shows which packages and modules used the time of a run.
type table struct {
	records []record
	modules []moduleTime
	shared  time.Duration // processor time of the control planes that several packages share
	idle    time.Duration // of all processors of the machine
	wall    time.Duration
}

func (t table) print(w io.Writer) {
	fmt.Fprintf(w, "\nwhere the time went, in seconds\n\n")
	t.printModules(w)
	t.printPackages(w)
}

func (t table) printModules(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "compile wall\ttest wall\tprocessor\tof it tests\tmodule\t")
	var cpu, tests time.Duration
	for _, m := range t.modules {
		of := t.ofModule(m.name)
		cpu, tests = cpu+m.cpu, tests+of
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t\n", seconds(m.compile), seconds(m.wall), seconds(m.cpu), seconds(of),
			m.name)
	}
	fmt.Fprintf(tw, "\t%s\t%s\t%s\tall\t\n", seconds(t.wall), seconds(cpu), seconds(tests))
	_ = tw.Flush()
	fmt.Fprintf(w, "besides, shared control planes on this machine: %s of processor\n", seconds(t.shared))
	fmt.Fprintf(w, "processors of this machine without work: %s of %s\n", seconds(t.idle),
		seconds(t.wall*time.Duration(runtime.NumCPU())))
}

// ofModule returns the processor time of the tests of a module: a package belongs to the innermost one.
func (t table) ofModule(module string) (cpu time.Duration) {
	for _, r := range t.records {
		in := "."
		for _, m := range t.modules {
			if strings.HasPrefix(relative(r.folder)+"/", m.name+"/") && len(m.name) > len(in) {
				in = m.name
			}
		}
		if in == module {
			cpu += r.cpu
		}
	}
	return cpu
}

func (t table) printPackages(w io.Writer) {
	slices.SortFunc(t.records, func(a, b record) int { return cmp.Compare(b.wall, a.wall) })
	fmt.Fprintf(w,
		"\nthe slowest packages; processor time is also that of what they started; what they waited for is what was "+
			"busiest then\n\n")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw,
		"wall\tprocessor\tcomputing\tcompiling\tservers\twaited: computing\tcompiling\tservers\tnothing\tpackage\t")
	for _, r := range t.records[:min(longest, len(t.records))] {
		fmt.Fprintf(tw, "%s\t%s\t", seconds(r.wall), seconds(r.cpu))
		for _, d := range r.kinds {
			fmt.Fprintf(tw, "%s\t", seconds(d))
		}
		for _, d := range r.waited {
			fmt.Fprintf(tw, "%s\t", seconds(d))
		}
		fmt.Fprintf(tw, "%s\t\n", relative(r.folder))
	}
	_ = tw.Flush()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }

// memory is the file with the durations of the last run. It only affects the order of packages. Without it nothing
// fails.
const memory = "bin/testrun.json"

func remembered() map[string]time.Duration {
	last := map[string]time.Duration{}
	if text, err := os.ReadFile(memory); err == nil {
		_ = json.Unmarshal(text, &last)
	}
	return last
}

func remember(records []record) {
	last := remembered()
	for _, r := range records {
		last[r.folder] = r.wall
	}
	text, err := json.Marshal(last)
	if err == nil && os.MkdirAll(filepath.Dir(memory), 0o750) == nil {
		_ = os.WriteFile(memory, text, 0o600)
	}
}

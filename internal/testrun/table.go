package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// longest is how many packages the table has.
const longest = 20

// A table says where the time of a run went.
type table struct {
	records []record
	modules []moduleTime
	seen    *observer
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
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t\n", seconds(m.compile), seconds(m.wall), seconds(m.cpu), seconds(of), m.name)
	}
	fmt.Fprintf(tw, "\t%s\t%s\t%s\tall\t\n", seconds(t.wall), seconds(cpu), seconds(tests))
	_ = tw.Flush()
	fmt.Fprintf(w, "besides, control planes that several packages share: %s of processor\n", seconds(t.shared()))
}

func (t table) shared() (sum time.Duration) {
	for _, d := range t.seen.shared {
		sum += d
	}
	return sum
}

// ofModule returns the processor time of the tests of a module: a package belongs to the innermost one.
func (t table) ofModule(module string) (cpu time.Duration) {
	for _, r := range t.records {
		in := "."
		for _, m := range t.modules {
			if strings.HasPrefix(short(r.Folder)+"/", m.name+"/") && len(m.name) > len(in) {
				in = m.name
			}
		}
		if in == module {
			cpu += r.CPU
		}
	}
	return cpu
}

func (t table) printPackages(w io.Writer) {
	slices.SortFunc(t.records, func(a, b record) int { return cmp.Compare(b.Wall, a.Wall) })
	fmt.Fprintf(w, "\nthe slowest packages; processor time is also that of what they started; what they waited for is what was busiest then\n\n")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "wall\tprocessor\tcomputing\tcompiling\tservers\twaited: computing\tcompiling\tservers\tnothing\tpackage\t")
	for _, r := range t.records[:min(longest, len(t.records))] {
		fmt.Fprintf(tw, "%s\t%s\t", seconds(r.Wall), seconds(r.CPU))
		s := t.seen.roots[r.PID]
		if s == nil {
			s = newSampler(r.PID) // it was shorter than a sample
		}
		for _, d := range s.shares(r.CPU) {
			fmt.Fprintf(tw, "%s\t", seconds(d))
		}
		for _, d := range s.waited {
			fmt.Fprintf(tw, "%s\t", seconds(d))
		}
		fmt.Fprintf(tw, "%s\t\n", short(r.Folder))
	}
	_ = tw.Flush()
}

// shares divides processor time by kind. What is shorter than a sample is not seen, and is mostly a compiler's or the test's own: it is divided as theirs is.
func (s *sampler) shares(all time.Duration) [kinds]time.Duration {
	var shares [kinds]time.Duration
	missing := all
	for k, n := range s.ticks {
		shares[k] = time.Duration(n) * tick
		missing -= shares[k]
	}
	seen := shares[computing] + shares[compiling]
	switch {
	case missing <= 0:
	case seen == 0:
		shares[computing] += missing
	default:
		part := float64(missing) / float64(seen)
		shares[computing] += time.Duration(part * float64(shares[computing]))
		shares[compiling] += time.Duration(part * float64(shares[compiling]))
	}
	return shares
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }

func readRecords(folder string) ([]record, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	var records []record
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", file, err)
		}
		records = append(records, r)
	}
	return records, nil
}

// memory is where it stands how long each package took the last time. It is a hint about order only: nothing fails without it.
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
		last[r.Folder] = r.Wall
	}
	text, err := json.Marshal(last)
	if err == nil && os.MkdirAll(filepath.Dir(memory), 0o750) == nil {
		_ = os.WriteFile(memory, text, 0o600)
	}
}

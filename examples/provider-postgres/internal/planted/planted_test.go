package planted

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
)

// What the kit has to find, and in which time of the processor.
const (
	planted    = 30
	leastFound = 28
	mostMedian = 5 * time.Second
)

// all returns the bugs.
func all(t *testing.T) []Bug {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) != planted {
		t.Fatalf("there are %d bugs, want %d: %v", len(paths), planted, err)
	}
	var bugs []Bug
	for _, path := range paths {
		b, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		bugs = append(bugs, b)
	}

	return bugs
}

// root returns the folder of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}

	return dir
}

// TestBugsApply holds that each bug can be inserted into the source as it is.
func TestBugsApply(t *testing.T) {
	for _, b := range all(t) {
		if _, err := b.Overlay(root(t), t.TempDir()); err != nil {
			t.Error(err)
		}
	}
}

// An outcome is what the kit says of one bug.
type outcome struct {
	bug             Bug
	finding         Finding
	found           bool
	others          []string // properties of other findings
	processor, wall time.Duration
}

// TestPlanted inserts one bug at a time into the provider, and runs the suite of its kind on a real server.
func TestPlanted(t *testing.T) {
	if _, err := pgserver.Programs(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		fmt.Fprintf(os.Stderr, "NOT RUN: %s: %v\n", t.Name(), err)

		return
	}
	var outcomes []outcome
	for _, b := range all(t) {
		t.Run(b.Name, func(t *testing.T) { outcomes = append(outcomes, run(t, b)) })
	}
	t.Log("\n" + table(outcomes))
	if len(outcomes) < planted {
		return // only some were asked for
	}
	found, median := judge(outcomes)
	t.Logf("planted_bugs_found: %d", found)
	t.Logf("median_seconds_of_processor: %.1f", median.Seconds())
	if found < leastFound || median > mostMedian {
		t.Errorf("the kit found %d of %d bugs, and has to find %d; the median is %s of processor, and has to be %s at most",
			found, planted, leastFound, median, mostMedian)
	}
}

// judge returns how many bugs were found, and the median of the time of the processor.
func judge(outcomes []outcome) (found int, median time.Duration) {
	var times []time.Duration
	for _, o := range outcomes {
		times = append(times, o.processor)
		if o.found {
			found++
		}
	}
	slices.Sort(times)

	return found, times[len(times)/2]
}

// run compiles the suite with a bug, and runs it.
func run(t *testing.T, b Bug) outcome {
	t.Helper()
	dir := t.TempDir()
	overlay, err := b.Overlay(root(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	pkg := filepath.Join(root(t), "internal", "controller", b.Package)
	binary := filepath.Join(dir, "suite")
	compile := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", binary, ".")
	compile.Dir = pkg
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("bug %s is outdated: it does not compile: %v\n%s", b.Name, err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	suite := exec.CommandContext(ctx, binary, "-test.run", "^TestConformance$", "-test.v")
	suite.Dir = pkg
	began := time.Now()
	printed, err := suite.CombinedOutput()
	o := outcome{bug: b, wall: time.Since(began), processor: processorTime(printed)}
	findings := Findings(printed)
	o.finding, o.found = b.Right(findings)
	for _, f := range findings {
		if !slices.Contains(b.Properties, f.Property) && !slices.Contains(o.others, f.Property) {
			o.others = append(o.others, f.Property)
		}
	}
	switch {
	case o.processor == 0:
		t.Errorf("the suite did not end: %v\n%s", err, printed)
	case o.found && b.Missed != "":
		t.Errorf("the kit finds bug %s, and its file says that it does not: remove the line missed", b.Name)
	case !o.found && len(o.others) > 0:
		t.Errorf("bug %s is found for a wrong reason: by %v, and not by %v\n%s", b.Name, o.others, b.Properties, printed)
	case !o.found && b.Missed == "":
		t.Errorf("bug %s is not found\n%s", b.Name, printed)
	}

	return o
}

// processorTime returns the time of the processor that pgtest.Start has logged, or 0.
func processorTime(printed []byte) time.Duration {
	m := regexp.MustCompile(`processor of the test process: (\S+)s`).FindSubmatch(printed)
	if m == nil {
		return 0
	}
	seconds, _ := strconv.ParseFloat(string(m[1]), 64)

	return time.Duration(seconds * float64(time.Second))
}

// table returns a table of outcomes.
func table(outcomes []outcome) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%-8s %-9s %-8s %5s %5s  %s\n", "bug", "kind", "found", "cpu s", "s", "by")
	for _, o := range outcomes {
		found, by := "yes", o.finding.Property+": "+o.finding.Text
		if !o.found {
			found, by = "MISSED", o.bug.Missed
		}
		if len(by) > 300 {
			by = strings.ToValidUTF8(by[:300], "") + "..."
		}
		fmt.Fprintf(&out, "%-8s %-9s %-8s %5.1f %5.1f  %s\n", o.bug.Name, o.bug.Package, found, o.processor.Seconds(),
			o.wall.Seconds(), by)
	}

	return out.String()
}

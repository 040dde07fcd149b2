// Command mutants plants known defects into the library, one at a time, and runs the simulator to find them. An overlay
// compiles all defects into one test program without changing any file. Each run chooses one defect.
//
//	go run ./internal/sim/mutants [-search] [-learn] FOLDER [NAME...]
//
// By default the simulator has to find each defect with the schedule in the file of the defect. With -search it has to
// find each defect without that schedule, within 25,000 schedules, unless the file says why that is impossible (key
// search). With -learn the command writes the smallest schedule that it has found to the file of the defect.
//
// The command prints a line for each defect: the broken property, the schedule, the number of schedules that were run,
// and the duration of the test in seconds, without compiling. It is an error if a defect is not found, if it does not
// compile, or if its text is no longer in the source.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moorage-dev/moorage/internal/sim/planted"
	"github.com/moorage-dev/moorage/pkg/errors"
)

const parallel = 2

func main() {
	search := flag.Bool("search", false, "find them as if their schedules were not known")
	learn := flag.Bool("learn", false, "search, and write down the schedules that were found")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: mutants [-search] [-learn] FOLDER [NAME...]")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Args()[1:], *search || *learn, *learn); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string, names []string, search, learn bool) error {
	all, err := planted.All(folder)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		all = slices.DeleteFunc(all, func(d planted.Defect) bool { return !slices.Contains(names, d.Name) })
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := compile(all, dir)
	if err != nil {
		return err
	}
	findings := make([]finding, len(all))
	forEach(len(all), func(i int) { findings[i] = find(program, all[i], search) })
	missed := 0
	for _, f := range findings {
		fmt.Println(f)
		switch {
		case !f.right():
			missed++
			fmt.Fprintln(os.Stderr, f.output)
		case learn && f.of.Test == "":
			if err := f.of.Learn(f.schedule); err != nil {
				return err
			}
		}
	}
	fmt.Printf("mutants: %d\nfound: %d\nmissed: %d\n", len(all), len(all)-missed, missed)
	if missed > 0 {
		return errors.Errorf(
			"%d defects were not found as they should be; where only the schedule is out of date, -learn writes another", missed)
	}

	return nil
}

func compile(all []planted.Defect, dir string) (string, error) {
	overlay, err := planted.Overlay(all, dir)
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "sim.test")
	began := time.Now()
	if out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", program,
		"./internal/sim").CombinedOutput(); err != nil {
		return "", errors.Errorf("the defects do not compile: %s", out)
	}
	fmt.Printf("compiled in %.1f s\n", time.Since(began).Seconds())

	return program, nil
}

// forEach calls do with the numbers below n, a few of them concurrently.
func forEach(n int, do func(int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

// A finding describes how a defect was found.
type finding struct {
	of                 planted.Defect
	property, schedule string
	ran                int // schedules, with the one that found it
	took               time.Duration
	searched           bool
	others             int    // schedules with faults of other kinds than those that alone find it
	also               string // one of them that found it
	output             string
}

func (f finding) right() bool {
	breaks := f.of.Breaks[:1]
	if f.searched {
		breaks = f.of.Breaks
	}

	return slices.Contains(breaks, f.property) && f.also == "" && (f.others > 0 || !f.searched || len(f.of.Alone) == 0)
}

func (f finding) String() string {
	line := fmt.Sprintf("%-26s %-4s %-60s %6d %6.2f", f.of.Name, f.property, f.schedule, f.ran, f.took.Seconds())
	if f.others > 0 {
		line += fmt.Sprintf("; by nothing but %s in %d schedules", strings.Join(f.of.Alone, ", "), f.others)
	}
	if f.also != "" {
		line += "; not by " + strings.Join(f.of.Alone, ", ") + " alone, but by " + f.also
	}
	if !f.right() {
		return "MISSED " + line
	}

	return line
}

var (
	reported = regexp.MustCompile(`(?m)^\s*(?:\S+:\d+: )?found (\w+) after (\d+) schedules by (.*)$`)
	others   = regexp.MustCompile(`(?m)^\s*(?:\S+:\d+: )?found by no other fault in (\d+) schedules$`)
	also     = regexp.MustCompile(`(?m)^\s*(?:\S+:\d+: )?also found by ([^;]+);`)
)

// find runs the test that has to find the defect. With search it continues until it has found the smallest schedule;
// the time includes that.
func find(program string, d planted.Defect, search bool) finding {
	test := "TestPlanted"
	if d.Test != "" {
		test = d.Test
	}
	cmd := exec.Command(program, "-test.v", "-test.run", "^"+test+"$", "-test.timeout", "10m", "-planted", d.Name,
		fmt.Sprintf("-search=%v", search))
	cmd.Dir, cmd.Env = "internal/sim", append(os.Environ(), planted.Env+"="+d.Name)
	began := time.Now()
	out, _ := cmd.CombinedOutput() // a failure is expected; the output says whether the defect was found
	f := finding{of: d, searched: search, took: time.Since(began), output: strings.TrimSpace(string(out))}
	if match := reported.FindStringSubmatch(string(out)); match != nil {
		f.property, f.schedule = match[1], match[3]
		f.ran, _ = strconv.Atoi(match[2])
	}
	if match := also.FindStringSubmatch(string(out)); match != nil {
		f.also = match[1]
	} else if match := others.FindStringSubmatch(string(out)); match != nil {
		f.others, _ = strconv.Atoi(match[1])
	}

	return f
}

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// proofList names the tests that are in make proof alone; all others are in make test.
//
//go:embed proof.txt
var proofList string

// raceList names the packages that run under the race detector.
//
//go:embed race.txt
var raceList string

// unracedList names the tests of these packages that the race detector does not see.
//
//go:embed unraced.txt
var unracedList string

// waitingList names the packages that wait for servers most of their time.
//
//go:embed waiting.txt
var waitingList string

// A listed is a test that make test omits.
type listed struct {
	part   string // of make proof
	folder string // of its package, from the root of the repository
	test   string // its name, perhaps with that of a subtest: TestX or TestX/Y
	flags  string // with flags, make test runs it without them, and the proof with them
}

// comment matches a comment, which begins a line or follows a space. TestX/a#01 has no comment: it is the second
// subtest with a name.
var comment = regexp.MustCompile(`(?m)(^|\s)#.*`)

// readList reads the lines "part folder test flags" of the list. The text after a # is the reason.
func readList() ([]listed, error) { return readLines(proofList) }

func readLines(list string) ([]listed, error) {
	var tests []listed
	for line := range strings.Lines(list) {
		fields := strings.Fields(comment.ReplaceAllString(line, ""))
		if len(fields) == 0 {
			continue
		}
		if len(fields) < 3 || !filepath.IsLocal(fields[1]) {
			return nil, fmt.Errorf("proof.txt: want part, folder from the root of the repository, test and flags: %q", line)
		}
		tests = append(tests, listed{fields[0], fields[1], fields[2], strings.Join(fields[3:], " ")})
	}
	return tests, nil
}

// printLeftOut prints what skipped returns for a module.
func printLeftOut(modules []string, w io.Writer) error {
	if len(modules) != 1 {
		return errors.New("name one module")
	}
	tests, err := readList()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, skipped(tests, modules[0]))
	return err
}

// unraced reads the lines "folder test" of the list.
func unraced() ([]listed, error) {
	var tests []listed
	for line := range strings.Lines(unracedList) {
		switch fields := strings.Fields(comment.ReplaceAllString(line, "")); len(fields) {
		case 0:
		case 2:
			tests = append(tests, listed{folder: fields[0], test: fields[1]})
		default:
			return nil, fmt.Errorf("unraced.txt: want folder and test: %q", line)
		}
	}
	return tests, nil
}

// skipped returns the value of go test -skip for make test in a module.
func skipped(tests []listed, module string) string {
	var names []string
	for _, t := range tests {
		if in, _ := moduleOf(t.folder); in == module && t.flags == "" {
			names = append(names, patternOf(t.test))
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "|")
}

// patternOf returns the pattern for go test -run or -skip that matches a test and nothing else, element by element.
func patternOf(test string) string {
	elements := strings.Split(test, "/")
	for i, e := range elements {
		elements[i] = "^" + regexp.QuoteMeta(e) + "$"
	}
	return strings.Join(elements, "/")
}

// A command runs tests of one package with the same flags.
type command struct {
	folder, flags string
	tests         []string
}

// commandsOf returns the commands that run the listed tests of a part.
func commandsOf(tests []listed, part string) []command {
	var commands []command
	for _, t := range tests {
		if t.part != part {
			continue
		}
		i := slices.IndexFunc(commands, func(c command) bool { return c.folder == t.folder && c.flags == t.flags })
		if i < 0 {
			commands = append(commands, command{folder: t.folder, flags: t.flags})
			i = len(commands) - 1
		}
		commands[i].tests = append(commands[i].tests, t.test)
	}
	return commands
}

// args returns the arguments of the Go command.
func (c command) args() []string {
	names := make([]string, len(c.tests))
	for i, t := range c.tests {
		names[i] = patternOf(t)
	}
	module, pkg := moduleOf(c.folder)
	args := []string{"-C", module, "test", "./" + pkg, "-count=1", "-timeout", "60m", "-v", "-run",
		strings.Join(names, "|")}
	return append(args, strings.Fields(c.flags)...)
}

// missing returns the tests that did not pass according to the output: go test also passes for a name without a test,
// and a test that finds no PostgreSQL passes and says that it is not run.
func (c command) missing(printed string) []string {
	return slices.DeleteFunc(slices.Clone(c.tests), func(test string) bool {
		return strings.Contains(printed, "--- PASS: "+test+" (") &&
			!strings.Contains(printed, "NOT RUN: "+test+":") && !strings.Contains(printed, "NOT RUN: "+test+"/")
	})
}

// moduleOf returns the module of a folder, and the path of the folder in the module. The folder is a local path.
func moduleOf(folder string) (module, in string) {
	for module = folder; ; module = filepath.Dir(module) {
		if _, err := os.Stat(filepath.Join(module, "go.mod")); err == nil || module == "." {
			in, _ = filepath.Rel(module, folder)
			return module, in
		}
	}
}

// waiting reads the folders of the list.
func waiting() []string { return strings.Fields(comment.ReplaceAllString(waitingList, "")) }

// jobs and waitingJobs are the fields of a suite. Two cores are busy with them from the beginning to the end.
const jobs, waitingJobs = 3, 5

func testAll(ctx context.Context, modules []string) error {
	tests, err := readList()
	if err != nil {
		return err
	}
	s := suite{jobs: jobs, waitingJobs: waitingJobs, waiting: waiting(), leftOut: tests}
	return s.run(ctx, modules)
}

// raceAll runs the listed packages of the modules. It also omits the tests that only make proof runs.
func raceAll(ctx context.Context, modules []string) error {
	tests, err := readList()
	if err != nil {
		return err
	}
	others, err := unraced()
	if err != nil {
		return err
	}
	s := suite{jobs: jobs, waitingJobs: waitingJobs, waiting: waiting(), race: true, leftOut: append(tests, others...),
		only: strings.Fields(raceList)}
	return s.run(ctx, modules)
}

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

type testCommand struct {
	Only string `enum:"units,conformance,budgets,all" default:"all" help:"${help_test_only}"`
	Dir  string `default:"." placeholder:"DIR" help:"Folder of the provider. The default is this one."`
}

// A part is a group of tests of a provider.
type part struct {
	name string
	args []string // of go test
	logs bool     // packages that pass have notes in their log
}

func parts() []part {
	return []part{
		{"units", []string{"-skip", "^TestConformance$|Budget$", "./..."}, false},
		{"conformance", []string{"-v", "-run", "^TestConformance$", "./internal/controller/..."}, true},
		{"budgets", []string{"-run", "Budget$", "./internal/systemtest"}, false},
	}
}

// limit is the timeout of the tests of one package, as in the Makefile of a provider: on a busy machine the API server
// may have to be compiled meanwhile.
const limit = "30m"

// Run runs the tests of a provider, part by part, and then reports the result of each.
func (c *testCommand) Run(in *invocation) error {
	record, err := os.ReadFile(filepath.Join(c.Dir, scaffold.Record))
	if err != nil {
		return fmt.Errorf("there is no provider in %s, since there is no %s: go to its folder, or name it by --dir", c.Dir,
			scaffold.Record)
	}

	var project scaffold.Project
	if err := json.Unmarshal(record, &project); err != nil {
		return fmt.Errorf("cannot understand %s: %w", scaffold.Record, err)
	}

	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("go is missing on this machine: moorage doctor says how to get it")
	}

	var failed, empty, skipped, left []string

	for _, p := range parts() {
		if c.Only != "all" && c.Only != p.name {
			skipped = append(skipped, p.name)

			continue
		}

		fmt.Fprintf(in.out, "== %s\n", p.name)

		ran, out, err := p.run(in, c.Dir)
		left = append(left, out...)

		switch {
		case err != nil:
			failed = append(failed, p.name)
		case !ran:
			empty = append(empty, p.name)
		}
	}

	reportNotRun(in.out, skipped, left)

	return summarize(in, len(project.Kinds) > 0, failed, empty)
}

// reportNotRun prints what was not run, and what to do about it.
func reportNotRun(out io.Writer, skipped, left []string) {
	if len(skipped)+len(left) == 0 {
		return
	}

	fmt.Fprint(out, "\nNot run:\n")

	if len(skipped) > 0 {
		fmt.Fprintf(out, "  %s: call moorage test without --only\n", strings.Join(skipped, ", "))
	}

	for _, of := range left {
		fmt.Fprintf(out, "  %s: raise Within of its conformance.Suite; with a real server that is Within in "+
			"internal/testserver/system.go\n", of)
	}
}

// run runs the tests of a part, and reports whether it has any. It returns how many schedules each package left out.
func (p part) run(in *invocation, dir string) (ran bool, left []string, err error) {
	var said bytes.Buffer

	out := in.out
	notes := &noteWriter{out: in.out}

	if p.logs {
		out = notes
	}

	cmd := exec.CommandContext(in.ctx, "go", append([]string{"test", "-timeout", limit}, p.args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, io.MultiWriter(out, &said), in.err

	err = cmd.Run()

	notes.flush()

	for line := range strings.Lines(said.String()) {
		ran = ran || strings.HasPrefix(line, "ok ") && !strings.Contains(line, "[no tests to run]")
	}

	return ran, notes.left, err
}

// A noteWriter passes on the output of go test -v. Of a package that passes it prints only the result and the notes of
// the conformance kit: warnings, and how many schedules were left out.
type noteWriter struct {
	out  io.Writer
	line []byte   // the beginning of a line
	log  []string // the lines of the current package
	left []string // the schedules that packages left out
}

// Write takes a part of the output.
func (w *noteWriter) Write(p []byte) (int, error) {
	w.line = append(w.line, p...)

	for {
		line, rest, ok := bytes.Cut(w.line, []byte("\n"))
		if !ok {
			return len(p), nil
		}

		w.line = bytes.Clone(rest)
		w.take(string(line))
	}
}

// take takes a line. Those of a package end with its result.
func (w *noteWriter) take(line string) {
	switch {
	case strings.HasPrefix(line, "ok "), strings.HasPrefix(line, "? "):
		for _, note := range w.log {
			if _, text, ok := strings.Cut(note, ": "); ok && isNote(text) {
				fmt.Fprintf(w.out, "    %s\n", text)
				w.leaves(text, strings.Fields(line)[1])
			}
		}

		fmt.Fprintln(w.out, line)

		w.log = nil
	case strings.HasPrefix(line, "FAIL\t"), strings.HasPrefix(line, "panic: "):
		w.log = append(w.log, line)
		w.flush()
	default:
		w.log = append(w.log, line)
	}
}

// leaves keeps how many schedules a package left out, if a note says so.
func (w *noteWriter) leaves(note, of string) {
	if many, _, ok := strings.Cut(note, " schedules with faults"); ok && strings.Contains(note, leftOut) {
		w.left = append(w.left, many+" schedules of "+of)
	}
}

// leftOut is in a note about schedules that the conformance kit did not run.
const leftOut = " were left out"

func isNote(text string) bool {
	return strings.HasPrefix(text, "warning: ") || strings.Contains(text, leftOut)
}

// flush prints what is not part of a package that passed.
func (w *noteWriter) flush() {
	for _, line := range w.log {
		fmt.Fprintln(w.out, line)
	}

	if len(w.line) > 0 {
		fmt.Fprintf(w.out, "%s\n", w.line)
	}

	w.log, w.line = nil, nil
}

// summarize returns an error for the parts that fail or have no tests: with kinds, a part without tests means that
// they were removed or renamed, and guard nothing.
func summarize(in *invocation, kinds bool, failed, empty []string) error {
	var wrong []string

	if len(failed) > 0 {
		wrong = append(wrong, "these tests fail: "+strings.Join(failed, ", "))
	}

	switch {
	case len(empty) > 0 && kinds:
		wrong = append(wrong, "these have no test that could fail: "+strings.Join(empty, ", ")+
			" (conformance is called TestConformance, below internal/controller; what ends in Budget, in internal/systemtest, "+
			"is a budget)")
	case len(empty) > 0:
		fmt.Fprintf(in.out, "\nNo tests, since there are no kinds yet: %s\n", strings.Join(empty, ", "))
	}

	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}

	return nil
}

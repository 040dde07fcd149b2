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
}

func parts() []part {
	return []part{
		{"units", []string{"-skip", "^TestConformance$|Budget$", "./..."}},
		{"conformance", []string{"-run", "^TestConformance$", "./internal/controller/..."}},
		{"budgets", []string{"-run", "Budget$", "./internal/systemtest"}},
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

	var failed, empty []string

	for _, p := range parts() {
		if c.Only != "all" && c.Only != p.name {
			continue
		}

		fmt.Fprintf(in.out, "== %s\n", p.name)

		switch ran, err := p.run(in, c.Dir); {
		case err != nil:
			failed = append(failed, p.name)
		case !ran:
			empty = append(empty, p.name)
		}
	}

	return summarize(in, len(project.Kinds) > 0, failed, empty)
}

// run runs the tests of a part, and reports whether it has any.
func (p part) run(in *invocation, dir string) (ran bool, err error) {
	var said bytes.Buffer

	cmd := exec.CommandContext(in.ctx, "go", append([]string{"test", "-timeout", limit}, p.args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, io.MultiWriter(in.out, &said), in.err

	err = cmd.Run()

	for line := range strings.Lines(said.String()) {
		ran = ran || strings.HasPrefix(line, "ok ") && !strings.Contains(line, "[no tests to run]")
	}

	return ran, err
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

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

type testCommand struct {
	Only string `enum:"units,conformance,budgets,all" default:"all" help:"Run one part alone: units, conformance (the client of each kind, with everything that goes wrong), or budgets (requests, counted on a real API server)."`
	Dir  string `default:"." placeholder:"DIR" help:"Folder of the provider. The default is this one."`
}

// A part is some of the tests of a provider.
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

// limit is how long the tests of one package may take, as in the Makefile of a provider: the
// API server may have to be compiled meanwhile, on a machine that has more to do.
const limit = "30m"

// Run runs the tests of a provider, part by part, and then says how each went.
func (c *testCommand) Run(in *invocation) error {
	if _, err := os.Stat(filepath.Join(c.Dir, scaffold.Record)); err != nil {
		return fmt.Errorf("there is no provider in %s, since there is no %s: go to its folder, or name it by --dir", c.Dir, scaffold.Record)
	}

	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("go is missing on this machine: moorage doctor says how to get it")
	}

	var failed []string

	for _, p := range parts() {
		if c.Only != "all" && c.Only != p.name {
			continue
		}

		fmt.Fprintf(in.out, "== %s\n", p.name)

		cmd := exec.CommandContext(in.ctx, "go", append([]string{"test", "-timeout", limit}, p.args...)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = c.Dir, in.out, in.err, buildEnv()

		if err := cmd.Run(); err != nil {
			failed = append(failed, p.name)
		}
	}

	if len(failed) > 0 {
		return fmt.Errorf("these tests fail: %s", strings.Join(failed, ", "))
	}

	return nil
}

// buildEnv is the environment of every go command, with the flags that the Makefile of a
// provider has, so that nothing is compiled twice.
func buildEnv() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
}

package cli

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// planFlags are the flags of every command that writes files.
type planFlags struct {
	DryRun   bool `help:"Print what would be done, and do nothing."`
	KeepMine bool `help:"${help_plan_keepmine}"`
}

// carryOut plans, prints and writes the files.
func (f planFlags) carryOut(in *invocation, dir string, input scaffold.Input) error {
	plan, err := scaffold.Plan(input)
	if err != nil {
		return err
	}

	verdicts, err := scaffold.Judge(dir, plan)
	if err != nil {
		return err
	}

	conflicts := 0

	for _, v := range verdicts {
		fmt.Fprintf(in.out, "%-8s  %s\n", v.Fate, v.Path)

		if v.Fate == scaffold.Conflict {
			conflicts++
		}
	}

	if !f.DryRun {
		if err := scaffold.Apply(dir, verdicts, f.KeepMine); err != nil {
			return err
		}
	}

	if conflicts > 0 && !f.KeepMine {
		fmt.Fprintf(in.err,
			"The files in conflict are not as moorage made them, and are left alone. Move each away and ask again,\n"+
				"then put what was yours back into the new one; or keep yours by --keep-mine, and do by hand what they lack.\n")

		return errConflict
	}

	return nil
}

// generate runs controller-gen. The checksums of a release of the library do not exist before the release, so go.sum
// gets them here.
func generate(in *invocation, dir string, library scaffold.Source) error {
	for _, tool := range []string{"go", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf(
				"all files are there, but %s is missing on this machine, so nothing was generated from them: install it, then "+
					"run %s", tool, generation(library))
		}
	}

	for _, step := range steps(library) {
		cmd := exec.CommandContext(in.ctx, step[0], step[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, in.out, in.err

		if err := cmd.Run(); err != nil {
			return errors.Join(fmt.Errorf(
				"all files are there, but nothing could be generated from them: run %s when the cause above is gone",
				generation(library)), err)
		}
	}

	return nil
}

// steps returns the commands that generate.
func steps(library scaffold.Source) [][]string {
	generate := []string{"make", "generate"}
	if library.Checkout != "" {
		return [][]string{generate}
	}

	return [][]string{{"go", "mod", "tidy"}, generate}
}

// generation returns the commands as an author types them.
func generation(library scaffold.Source) string {
	var typed []string
	for _, step := range steps(library) {
		typed = append(typed, strings.Join(step, " "))
	}

	return strings.Join(typed, " && ")
}

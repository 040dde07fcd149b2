package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/typecheck"
)

// mostFindings is how many errors of the compiler are printed.
const mostFindings = 20

// checkFits returns an error if the Go files of a plan would not compile with the files of the author.
// It writes nothing.
func checkFits(dir string, input scaffold.Input) error {
	plan, err := scaffold.Plan(input)
	if err != nil {
		return err
	}

	verdicts, err := scaffold.Judge(dir, plan)
	if err != nil {
		return err
	}

	added := map[string][]byte{}

	for _, v := range verdicts {
		if path.Ext(v.Path) == ".go" && (v.Fate == scaffold.Created || v.Fate == scaffold.Replaced) {
			added[v.Path] = v.Content
		}
	}

	findings, err := misfits(os.DirFS(dir), input.After, added)
	if err != nil || len(findings) == 0 {
		return err
	}

	var out strings.Builder

	fmt.Fprint(&out, "nothing is written, because the new files would not compile with what you changed:\n")

	for i, f := range findings {
		if i == mostFindings {
			fmt.Fprintf(&out, "  and %d more\n", len(findings)-i)

			break
		}

		fmt.Fprintf(&out, "  %s\n", f)
	}

	fmt.Fprintf(&out,
		"Declare what is missing, and add again. Or write these files yourself: list them under \"own\" in %s, so that "+
			"moorage makes only the others. Or make all of them by --no-check, and correct them", scaffold.Record)

	return errors.New(out.String())
}

// misfits returns the findings that a project without changes of its author does not have.
func misfits(there fs.FS, p scaffold.Project, added map[string][]byte) ([]typecheck.Finding, error) {
	plan, err := scaffold.Plan(scaffold.Input{After: p})
	if err != nil {
		return nil, err
	}

	generated := map[string][]byte{}
	for _, f := range plan {
		generated[f.Path] = f.Content
	}

	without, err := typecheck.Check(nothing{}, p.Module, generated)
	if err != nil {
		return nil, err
	}

	found, err := typecheck.Check(there, p.Module, added)

	return slices.DeleteFunc(found, func(f typecheck.Finding) bool { return slices.Contains(without, f) }), err
}

// nothing has no files.
type nothing struct{}

// Open returns the error of a missing file.
func (nothing) Open(string) (fs.File, error) { return nil, fs.ErrNotExist }

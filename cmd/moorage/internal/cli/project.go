package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// A loaded project is an existing one, with the record of its origin.
type loaded struct {
	p    scaffold.Project
	base []byte
}

// load reads the record of a folder.
func load(dir string) (loaded, error) {
	record, err := os.ReadFile(filepath.Join(dir, scaffold.Record))
	if errors.Is(err, fs.ErrNotExist) {
		return loaded{},
			fmt.Errorf(
				"there is no provider in %s, since there is no %s: go to its folder, name it by --dir, or make one by moorage init",
				dir, scaffold.Record)
	}

	if err != nil {
		return loaded{}, err
	}

	p, err := scaffold.Read(record)
	if err != nil {
		return loaded{}, err
	}

	base, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(scaffold.Base)))
	if errors.Is(err, fs.ErrNotExist) {
		return loaded{},
			fmt.Errorf("nothing says what the provider in %s was made of, since there is no %s: get it back from git", dir,
				scaffold.Base)
	}

	return loaded{p, base}, err
}

// current refuses a project that was generated from other templates than those of this program: additions would not
// fit.
func (l loaded) current(dir string) error {
	current, err := scaffold.Current(l.p, l.base)
	if err != nil || current {
		return err
	}

	if l.p.Template == scaffold.Template {
		return fmt.Errorf(
			"the files of the provider in %s are not what this moorage makes of its %s: it was edited, or another build of "+
				"moorage made the files. Take in what that changes first, by moorage diff --apply", dir, scaffold.Record)
	}

	return fmt.Errorf(
		"the provider in %s was made by other templates than this moorage has, of version %d, and these are %d: take in "+
			"what changed first, by moorage diff --apply", dir, l.p.Template, scaffold.Template)
}

// settle writes the record of the project.
func (l loaded) settle(dir string) error {
	record, err := l.p.Marshal()
	if err != nil {
		return err
	}

	return write(dir, scaffold.Record, scaffold.Version{Exists: true, Text: string(record)})
}

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

type initCommand struct {
	Dir    string `arg:"" optional:"" default:"." help:"Folder of the repository, which is made if it is missing. The default is this one."`
	Module string `required:"" placeholder:"example.org/provider-dock" help:"Path of the Go module. Its last element is what the provider calls itself."`
	Group  string `required:"" placeholder:"dock.example.org" help:"API group of the kinds, below a domain of yours."`

	sourceFlags
	planFlags
}

// Run makes a repository.
func (c *initCommand) Run(in *invocation) error {
	if err := checkEmpty(c.Dir); err != nil {
		return err
	}

	source, err := c.source()
	if err != nil {
		return err
	}

	after := scaffold.Project{Template: scaffold.Template, Module: c.Module, Group: c.Group, Moorage: source}
	if err := c.carryOut(in, c.Dir, scaffold.Input{After: after}); err != nil {
		return err
	}

	if !c.DryRun {
		fmt.Fprintf(in.out, "\n%s is made. Next, in %s:\n\n  moorage add kind --version v1alpha1 --kind Berth\n", after.Name(), c.Dir)
	}

	return nil
}

// checkEmpty refuses a folder that holds anything but the repository of git.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return err
	}

	if _, err := os.Stat(filepath.Join(dir, scaffold.Record)); err == nil {
		return fmt.Errorf("there is a provider in %s already: add to it by moorage add", dir)
	}

	for _, e := range entries {
		if e.Name() != ".git" {
			return fmt.Errorf("the folder %s is not empty, it holds %s: name another, which is made if it is missing", dir, e.Name())
		}
	}

	return nil
}

// sourceFlags say where the library comes from.
type sourceFlags struct {
	Version  string `name:"moorage-version" placeholder:"v1.2.3" help:"Release of Moorage to use. The default is that of this program."`
	Checkout string `placeholder:"DIR" help:"Checkout of Moorage to use instead of a release."`
}

// unreleased is the version that replaced modules have.
const unreleased = "v0.0.0"

// released matches the version of a release, and none that Go makes up for a commit.
var released = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// source returns where the library comes from: what was asked for, or the release
// that this program belongs to.
func (c *sourceFlags) source() (scaffold.Source, error) {
	if c.Checkout == "" {
		version := c.Version
		if version == "" {
			version = release()
		}

		return scaffold.Source{Version: version}, nil
	}

	if c.Version != "" {
		return scaffold.Source{}, errors.New("--checkout and --moorage-version exclude each other: leave one out")
	}

	dir, err := filepath.Abs(c.Checkout)
	if err != nil {
		return scaffold.Source{}, err
	}

	if _, err := os.Stat(filepath.Join(dir, "pkg", "reconciler", "managed")); err != nil {
		return scaffold.Source{}, fmt.Errorf("there is no Moorage in %s: give the folder that holds its go.mod by --checkout", dir)
	}

	return scaffold.Source{Version: unreleased, Checkout: dir}, nil
}

// release returns the version of this program, or nothing if it is none.
func release() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !released.MatchString(info.Main.Version) {
		return ""
	}

	return info.Main.Version
}

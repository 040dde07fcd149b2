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
	Dir    string `arg:"" optional:"" default:"." help:"${help_init_dir}"`
	Module string `required:"" placeholder:"example.org/provider-cloud" help:"${help_init_module}"`
	Group  string `required:"" placeholder:"cloud.example.org" help:"API group of the kinds, below a domain of yours."`

	Client string `enum:"http,interface" default:"http" help:"${help_init_client}"`

	sourceFlags
	planFlags
}

// Run creates a repository.
func (c *initCommand) Run(in *invocation) error {
	if err := checkEmpty(c.Dir); err != nil {
		return err
	}

	source, err := c.source()
	if err != nil {
		return err
	}

	after := scaffold.Project{Template: scaffold.Template, Module: c.Module, Group: c.Group, Moorage: source}
	if c.Client != scaffold.HTTP { // the default is not recorded
		after.Client = c.Client
	}

	if err := c.carryOut(in, c.Dir, scaffold.Input{After: after}); err != nil {
		return err
	}

	if !c.DryRun {
		fmt.Fprintf(in.out, "\n%s is made. Next, in %s:\n\n  moorage add kind --version v1alpha1 --kind Bucket\n",
			after.Name(), c.Dir)
	}

	return nil
}

// checkEmpty refuses a folder that contains anything but a git repository.
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
			return fmt.Errorf("the folder %s is not empty, it holds %s: name another, which is made if it is missing", dir,
				e.Name())
		}
	}

	return nil
}

// sourceFlags select the version of the library.
type sourceFlags struct {
	Version  string `name:"moorage-version" placeholder:"v1.2.3" help:"${help_source_version}"`
	Checkout string `placeholder:"DIR" help:"Checkout of Moorage to use instead of a release."`
}

// unreleased is the version of replaced modules.
const unreleased = "v0.0.0"

// released matches the version of a release, not a pseudo-version.
var released = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// source returns the selected version of the library, or by default the release of this program.
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
		return scaffold.Source{}, fmt.Errorf("there is no Moorage in %s: give the folder that holds its go.mod by --checkout",
			dir)
	}

	return scaffold.Source{Version: unreleased, Checkout: dir}, nil
}

// release returns the version of this program, or "" if it is not a release.
func release() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !released.MatchString(info.Main.Version) {
		return ""
	}

	return info.Main.Version
}

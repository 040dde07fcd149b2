package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/dev"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

type devCommand struct {
	Dir      string   `default:"." placeholder:"DIR" help:"Folder of the provider. The default is this one."`
	Examples bool     `help:"Apply the examples, too, again when one changes, and say when they are ready."`
	Fake     string   `default:"127.0.0.1:8090" env:"MOORAGE_FAKE" placeholder:"ADDRESS" help:"${help_dev_fake}"`
	Args     []string `arg:"" optional:"" passthrough:"" help:"Flags of the provider, after --."`
}

// Run runs the provider and restarts it when its source changes.
func (c *devCommand) Run(in *invocation) error {
	if _, err := os.Stat(filepath.Join(c.Dir, scaffold.Record)); err != nil {
		return fmt.Errorf("there is no provider in %s, since there is no %s: go to its folder, or name it by --dir", c.Dir,
			scaffold.Record)
	}

	for _, t := range tools() {
		if f := examine(in.ctx, t); t.needed && f.problem() != "" {
			return fmt.Errorf("%s is %s on this machine: moorage doctor says how to get it", t.name, f.problem())
		}
	}

	args := c.Args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}

	return dev.Run(in.ctx, dev.Options{Dir: c.Dir, Out: in.out, Examples: c.Examples, Fake: c.Fake, Args: args})
}

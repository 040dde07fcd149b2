package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/migrate"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

type migrateCommand struct {
	Dir   string         `default:"." placeholder:"DIR" help:"${help_migrate_dir}"`
	From  migrate.Origin `enum:"${origins}" default:"" placeholder:"ORIGIN" help:"${help_migrate_from}"`
	Apply bool           `help:"Change the files. The default is to print the diff."`
	Dirty bool           `help:"With --apply: change the files even if the git working tree is not clean."`

	sourceFlags
}

// Run prints the changes that a provider needs, or makes them.
func (c *migrateCommand) Run(in *invocation) error {
	source, err := c.source()
	if err != nil {
		return err
	}

	if c.Apply && !c.Dirty {
		if err := checkClean(in, c.Dir); err != nil {
			return err
		}
	}

	plan, err := migrate.Make(c.Dir, c.From, source)
	if err != nil {
		return err
	}

	if !c.Apply {
		fmt.Fprint(in.out, plan.Diff())
	} else if err := migrate.Apply(c.Dir, plan); err != nil {
		return err
	}

	c.report(in, plan, source)

	return nil
}

// report prints the changes and the decisions that are left to the author.
func (c *migrateCommand) report(in *invocation, plan migrate.Plan, source scaffold.Source) {
	done := "would change"
	if c.Apply {
		done = "were changed"
	}

	fmt.Fprintf(in.out, "\n%d files %s, from %s to Moorage %s.\n", len(plan.Files), done, plan.Origin, source.Version)

	if len(plan.Decisions) > 0 {
		fmt.Fprintf(in.out, "\nTo decide, %d:\n\n", len(plan.Decisions))

		for _, d := range plan.Decisions {
			fmt.Fprintf(in.out, "%s\n", d)
		}
	}

	next := "moorage migrate --apply"
	if c.Apply {
		next = "go mod tidy && " + vendored(c.Dir) + "go vet ./... && go test ./..., then moorage migrate objects"
	}

	fmt.Fprintf(in.out, "\nNext: %s\n", next)
}

// vendored returns the command that updates the folder vendor, or "" without one.
func vendored(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "vendor", "modules.txt")); err != nil {
		return ""
	}

	return "go mod vendor && "
}

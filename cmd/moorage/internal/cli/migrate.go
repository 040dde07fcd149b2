package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/migrate"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

type migrateCommand struct {
	Dir   string         `default:"." placeholder:"DIR" help:"Folder with the go.mod of the provider. The default is the current one."`
	From  migrate.Origin `enum:",krateo-v0.7,krateo-v0.9,crossplane-v1,crossplane-v2" default:"" placeholder:"ORIGIN" help:"Runtime that the provider was written for: krateo-v0.7 (provider-runtime before v0.8), krateo-v0.9 (v0.8 or later), crossplane-v1 or crossplane-v2. The default is read from its go.mod."`
	Apply bool           `help:"Change the files. The default is to print the diff."`
	Dirty bool           `help:"With --apply: change the files even if the git working tree is not clean."`

	sourceFlags
}

// Run shows what has to change in a provider, or changes it.
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

	c.tell(in, plan, source)

	return nil
}

// tell says what is left to a person.
func (c *migrateCommand) tell(in *invocation, plan migrate.Plan, source scaffold.Source) {
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

// vendored is the step that brings the folder vendor up to date, if the provider has one.
func vendored(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "vendor", "modules.txt")); err != nil {
		return ""
	}

	return "go mod vendor && "
}

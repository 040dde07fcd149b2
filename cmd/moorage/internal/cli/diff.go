package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/merge"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

type diffCommand struct {
	Dir      string `default:"." placeholder:"DIR" help:"Folder of the provider. The default is this one."`
	Apply    bool   `help:"Ask for each change whether to make it, and make it."`
	Yes      bool   `help:"With --apply: make all changes that fit, and ask nothing."`
	KeepMine bool   `help:"${help_diff_keepmine}"`
	Dirty    bool   `help:"With --apply: change files though git does not have all of them as they are."`
	Check    bool   `help:"Fail if there is something to change."`
	Version  string `name:"moorage-version" placeholder:"v1.2.3" help:"${help_diff_version}"`
	Generate bool   `default:"true" negatable:"" help:"Run make generate after changes."`
}

// errDiffers is the failure of --check, returned after the differences were printed.
var errDiffers = errors.New("this provider is not as this moorage makes it: moorage diff --apply changes it")

// errOpen is returned after hunks were printed that are left to the author.
var errOpen = errors.New("some changes are left: moorage diff shows them again")

// Run shows the changes that the templates of this program would make, and makes them if requested.
func (c *diffCommand) Run(in *invocation) error {
	project, err := load(c.Dir)
	if err != nil {
		return err
	}

	if c.Apply && !c.Dirty {
		if err := checkClean(in, c.Dir); err != nil {
			return err
		}
	}

	project.p.Template = scaffold.Template
	if version := c.release(); version != "" && project.p.Moorage.Checkout == "" {
		project.p.Moorage.Version = version
	}

	changes, err := scaffold.Upgrade(project.p, project.base,
		func(path string) (scaffold.Version, error) { return read(c.Dir, path) })
	if err != nil {
		return err
	}

	return c.carryOut(in, project, changes)
}

func (c *diffCommand) release() string {
	if c.Version != "" {
		return c.Version
	}

	return release()
}

// carryOut shows the changes, and makes the accepted ones.
func (c *diffCommand) carryOut(in *invocation, project loaded, changes []scaffold.Change) error {
	asked := bufio.NewReader(in.in)
	fit, clash := 0, 0

	for i := range changes {
		for n := range changes[i].Regions {
			r := &changes[i].Regions[n]
			if !r.Open() {
				continue
			}

			show(in.out, changes[i], n)

			if r.State == merge.Clash {
				clash++
			} else {
				fit++
			}

			if c.Apply {
				r.Answer = c.answer(in, asked, r.State)
			}
		}
	}

	current, err := scaffold.Current(project.p, project.base)
	if err != nil {
		return err
	}

	switch {
	case fit+clash == 0 && !current && !c.Apply:
		fmt.Fprintf(in.out, "There is nothing to change in %s, but that this is recorded: moorage diff --apply does so.\n",
			c.Dir)
	case fit+clash == 0:
		fmt.Fprintf(in.out,
			"There is nothing to change: the provider in %s is as this moorage makes it, but for what you changed.\n", c.Dir)
	case !c.Apply:
		fmt.Fprintf(in.out, "\n%d changes fit, %d do not. moorage diff --apply makes the first, and leaves the others.\n",
			fit, clash)
	}

	if c.Apply {
		return c.make(in, project, changes)
	}

	if c.Check && (fit+clash > 0 || !current) {
		return errDiffers
	}

	return nil
}

// answer decides about a region, and asks the author if that is not clear.
func (c *diffCommand) answer(in *invocation, asked *bufio.Reader, state merge.State) scaffold.Answer {
	switch {
	case state == merge.Clash && c.KeepMine:
		return scaffold.Keep
	case state == merge.Clash:
		return scaffold.Leave
	case c.Yes:
		return scaffold.Take
	}

	for {
		fmt.Fprint(in.out, "Change this? y yes, n not now, k keep mine for good, a yes and all that follow, q nothing more: ")

		line, err := asked.ReadString('\n')
		fmt.Fprintln(in.out)

		switch answer := strings.TrimSpace(line); {
		case answer == "y":
			return scaffold.Take
		case answer == "k":
			return scaffold.Keep
		case answer == "n":
			return scaffold.Leave
		case answer == "a":
			c.Yes = true

			return scaffold.Take
		case answer == "q" || err != nil:
			asked.Reset(strings.NewReader("")) // and likewise for all that follow

			return scaffold.Leave
		}
	}
}

// make writes the accepted changes, and then the record of the answers.
func (c *diffCommand) make(in *invocation, project loaded, changes []scaffold.Change) error {
	base, done, err := scaffold.Settle(project.p, project.base, changes)
	if err != nil {
		return err
	}

	changed := 0

	for _, change := range changes {
		result, _ := change.Result()
		if result == change.Mine {
			continue
		}

		changed++

		if err := write(c.Dir, change.Path, result); err != nil {
			return err
		}
	}

	if err := write(c.Dir, scaffold.Base, scaffold.Version{Exists: true, Text: string(base)}); err != nil {
		return err
	}

	if done {
		if err := project.settle(c.Dir); err != nil {
			return err
		}
	}

	if changed > 0 {
		fmt.Fprintf(in.out, "%d files were changed.\n", changed)

		if !c.Generate {
			fmt.Fprintf(in.out, "\nNext: %s test\n", generation(project.p.Moorage))
		} else if err := generate(in, c.Dir, project.p.Moorage); err != nil {
			return err
		}
	}

	if !done {
		return errOpen
	}

	return nil
}

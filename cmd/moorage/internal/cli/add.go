package cli

import (
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

type kindCommand struct {
	Version       string         `required:"" placeholder:"v1alpha1" help:"API version of the kind."`
	Kind          string         `required:"" placeholder:"Bucket" help:"${help_kind_name}"`
	Class         scaffold.Class `enum:"named,token,findable,opaque" default:"named" help:"${help_kind_class}"`
	ClusterScoped bool           `help:"Its objects are in no namespace."`

	ConnectionDetails details  `help:"${help_kind_details}"`
	RefersTo          []string `placeholder:"Role" help:"${help_kind_refers}"`
	WithoutStamp      bool     `help:"${help_kind_stamp}"`

	placeFlags
}

// Run adds a kind.
func (c *kindCommand) Run(in *invocation) error {
	kind := scaffold.Kind{
		Kind: c.Kind, Version: c.Version, Class: c.Class, ClusterScoped: c.ClusterScoped,
		ConnectionDetails: c.ConnectionDetails != "", Password: c.ConnectionDetails == generated, RefersTo: c.RefersTo,
		WithoutStamp: c.WithoutStamp,
	}

	return c.change(in, func(p scaffold.Project) (scaffold.Project, error) { return p.WithKind(kind) })
}

// details says which connection details objects publish: none, those that the API returns, or a generated password.
type details string

const (
	returned  details = "returned"
	generated details = "password"
)

// IsBool lets the flag have no value.
func (details) IsBool() bool { return true }

// Decode reads the value of the flag. Without one, the API returns the details.
func (d *details) Decode(ctx *kong.DecodeContext) error {
	*d = returned

	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}

	value := details(fmt.Sprint(ctx.Scan.Pop().Value))
	if value != returned && value != generated {
		return fmt.Errorf("%q are no connection details: give %s, or %s for a password that the provider generates", value,
			returned, generated)
	}

	*d = value

	return nil
}

type providerConfigCommand struct {
	Version string `default:"v1alpha1" help:"API version of the kinds."`

	placeFlags
}

// Run adds the kinds of the provider configuration.
func (c *providerConfigCommand) Run(in *invocation) error {
	return c.change(in, func(p scaffold.Project) (scaffold.Project, error) { return p.WithProviderConfig(c.Version) })
}

// placeFlags are the flags of commands that change a project.
type placeFlags struct {
	Dir      string `default:"." placeholder:"DIR" help:"Folder of the provider. The default is this one."`
	Generate bool   `default:"true" negatable:"" help:"${help_place_generate}"`
	Check    bool   `default:"true" negatable:"" help:"${help_place_check}"`

	planFlags
}

// change applies a change to the project in the folder.
func (c *placeFlags) change(in *invocation, change func(scaffold.Project) (scaffold.Project, error)) error {
	project, err := load(c.Dir)
	if err != nil {
		return err
	}

	after, err := change(project.p)
	if err != nil {
		return err
	}

	if err := project.current(c.Dir); err != nil {
		return err
	}

	input := scaffold.Input{Before: &project.p, After: after}
	if c.Check {
		if err := checkFits(c.Dir, input); err != nil {
			return err
		}
	}

	if err := c.carryOut(in, c.Dir, input); err != nil {
		return err
	}

	if c.DryRun {
		return nil
	}

	if !c.Generate {
		fmt.Fprintf(in.out, "\nNext: %s test\n", generation(after.Moorage))

		return nil
	}

	if err := generate(in, c.Dir, after.Moorage); err != nil {
		return err
	}

	fmt.Fprint(in.out, "\nNext: make test\n")

	return nil
}

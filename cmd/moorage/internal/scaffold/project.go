package scaffold

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Record is the file in which a project keeps its description.
const Record = "moorage.json"

// Template is the version of the templates in this program. Each release with changed templates increments it.
const Template = 2

// A Class is the reason why a create can be repeated after its answer was lost.
type Class string

// Classes of kinds. The zero value is none of them.
const (
	Named    Class = "named"    // its name is chosen here
	Token    Class = "token"    // the API knows a request again by its token
	Findable Class = "findable" // what was created can be searched for
	Opaque   Class = "opaque"   // none of it
)

// Classes returns all classes, the best first.
func Classes() []Class { return []Class{Named, Token, Findable, Opaque} }

// Clients of external systems.
const (
	HTTP      = "http"      // a client that sends JSON by HTTP, with a server in memory for tests
	Interface = "interface" // an interface, with an implementation in memory for tests
)

// A Project describes the repository of a provider. The zero value is none: see [Project.Check].
type Project struct {
	// Template is the version of the templates it was made from.
	Template int `json:"template"`

	// Module is the path of its Go module, and Group the API group of its kinds.
	Module string `json:"module"`
	Group  string `json:"group"`

	// Moorage is where the library comes from.
	Moorage Source `json:"moorage"`

	// Client is how the provider reaches the external system: HTTP or Interface. Empty is HTTP.
	Client string `json:"client,omitempty"`

	// ProviderConfig is the API version of its ProviderConfig, or empty.
	ProviderConfig string `json:"providerConfig,omitempty"`

	// Kinds in the order in which they were added.
	Kinds []Kind `json:"kinds,omitempty"`

	// Own are the files that are the author's alone, below the project's folder: they
	// are neither made nor changed here. A folder ends in a slash, and * stands for
	// any part of a name.
	Own []string `json:"own,omitempty"`
}

// A Source is where a project takes Moorage from.
type Source struct {
	// Version of the module.
	Version string `json:"version"`

	// Checkout is the folder that is used instead of the version, or empty.
	Checkout string `json:"checkout,omitempty"`
}

// A Kind is one kind of managed resource.
type Kind struct {
	Kind          string `json:"kind"`
	Version       string `json:"version"`
	Class         Class  `json:"class"`
	ClusterScoped bool   `json:"clusterScoped,omitempty"`

	// ConnectionDetails says that its objects publish connection details in a Secret.
	ConnectionDetails bool `json:"connectionDetails,omitempty"`

	// Password says that the provider generates a password for each resource, which is one of the connection details.
	Password bool `json:"password,omitempty"`

	// RefersTo are the kinds of the same version that its objects refer to, in any order: kinds may refer to each other.
	RefersTo []string `json:"refersTo,omitempty"`

	// WithoutStamp says that the API cannot store which object owns a resource.
	WithoutStamp bool `json:"withoutStamp,omitempty"`
}

// Name returns what the provider calls itself: the last element of its module that
// is no major version.
func (p Project) Name() string {
	elements := strings.Split(p.Module, "/")
	last := elements[len(elements)-1]

	if len(elements) > 1 && majorVersion.MatchString(last) {
		last = elements[len(elements)-2]
	}

	return last
}

// client returns how the provider reaches the external system.
func (p Project) client() string {
	if p.Client == "" {
		return HTTP
	}

	return p.Client
}

// WithKind returns the project with an additional kind, or an error that says what to request instead.
func (p Project) WithKind(k Kind) (Project, error) {
	if err := k.check(); err != nil {
		return Project{}, err
	}

	for _, other := range p.Kinds {
		switch {
		case other.Kind == k.Kind && other.Version == k.Version:
			return Project{}, fmt.Errorf("the kind %s exists in %s: edit it, or choose another name", k.Kind, k.Version)
		case strings.EqualFold(other.Kind, k.Kind):
			return Project{},
				fmt.Errorf(
					"the kind %s exists in %s: a second version of a kind needs a conversion, which is not made here; choose "+
						"another name", other.Kind, other.Version)
		case plural(other.Kind) == plural(k.Kind):
			return Project{}, fmt.Errorf("the plural of %s is %s, as that of %s: choose another name", k.Kind, plural(k.Kind),
				other.Kind)
		}
	}

	p.Kinds = append(slices.Clone(p.Kinds), k)

	return p, p.checkReferences(k)
}

// checkReferences returns an error, written for users, if a kind cannot refer to the kinds that it names.
func (p Project) checkReferences(k Kind) error {
	if len(k.RefersTo) > 0 && strings.EqualFold(k.Kind, "References") {
		return fmt.Errorf("the kind %s cannot have references, because a kind with references already has the file "+
			"references_test.go: choose another kind", k.Kind)
	}

	for n, name := range k.RefersTo {
		found := slices.IndexFunc(p.Kinds, func(other Kind) bool { return other.Kind == name })

		switch {
		case found < 0:
			return fmt.Errorf("the kind %s cannot refer to %s, which is no kind of this provider: add that kind first. "+
				"If %s is to refer to %s, too, add it without that reference, and write that under refersTo in %s afterwards: "+
				"moorage diff --apply makes the code", k.Kind, name, name, k.Kind, Record)
		case name == k.Kind:
			return fmt.Errorf("the kind %s cannot refer to itself: the first object would have none to refer to. Add an "+
				"optional reference by hand, as docs/references.md shows", k.Kind)
		case slices.Contains(k.RefersTo[:n], name):
			return fmt.Errorf("the kind %s is to refer to %s twice: name it once, and add further fields by hand", k.Kind, name)
		case slices.ContainsFunc(fields, func(f string) bool { return strings.EqualFold(f, name) }):
			return fmt.Errorf("the kind %s cannot refer to %s, whose name is a field of each kind: add the reference by hand",
				k.Kind, name)
		case p.Kinds[found].Version != k.Version:
			return fmt.Errorf(
				"the kind %s of %s cannot refer to %s of %s: choose the same version, or add the reference by hand",
				k.Kind, k.Version, name, p.Kinds[found].Version)
		case k.ClusterScoped && !p.Kinds[found].ClusterScoped:
			return fmt.Errorf("the kind %s is cluster-scoped, and %s is not: a reference needs a namespace, add it by hand",
				k.Kind, name)
		}
	}

	return nil
}

// WithProviderConfig returns the project with a ProviderConfig of that version, or
// an error if it has one.
func (p Project) WithProviderConfig(version string) (Project, error) {
	if err := checkVersion(version); err != nil {
		return Project{}, err
	}

	if p.ProviderConfig != "" {
		return Project{}, fmt.Errorf("there is a ProviderConfig already, in apis/%s: edit it", p.ProviderConfig)
	}

	p.ProviderConfig = version

	return p, nil
}

// owns reports whether a file is the author's alone.
func (p Project) owns(file string) bool {
	for _, own := range p.Own {
		if folder, ok := strings.CutSuffix(own, "/"); ok && strings.HasPrefix(file, folder+"/") {
			return true
		}

		if ok, _ := path.Match(own, file); ok { // what is no pattern is refused by Check
			return true
		}
	}

	return false
}

// versions returns the API versions of the project, sorted.
func (p Project) versions() []string {
	var out []string
	for _, k := range p.Kinds {
		out = append(out, k.Version)
	}

	if p.ProviderConfig != "" {
		out = append(out, p.ProviderConfig)
	}

	slices.Sort(out)

	return slices.Compact(out)
}

// Read parses a record. Its errors say what is wrong with it.
func Read(record []byte) (Project, error) {
	var p Project
	if err := json.Unmarshal(record, &p); err != nil {
		return Project{}, fmt.Errorf("cannot understand %s: %w", Record, err)
	}

	if p.Template > Template {
		return Project{},
			fmt.Errorf(
				"%s was written by a newer moorage, with templates of version %d, and this one has %d: install the newer one",
				Record, p.Template, Template)
	}

	if err := p.Check(); err != nil {
		return Project{}, fmt.Errorf("%s is not as moorage wrote it: %w", Record, err)
	}

	return p, nil
}

// Check returns an error, written for users, for a project that cannot be generated.
func (p Project) Check() error {
	if p.Template < 1 {
		return errors.New("the version of its templates is missing")
	}

	if err := checkModule(p.Module); err != nil {
		return err
	}

	if err := checkName(p); err != nil {
		return err
	}

	if err := checkGroup(p.Group); err != nil {
		return err
	}

	if p.client() != HTTP && p.client() != Interface {
		return fmt.Errorf("%q is no client: give %s or %s", p.Client, HTTP, Interface)
	}

	if p.Moorage.Version == "" {
		return errors.New(
			"nothing says which Moorage to use: name a release by --moorage-version, or a checkout by --checkout")
	}

	if p.ProviderConfig != "" {
		if err := checkVersion(p.ProviderConfig); err != nil {
			return err
		}
	}

	for _, own := range p.Own {
		if _, err := path.Match(own, ""); err != nil || own == "" {
			return fmt.Errorf(
				"%q names no file that is the author's alone: give a path below the project's folder, of a folder with a slash "+
					"at its end", own)
		}
	}

	all := p
	all.Kinds = nil

	for _, k := range p.Kinds { // first without references, because kinds may refer to each other
		k.RefersTo = nil

		var err error
		if all, err = all.WithKind(k); err != nil {
			return err
		}
	}

	for _, k := range p.Kinds {
		if err := p.checkReferences(k); err != nil {
			return err
		}
	}

	return nil
}

// Marshal returns the project as its [Record] stores it.
func (p Project) Marshal() ([]byte, error) {
	out, err := json.MarshalIndent(p, "", "  ")

	return append(out, '\n'), err
}

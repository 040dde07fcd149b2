package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"
)

//go:embed all:templates
var templates embed.FS

const suffix = ".tmpl"

// A view is what a template may name. Kind and Version are those that it is for.
type view struct {
	Project

	Version string
	Kind    described
}

// A described kind knows the words that are made of it.
type described struct {
	Kind

	of Project
}

// Name returns the kind.
func (d described) Name() string { return d.Kind.Kind }

// Lower returns the kind in lower case, the name of its package.
func (d described) Lower() string { return strings.ToLower(d.Kind.Kind) }

// Plural returns what the API calls its objects.
func (d described) Plural() string { return plural(d.Kind.Kind) }

// A returns the kind with its article, and An does at the beginning of a sentence.
func (d described) A() string { return article(d.Kind.Kind) + " " + d.Kind.Kind }

// An returns the kind with its article at the beginning of a sentence.
func (d described) An() string {
	a := d.A()

	return strings.ToUpper(a[:1]) + a[1:]
}

// Refers returns the kinds that the kind refers to.
func (d described) Refers() []described {
	var out []described

	for _, name := range d.RefersTo {
		for _, k := range d.of.Kinds {
			if k.Kind == name {
				out = append(out, described{k, d.of})
			}
		}
	}

	return out
}

// Before reports whether the kind was added before another one.
func (d described) Before(other described) bool {
	at := func(k described) int {
		return slices.IndexFunc(d.of.Kinds, func(one Kind) bool { return one.Kind == k.Kind.Kind })
	}

	return at(d) < at(other)
}

// JSON returns the kind as a field of JSON is written: its first letters in lower case.
func (d described) JSON() string { return lowerCamel(d.Kind.Kind) }

// Is reports whether the kind is of a class.
func (d described) Is(class string) bool { return string(d.Class) == class }

// Category returns what kubectl calls all kinds of the provider together.
func (v view) Category() string { return strings.TrimPrefix(v.Name(), "provider-") }

// GroupPattern returns what only the group matches where Prometheus takes a pattern, in
// which a dot is any character.
func (v view) GroupPattern() string { return strings.ReplaceAll(v.Group, ".", "[.]") }

// KindsHere returns the kinds of the version at hand.
func (v view) KindsHere() []described {
	var out []described

	for _, k := range v.Kinds {
		if k.Version == v.Version {
			out = append(out, described{k, v.Project})
		}
	}

	return out
}

// AllKinds returns the kinds of all versions.
func (v view) AllKinds() []described {
	var out []described
	for _, k := range v.Kinds {
		out = append(out, described{k, v.Project})
	}

	return out
}

// Interface reports whether the client is an interface.
func (v view) Interface() bool { return v.client() == Interface }

// Versions returns the API versions there are.
func (v view) Versions() []string { return v.versions() }

// render returns the files of a project by their paths, without those that are its
// author's alone.
func render(p Project) (map[string][]byte, error) {
	out := map[string][]byte{}

	client := p.client()

	views := map[string][]view{"project": {{Project: p}}, client: {{Project: p}}}
	for _, version := range p.versions() {
		views["version"] = append(views["version"], view{Project: p, Version: version})
	}

	for _, k := range p.Kinds {
		of := view{Project: p, Version: k.Version, Kind: described{k, p}}
		views["kind"] = append(views["kind"], of)
		views[client+"kind"] = append(views[client+"kind"], of)
		views["firstkind"] = []view{{Project: p}}

		if k.Password {
			views["password"] = append(views["password"], of)
		}

		if len(k.RefersTo) > 0 {
			views["references"] = append(views["references"], of)
		}
	}

	if p.ProviderConfig != "" {
		views["providerconfig"] = []view{{Project: p, Version: p.ProviderConfig}}
	} else {
		views["static"] = []view{{Project: p}}
	}

	for folder, of := range views {
		for _, v := range of {
			if err := renderFolder(folder, v, out); err != nil {
				return nil, err
			}
		}
	}

	maps.DeleteFunc(out, func(path string, _ []byte) bool { return p.owns(path) })

	return out, nil
}

// renderFolder adds what the templates of a folder make of a view.
func renderFolder(folder string, v view, out map[string][]byte) error {
	base := path.Join("templates", folder)

	return fs.WalkDir(templates, base, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}

		text, err := templates.ReadFile(name)
		if err != nil {
			return err
		}

		to := strings.TrimPrefix(name, base+"/")
		to = strings.NewReplacer("VERSION", v.Version, "KIND", v.Kind.Lower()).Replace(to)

		content, err := fill(name, text, v)
		out[strings.TrimSuffix(to, suffix)] = content

		return err
	})
}

// fill returns what a template makes. Those of Go are formatted, because what names
// take up cannot be known in the template.
func fill(name string, text []byte, v view) ([]byte, error) {
	if !strings.HasSuffix(name, suffix) {
		return text, nil
	}

	t, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}

	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		return nil, err
	}

	if !strings.HasSuffix(name, ".go"+suffix) {
		return out.Bytes(), nil
	}

	formatted, err := format.Source(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the template %s does not make Go: %w", name, err)
	}

	return formatted, nil
}

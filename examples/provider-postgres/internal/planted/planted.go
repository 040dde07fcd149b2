// Package planted inserts bugs into the provider, one at a time, and runs the conformance kit against each. The bugs
// are in the folder testdata: 1 to 17 and 8b, and those of planted.md. Start with [Read].
package planted

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Bug is a mistake of an author, as replacements in the source of the provider. Use Read.
type Bug struct {
	// Name is the name of the file, without its extension.
	Name string

	// Package is the folder of the kind whose suite is run, below internal/controller.
	Package string

	// What says in one line what is wrong.
	What string

	// Properties are those of the kit that the bug breaks. A finding of another property is one for a wrong reason.
	Properties []string

	// Missed says why the kit does not find the bug. It is empty for a bug that it finds.
	Missed string

	edits []edit
}

// An edit replaces a text, which occurs once in a file of the module.
type edit struct{ file, old, new string }

// Read returns the bug in a file. The file begins with lines "key: value". For each edit of a source file it has the
// line "== FILE", and after it the lines "<<<", the old text, "===", the new text and ">>>". The last line
// break of a text is not part of it.
func Read(path string) (Bug, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Bug{}, errors.Wrap(err, "cannot read the bug")
	}
	b := Bug{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))}
	head, body, _ := strings.Cut(string(data), "\n== ")
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case strings.TrimSpace(line) == "":
		case ok && key == "package":
			b.Package = value
		case ok && key == "what":
			b.What = value
		case ok && key == "properties":
			b.Properties = strings.Fields(value)
		case ok && key == "missed":
			b.Missed = value
		default:
			return Bug{}, errors.Errorf("%s: unknown line %q", path, strings.TrimSpace(line))
		}
	}
	if b.Package == "" || b.What == "" || len(b.Properties) == 0 {
		return Bug{}, errors.Errorf("%s: write the lines package, what and properties", path)
	}
	b.edits, err = parseEdits(body)

	return b, errors.Wrapf(err, "%s", path)
}

// parseEdits returns the edits of all files in a text.
func parseEdits(text string) ([]edit, error) {
	var out []edit
	for _, section := range strings.Split(text, "\n== ") {
		file, rest, _ := strings.Cut(section, "\n")
		for strings.TrimSpace(rest) != "" {
			_, after, ok1 := strings.Cut(rest, "<<<\n")
			before, after, ok2 := strings.Cut(after, "===\n")
			changed, after, ok3 := strings.Cut(after, ">>>\n")
			if !ok1 || !ok2 || !ok3 {
				return nil, errors.Errorf("an edit of %s is not <<< old === new >>>", file)
			}
			out = append(out, edit{file, strings.TrimSuffix(before, "\n"), strings.TrimSuffix(changed, "\n")})
			rest = after
		}
	}
	if len(out) == 0 {
		return nil, errors.New("there is no edit")
	}

	return out, nil
}

// Overlay writes the changed files of the module in root to a new folder, and an overlay for go build -overlay. It
// returns the path of the overlay. Its error names each edit that is outdated: its old text has to occur exactly once.
func (b Bug) Overlay(root, folder string) (string, error) {
	changed := map[string]string{}
	for _, e := range b.edits {
		path := filepath.Join(root, filepath.FromSlash(e.file))
		text, ok := changed[path]
		if !ok {
			data, err := os.ReadFile(path)
			if err != nil {
				return "", errors.Wrapf(err, "bug %s is outdated", b.Name)
			}
			text = string(data)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return "", errors.Errorf("bug %s is outdated: its old text occurs %d times in %s, and not once:\n%s", b.Name, n,
				e.file, e.old)
		}
		changed[path] = strings.Replace(text, e.old, e.new, 1)
	}
	replace := map[string]string{}
	for path, text := range changed {
		to := filepath.Join(folder, fmt.Sprintf("%d-%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", errors.Wrap(err, "cannot write a changed file")
		}
		replace[path] = to
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", errors.Wrap(err, "cannot write the overlay")
	}
	overlay := filepath.Join(folder, "overlay.json")

	return overlay, errors.Wrap(os.WriteFile(overlay, data, 0o600), "cannot write the overlay")
}

// A Finding is a property that the kit found broken.
type Finding struct{ Property, Text string }

// Findings returns what the kit found, from the output of go test -v, in the order in which it is printed.
func Findings(printed []byte) []Finding {
	var out []Finding
	for _, m := range findingLine.FindAllSubmatch(printed, -1) {
		out = append(out, Finding{string(m[1]), string(m[2])})
	}

	return out
}

// findingLine matches the line of a finding: its place, the property, the sentence of the property and the text.
var findingLine = regexp.MustCompile(`(?m)^ +\w+\.go:\d+: ([a-z-]+): [^;\n]*; but (.*)$`)

// Right returns the first finding of a property that the bug breaks.
func (b Bug) Right(found []Finding) (Finding, bool) {
	i := slices.IndexFunc(found, func(f Finding) bool { return slices.Contains(b.Properties, f.Property) })
	if i < 0 {
		return Finding{}, false
	}

	return found[i], true
}

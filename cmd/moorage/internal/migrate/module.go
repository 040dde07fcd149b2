package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// A module is a go.mod, as "go mod edit -json" prints it.
type module struct {
	Module  struct{ Path string }
	Go      string
	Require []requirement
	Replace []struct {
		Old, New struct{ Path, Version string }
	}

	text string
}

// A requirement is one of a go.mod.
type requirement struct {
	Path, Version string
	Indirect      bool
}

// readModule reads the go.mod of a provider.
func readModule(dir string) (module, error) {
	path := filepath.Join(dir, "go.mod")

	text, err := os.ReadFile(path)
	if err != nil {
		return module{}, fmt.Errorf("there is no Go module in %s: name the folder of the provider's go.mod by --dir: %w", dir,
			err)
	}

	return parseModule(string(text))
}

// parseModule reads the text of a go.mod.
func parseModule(text string) (module, error) {
	var mod module

	out, err := edited(text, "-json")
	if err != nil {
		return module{}, err
	}

	if err := json.Unmarshal([]byte(out), &mod); err != nil {
		return module{}, fmt.Errorf("cannot read what go mod edit tells: %w", err)
	}

	mod.text = text

	return mod, nil
}

// edited returns what "go mod edit" makes of the text of a go.mod.
func edited(text string, args ...string) (out string, err error) {
	dir, err := os.MkdirTemp("", "moorage-migrate-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	path := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}

	cmd := exec.Command("go", append(append([]string{"mod", "edit"}, args...), path)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off", "GOFLAGS=")

	reported, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}

		return "", fmt.Errorf("go mod edit: %w", err)
	}

	return string(reported), nil
}

// Modules of runtimes.
const (
	krateo       = "github.com/krateoplatformops/provider-runtime"
	crossplane   = "github.com/crossplane/crossplane-runtime"
	crossplaneV2 = crossplane + "/v2"
)

// origin returns which runtime a provider requires.
func (m module) origin() (Origin, error) {
	for _, r := range m.Require {
		switch {
		case r.Path == krateo && compare(r.Version, "v0.8.0") < 0:
			return KrateoV07, nil
		case r.Path == krateo:
			return KrateoV09, nil
		case r.Path == crossplane:
			return CrossplaneV1, nil
		case r.Path == crossplaneV2:
			return CrossplaneV2, nil
		}
	}

	return "",
		fmt.Errorf(
			"%s requires none of %s, %s and %s, so there is nothing to migrate: if it did before, say from what by --from",
			m.Module.Path, krateo, crossplane, crossplaneV2)
}

// requirements writes the provider's go.mod.
func (m *migration) requirements(mod module, library scaffold.Source) error {
	needed, err := needed(library)
	if err != nil {
		return err
	}

	args := []string{"-go=" + needed.Go, "-toolchain=none", "-droprequire=" + m.rules.module,
		"-droprequire=github.com/crossplane/crossplane/apis/v2", "-require=" + ours + "@" + library.Version}
	least := map[string]string{}

	for _, r := range needed.Require {
		least[r.Path] = r.Version
	}

	for _, r := range mod.Require {
		if to, ok := least[r.Path]; ok && r.Path != ours && compare(r.Version, to) < 0 {
			args = append(args, "-require="+r.Path+"@"+to)
		}
	}

	for _, r := range mod.Replace {
		if r.Old.Path == m.rules.module {
			args = append(args, "-dropreplace="+r.Old.Path+strings.TrimSuffix("@"+r.Old.Version, "@"))
		}
	}

	if library.Checkout != "" {
		args = append(args, "-replace="+ours+"="+library.Checkout)
	}

	after, err := edited(mod.text, append(args, "-print")...)
	if err != nil {
		return err
	}

	m.add("go.mod", mod.text, after)

	return m.workspace(needed.Go)
}

// needed returns the go.mod that a new provider gets: it requires what the library needs.
func needed(library scaffold.Source) (module, error) {
	files, err := scaffold.Plan(scaffold.Input{After: scaffold.Project{
		Template: scaffold.Template, Module: "example.org/provider-new", Group: "new.example.org", Moorage: library,
	}})
	if err != nil {
		return module{}, err
	}

	for _, f := range files {
		if f.Path == "go.mod" {
			return parseModule(string(f.Content))
		}
	}

	return module{}, errors.New("the template of a provider has no go.mod")
}

// number is a part of a version that is compared as a number.
var number = regexp.MustCompile(`[0-9]+|[^0-9]+`)

// compare compares versions of modules. One with something behind its numbers is before the
// one without.
func compare(a, b string) int {
	a, aMore, aBefore := strings.Cut(strings.TrimSuffix(a, "+incompatible"), "-")
	b, bMore, bBefore := strings.Cut(strings.TrimSuffix(b, "+incompatible"), "-")

	if c := compareParts(a, b); c != 0 {
		return c
	}

	switch {
	case aBefore && !bBefore:
		return -1
	case bBefore && !aBefore:
		return 1
	}

	return compareParts(aMore, bMore)
}

// compareParts compares number by number, and text by text.
func compareParts(a, b string) int {
	as, bs := number.FindAllString(a, -1), number.FindAllString(b, -1)

	for i := 0; i < len(as) && i < len(bs); i++ {
		x, xErr := strconv.ParseUint(as[i], 10, 64)
		y, yErr := strconv.ParseUint(bs[i], 10, 64)

		switch {
		case xErr == nil && yErr == nil && x < y:
			return -1
		case xErr == nil && yErr == nil && x > y:
			return 1
		case xErr != nil || yErr != nil:
			if c := strings.Compare(as[i], bs[i]); c != 0 {
				return c
			}
		}
	}

	return len(as) - len(bs)
}

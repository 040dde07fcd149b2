package migrate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// another reports whether a folder is a module below the provider's, whose files are not part of it, and adds a
// decision if that needs a migration too.
func (m *migration) another(name, path string) (bool, error) {
	text, err := os.ReadFile(filepath.Join(path, "go.mod"))
	if name == "." || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}

	what := "is another module, and is not rewritten: run moorage migrate --dir for its folder as well"

	switch {
	case strings.Contains(string(text), m.rules.module+" "):
		m.decide(name+"/go.mod", 1, what)
	case strings.Contains(string(text), m.module+" "):
		m.decide(name+"/go.mod", 1, what+", or raise its versions if it uses no runtime itself")
	}

	return true, nil
}

// link adds a decision for a symbolic link to a Go file that is not rewritten.
func (m *migration) link(name, path string) {
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(name, ".go") || !strings.Contains(string(text), m.rules.module) {
		return
	}

	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}

	if root, err := filepath.EvalSymlinks(m.dir); err == nil {
		if below, err := filepath.Rel(root, to); err == nil {
			to = filepath.ToSlash(below)
		}
	}

	folders := strings.Split(to, "/")
	if strings.HasSuffix(to, ".go") &&
		!slices.ContainsFunc(append(foreignFolders, ".."), func(f string) bool { return slices.Contains(folders, f) }) {
		return // it is rewritten where it is
	}

	m.decide(name, 1, "is a symbolic link to "+to+", which is not rewritten and names "+m.rules.module+
		": rewrite that file")
}

// The lines of a go.work that name versions of Go.
var (
	workGo        = regexp.MustCompile(`(?m)^go[ \t]+([0-9.]+)`)
	workToolchain = regexp.MustCompile(`(?m)^toolchain[ \t]+\S+\r?\n+`)
)

// workspace raises the version of a go.work to that of the go.mod: Go refuses a lower one.
func (m *migration) workspace(version string) error {
	text, err := os.ReadFile(filepath.Join(m.dir, "go.work"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}

	before := string(text)

	now := workGo.FindStringSubmatch(before)
	if now != nil && compare(now[1], version) >= 0 {
		return nil
	}

	after := workGo.ReplaceAllString(workToolchain.ReplaceAllString(before, ""), "go "+version)
	if now == nil {
		after = "go " + version + "\n\n" + after
	}

	m.add("go.work", before, after)

	return nil
}

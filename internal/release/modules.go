package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// root is the path of the module in the root of the repository.
const root = "github.com/moorage-dev/moorage"

// A module is a module that others may require, or from which they may install a command.
type module struct {
	folder string // from the root of the repository
	// uses are the modules of the repository that the module requires. They are tagged before it.
	uses []string
}

// released are the modules that a release tags, in this order.
var released = []module{
	{folder: "."},
	{folder: "pkg/store/natskv", uses: []string{root}},
	{folder: "cmd/moorage"},
	{folder: "cmd/kubectl-moorage"},
	{folder: "devcluster"},
}

// path returns the module path.
func (m module) path() string {
	if m.folder == "." {
		return root
	}

	return root + "/" + m.folder
}

// tag returns the git tag of a version. Go expects the folder of the module before the version.
func (m module) tag(version string) string {
	if m.folder == "." {
		return version
	}

	return m.folder + "/" + version
}

// versions matches the versions that a release may have. Another major version would need other module paths.
var versions = regexp.MustCompile(`^v[01]\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

func valid(version string) error {
	if !versions.MatchString(version) || version == "v0.0.0" {
		return fmt.Errorf("%q is no version of these modules: want v0.x.y or v1.x.y, as v2 and later need other module "+
			"paths", version)
	}

	return nil
}

// pin writes the version of the given modules into a go.mod that requires them. A replace directive stays, because Go
// ignores it in a required module.
func pin(mod []byte, version string, of ...string) []byte {
	for _, path := range of {
		line := regexp.MustCompile(`(?m)^(\s*(?:require\s+)?` + regexp.QuoteMeta(path) + `) v\S+`)
		mod = line.ReplaceAll(mod, []byte("${1} "+version))
	}

	return mod
}

// prepare finds the go.mod files that have to require the version, and returns those that require another version. If
// write is set, it changes them.
//
// These files are the released modules that use other released modules, and all modules that require such a module. Go
// takes the highest version that a required module names, and rejects a go.mod with another version.
func prepare(dir, version string, write bool) (changed []string, err error) {
	var paths []string
	for _, m := range released {
		if len(m.uses) > 0 {
			paths = append(paths, m.path())
		}
	}
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" || d.IsDir() {
			return skipped(d, err)
		}
		before, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(dir, filepath.Dir(file))
		if err != nil {
			return err
		}
		if !slices.Contains(paths, root+"/"+filepath.ToSlash(folder)) &&
			!slices.ContainsFunc(paths, func(path string) bool {
				return bytes.Contains(before, []byte(path+" v"))
			}) {
			return nil
		}
		after := pin(before, version, append([]string{root}, paths...)...)
		if bytes.Equal(before, after) {
			return nil
		}
		changed = append(changed, filepath.ToSlash(filepath.Join(folder, "go.mod")))
		if !write {
			return nil
		}

		return os.WriteFile(file, after, 0o644) // As go.mod files are.
	})

	return changed, err
}

// skipped skips folders without sources: the folders of git and of built files.
func skipped(d fs.DirEntry, err error) error {
	if err == nil && d.IsDir() && (d.Name() == "bin" ||
		d.Name() != "." && d.Name() != ".." && strings.HasPrefix(d.Name(), ".git")) {
		return filepath.SkipDir
	}

	return err
}

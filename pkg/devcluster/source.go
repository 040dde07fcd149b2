package devcluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

const (
	parentModule = "github.com/moorage-dev/moorage"
	module       = parentModule + "/devcluster"
)

// sources returns the folder of devcluster's sources. In a checkout of this repository, it is a folder of the checkout.
// Elsewhere, it is the module at the version of this library.
func sources(ctx context.Context) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("cannot look for a checkout: %w", err)
	}
	if found := checkout(dir); found != "" {
		return found, nil
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", errors.New("this program was built without module information; " + whatToDo)
	}
	library := libraryIn(info)
	if library == nil {
		library = libraryOf(ctx, dir)
	}
	return released(ctx, library)
}

const whatToDo = "run it in a checkout of " + parentModule + ", set " + EnvKubeconfig +
	" to use a cluster, or set " + EnvAssets + " to a folder that holds devcluster"

// checkout returns the first folder with devcluster's sources, from dir upward.
func checkout(dir string) string {
	for {
		if found := filepath.Join(dir, "devcluster"); moduleOf(found) == module {
			return found
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// moduleOf returns the module path in the go.mod of dir, or "".
func moduleOf(dir string) string {
	gomod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return ""
	}
	for s := bufio.NewScanner(bytes.NewReader(gomod)); s.Scan(); {
		if path, ok := strings.CutPrefix(strings.TrimSpace(s.Text()), "module "); ok {
			return strings.Trim(strings.TrimSpace(path), `"`)
		}
	}
	return ""
}

// released downloads the devcluster module in the version of this library. Both modules are tagged together.
func released(ctx context.Context, library *debug.Module) (string, error) {
	if library == nil {
		return "", errors.New("this program does not name its version of " + parentModule + "; " + whatToDo)
	}
	if library.Replace != nil {
		if found := checkout(library.Replace.Path); filepath.IsAbs(library.Replace.Path) && found != "" {
			return found, nil
		}
		library = library.Replace
	}
	if !strings.HasPrefix(library.Version, "v") {
		return "", fmt.Errorf("version %q of %s was not released; %s", library.Version, parentModule, whatToDo)
	}
	return download(ctx, module+"@"+library.Version)
}

func libraryIn(info *debug.BuildInfo) *debug.Module {
	all := append([]*debug.Module{&info.Main}, info.Deps...)
	if i := slices.IndexFunc(all, func(m *debug.Module) bool { return m.Path == parentModule }); i >= 0 {
		return all[i]
	}
	return nil
}

// libraryOf returns the version of this library that the module around dir requires, or nil. It is for test binaries,
// which do not contain the versions of their modules.
func libraryOf(ctx context.Context, dir string) *debug.Module {
	output, err := goOutput(ctx, dir, "list", "-m", "-json", parentModule)
	var found struct {
		Path, Version string
		Replace       *struct{ Path, Version, Dir string }
	}
	if err != nil || json.Unmarshal(output, &found) != nil {
		return nil
	}
	library := &debug.Module{Path: found.Path, Version: found.Version}
	if r := found.Replace; r != nil {
		library.Replace = &debug.Module{Path: r.Path, Version: r.Version}
		if r.Version == "" { // a folder, perhaps a relative one
			library.Replace.Path = r.Dir
		}
	}
	return library
}

// download returns the folder of a module in the module cache. The folder contains go.mod and go.sum, so the module is
// built there like a checkout.
func download(ctx context.Context, moduleAtVersion string) (string, error) {
	outside, err := os.MkdirTemp("", "devcluster-download-")
	if err != nil {
		return "", fmt.Errorf("cannot make a temporary folder: %w", err)
	}
	defer os.RemoveAll(outside)
	output, runErr := goOutput(ctx, outside, "mod", "download", "-json", moduleAtVersion)
	var answer struct{ Dir, Error string }
	switch err := json.Unmarshal(output, &answer); {
	case err == nil && answer.Error != "":
		return "", fmt.Errorf("cannot download %s: %s; %s", moduleAtVersion, answer.Error, whatToDo)
	case runErr != nil:
		return "", fmt.Errorf("cannot download %s: %w; %s", moduleAtVersion, runErr, whatToDo)
	case err != nil:
		return "", fmt.Errorf("cannot download %s: %w", moduleAtVersion, err)
	}
	return answer.Dir, nil
}

// fingerprint returns a hash of the sources in dir and of the strings in build. Two builds with the same fingerprint
// produce the same binary.
func fingerprint(dir string, build ...string) (string, error) {
	sum := sha256.New()
	for _, s := range build {
		fmt.Fprintf(sum, "%q\n", s)
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != dir && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !compiled(name) {
			return nil
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q\n", filepath.ToSlash(relative))
		return addFile(sum, path)
	})
	if err != nil {
		return "", fmt.Errorf("cannot hash the sources of devcluster: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

func compiled(name string) bool {
	return name == "go.mod" || name == "go.sum" ||
		strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

func addFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d\n", info.Size())
	_, err = io.Copy(w, f)
	return err
}

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/conformance"
)

const (
	tutorialPage = "docs/provider-by-hand.md"
	tutorialDir  = "internal/docs/tutorial"

	// The file of the tutorial that is on another page.
	conformancePage = "docs/test-your-provider.md"
	conformanceFile = "bucket/conformance_test.go"

	// The prefix of imports here, and in the module of a reader.
	ourPath    = `"github.com/moorage-dev/moorage/internal/docs/tutorial/`
	readerPath = `"example.org/provider-objectstore/`
)

// tutorialFiles returns the paths of the files that a reader writes, below the folder of the tutorial.
func tutorialFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	dir := filepath.Join(root, tutorialDir)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if name = filepath.ToSlash(name); name != conformanceFile {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tutorialRegions returns the files of the tutorial as a reader has them, each a block of code.
func tutorialRegions(t *testing.T) []region {
	t.Helper()
	out := []region{{conformancePage, conformanceFile, func(t *testing.T) string {
		return tutorialCode(t, conformanceFile)
	}}}
	for _, name := range tutorialFiles(t) {
		out = append(out, region{tutorialPage, name, func(t *testing.T) string { return tutorialCode(t, name) }})
	}
	return out
}

// tutorialCode returns a file of the tutorial as a block of code, with the imports of a reader.
func tutorialCode(t *testing.T, name string) string {
	t.Helper()
	return "```go\n" + strings.ReplaceAll(read(t, tutorialDir+"/"+name), ourPath, readerPath) + "```"
}

// conformanceProperties returns the table of the properties that the kit checks.
func conformanceProperties() string {
	var out [][]string
	for _, p := range conformance.Properties() {
		out = append(out, []string{"`" + p.Name + "`", p.Sentence})
	}
	return table([]string{"Property", "What holds"}, out)
}

// TestTutorialIsWhole checks the page as a reader copies it: each file is named above its code, and there is no other
// Go code.
func TestTutorialIsWhole(t *testing.T) {
	page := read(t, tutorialPage)
	named := regexp.MustCompile("(?m)^`([^`\n]+\\.go)`:\n\n<!-- generated: (.*) -->$")
	var files []string
	for _, m := range named.FindAllStringSubmatch(page, -1) {
		if m[1] != m[2] {
			t.Errorf("%s: the file named %s is %s", tutorialPage, m[1], m[2])
		}
		files = append(files, m[1])
	}
	slices.Sort(files)
	if diff := cmp.Diff(tutorialFiles(t), files); diff != "" {
		t.Errorf("%s: -folder, +page:\n%s", tutorialPage, diff)
	}
	code := 0
	for _, b := range blocks(page) {
		if b.info == "go" {
			code++
		}
	}
	if code != len(files) {
		t.Errorf("%s shows %d blocks of Go code and %d files", tutorialPage, code, len(files))
	}
}

// TestTutorialCommands checks that everything exists that the commands name: packages of this repository, the pinned
// versions of tools, and files.
func TestTutorialCommands(t *testing.T) {
	page := read(t, tutorialPage)
	ourProgram := regexp.MustCompile(`go run \S*github\.com/moorage-dev/moorage/([\w/]+)`)
	pinnedTool := regexp.MustCompile(`go run (sigs\.k8s\.io/controller-tools)/\S+@(\S+)`)
	ownPath := regexp.MustCompile(`-f (package/\w+)|go run (\./\S+)`)
	commands := 0
	for line := range strings.Lines(page) {
		command, ok := strings.CutPrefix(line, "    ")
		if !ok {
			continue
		}
		commands++
		for _, path := range ourProgram.FindAllStringSubmatch(command, -1) {
			if p, err := readSource(root, path[1]); err != nil || p.name() != "main" {
				t.Errorf("%s: %s is no program", tutorialPage, path[1])
			}
		}
		for _, tool := range pinnedTool.FindAllStringSubmatch(command, -1) {
			if !strings.Contains(read(t, "hack/tools/go.mod"), tool[1]+" "+tool[2]) {
				t.Errorf("%s: %s is pinned to another version than %s", tutorialPage, tool[1], tool[2])
			}
		}
		for _, dir := range ownPath.FindAllStringSubmatch(command, -1) {
			if _, err := os.Stat(filepath.Join(root, tutorialDir, dir[1]+dir[2])); err != nil {
				t.Errorf("%s: %v", tutorialPage, err)
			}
		}
	}
	if commands == 0 {
		t.Error("no command was found, so nothing was checked")
	}
}

// TestMakeTargets checks that the make targets exist that the pages name.
func TestMakeTargets(t *testing.T) {
	makefile := read(t, "Makefile")
	target := regexp.MustCompile("(?m)(?:^    |`)make (?:-C \\S+ )?([a-z]+)")
	pages := []string{tutorialPage, conditionsPage, "docs/lifecycle.md", "docs/migrating.md", "docs/README.md"}
	for _, page := range pages {
		for _, m := range target.FindAllStringSubmatch(read(t, page), -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: there is no target %q", page, m[1])
			}
		}
	}
}

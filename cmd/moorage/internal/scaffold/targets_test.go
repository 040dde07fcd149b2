//go:build !race

// As with golden_test.go, what runs here are other programs.

package scaffold_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// asksFor finds what is to be made where a file of a project speaks of it: in a line of its
// own, or as code or words in quotes.
var asksFor = regexp.MustCompile("(?m)^    make ([a-z]+)$|[`\"]make ([a-z]+)[`\"]|run: make ([a-z]+)$")

// TestTargets looks for every target that a project names in its README, its comments and its
// workflow, and lets make say what it would do; and it asks for the list of all, in which they
// are.
func TestTargets(t *testing.T) {
	p, err := with(t, cloud(), kinds(false)...).WithProviderConfig("v1alpha1")
	if err != nil {
		t.Fatal(err)
	}

	dir := generated(t, p)

	list, err := command(dir, "make").Output()
	if err != nil {
		t.Fatal(err)
	}

	named := map[string]string{} // where
	for _, f := range plan(t, nil, p) {
		if strings.HasPrefix(f.Path, ".moorage/") {
			continue // which are all of them again
		}

		for _, found := range asksFor.FindAllStringSubmatch(string(f.Content), -1) {
			named[strings.Join(found[1:], "")] = f.Path
		}
	}

	for target, where := range named {
		out, err := command(dir, "make", "-n", target).CombinedOutput()
		if err != nil || strings.Contains(string(out), "Nothing to be done") {
			t.Errorf("%s names make %s: %v\n%s", where, target, err, out)
		}

		if !strings.Contains(string(list), "  make "+target+" ") {
			t.Errorf("%s names make %s, and make does not list it:\n%s", where, target, list)
		}
	}

	want := []string{"build", "cluster", "fake", "generate", "lint", "run", "sample", "sbom", "test", "verify",
		"vulncheck"}
	if got := slices.Sorted(maps.Keys(named)); !slices.Equal(got, want) {
		t.Errorf("%q are named, want %q", got, want)
	}
}

// TestMakefileHasNoFlags leaves the flags of the go command to the author: with others than those of the shell and the
// editor each package is compiled twice.
func TestMakefileHasNoFlags(t *testing.T) {
	for _, f := range plan(t, nil, cloud()) {
		if f.Path == "Makefile" && regexp.MustCompile("GOFLAGS|CGO_ENABLED|-trimpath").Match(f.Content) {
			t.Errorf("it sets flags:\n%s", f.Content)
		}
	}
}

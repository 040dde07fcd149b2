package hygiene

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// claim matches the first line of a step in the output of a demo.
var claim = regexp.MustCompile(`(?m)^ +(\d+)/(\d+)  (.+)$`)

// concatenated is where a claim continues on the next line of the source.
var concatenated = regexp.MustCompile(`" \+\n\s*"`)

// TestExcerptsOfDemos checks that the README of each example with a tour shows steps of the
// tour, with the same claims, and its last line.
func TestExcerptsOfDemos(t *testing.T) {
	for example, tour := range map[string]string{
		"edge": "internal/tour", "provider-nats": "internal/tour", "service-provider": "", "syncer": "",
	} {
		dir := filepath.Join(root, "examples", example)
		text, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		steps, err := os.ReadFile(filepath.Join(dir, tour, "steps.go"))
		if err != nil {
			t.Fatal(err)
		}
		source := concatenated.ReplaceAllString(string(steps), "")
		shown := claim.FindAllStringSubmatch(string(text), -1)
		if len(shown) == 0 {
			t.Errorf("the README of %s shows no step", example)
		}
		for _, s := range shown {
			if !strings.Contains(source, fmt.Sprintf("%q", s[3])) {
				t.Errorf("the README of %s shows a step that there is not: %s", example, s[3])
			}
		}
		for _, says := range []string{"Ctrl-C ends it", "`ONCE=1` ends it after the last step"} {
			if !strings.Contains(string(text), says) {
				t.Errorf("the README of %s does not say %q", example, says)
			}
		}
	}
}

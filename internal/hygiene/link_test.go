package hygiene

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

var (
	inline    = regexp.MustCompile(`\]\(([^()\s]+)(?:\s+"[^"]*")?\)`)
	reference = regexp.MustCompile(`^\s{0,3}\[[^\]]+\]:\s+(\S+)`)
	heading   = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	code      = regexp.MustCompile("`[^`]*`")
	scheme    = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`)
)

// TestLinks follows the links between the files of the repository, down to the heading. It does not follow URLs.
func TestLinks(t *testing.T) {
	pages := files(t, func(name string) bool { return filepath.Ext(name) == ".md" })
	if len(pages) == 0 {
		t.Fatal("no page found: nothing was checked")
	}
	for _, page := range pages {
		for _, line := range broken(root, page) {
			t.Error(line)
		}
	}
}

// broken returns a line for each link of a page that leads nowhere.
func broken(root, page string) (out []string) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return []string{err.Error()}
	}
	for n, line := range prose(string(text)) {
		for _, target := range targets(line) {
			if why := follow(root, page, target); why != "" {
				out = append(out, fmt.Sprintf("%s:%d: %s: %s", page, n+1, target, why))
			}
		}
	}
	return out
}

// follow returns why a link leads nowhere, or "".
func follow(root, page, target string) string {
	if scheme.MatchString(target) {
		return ""
	}
	path, anchor, _ := strings.Cut(target, "#")
	if path == "" {
		path = filepath.Base(page)
	}
	dest := filepath.Join(filepath.Dir(page), path)
	if strings.HasPrefix(path, "/") || strings.HasPrefix(dest, "..") {
		return "it leads out of the repository"
	}
	info, err := os.Stat(filepath.Join(root, dest))
	switch {
	case err != nil:
		return "there is no such file"
	case anchor == "" || info.IsDir() || filepath.Ext(dest) != ".md":
		return ""
	}
	text, err := os.ReadFile(filepath.Join(root, dest))
	if err != nil {
		return err.Error()
	}
	if !anchors(string(text))[anchor] {
		return "the page has no such heading"
	}
	return ""
}

// prose returns the lines of a page, those in code blocks emptied.
func prose(text string) []string {
	all := strings.Split(text, "\n")
	fence := ""
	for i, line := range all {
		mark := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) {
				fence = ""
			}
			all[i] = ""
		case strings.HasPrefix(mark, "```"), strings.HasPrefix(mark, "~~~"):
			fence = mark[:3]
			all[i] = ""
		}
	}
	return all
}

// targets returns the targets of the links of a line.
func targets(line string) (out []string) {
	line = code.ReplaceAllString(line, "")
	for _, m := range inline.FindAllStringSubmatch(line, -1) {
		out = append(out, m[1])
	}
	if m := reference.FindStringSubmatch(line); m != nil {
		out = append(out, m[1])
	}
	return out
}

// anchors returns the anchors of the headings of a page: lower case, blanks as hyphens, without punctuation; a
// repeated one is numbered.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, line := range prose(text) {
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		name := slug
		for n := 1; out[name]; n++ {
			name = fmt.Sprintf("%s-%d", slug, n)
		}
		out[name] = true
	}
	return out
}

func TestBroken(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("other.md", "# The *other* `page`: 1.2\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n")
	write("page.md", strings.Join([]string{
		"# Top",
		"[a](other.md) [b](other.md#the-other-page-12) [c](#top) [d](https://example.org/x) [e](other.md#twice-1) [f](.)",
		"[gone](gone.md) and [heading](other.md#no-heading)",
		"`[code](gone.md)`",
		"```sh",
		"[block](gone.md)",
		"```",
		"[ref]: gone.md",
		`![picture](gone.png "title")`,
		"[out](../out.md) [self](#nowhere)",
	}, "\n"))
	want := []string{
		"page.md:3: gone.md: there is no such file",
		"page.md:3: other.md#no-heading: the page has no such heading",
		"page.md:8: gone.md: there is no such file",
		"page.md:9: gone.png: there is no such file",
		"page.md:10: ../out.md: it leads out of the repository",
		"page.md:10: #nowhere: the page has no such heading",
	}
	if diff := cmp.Diff(want, broken(dir, "page.md")); diff != "" {
		t.Errorf("broken(...): -want, +got:\n%s", diff)
	}
}

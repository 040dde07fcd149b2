package hygiene

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Words that must not be in the repository, whose readers have other machines and other tools.
var unwanted = []struct {
	what  string
	hints []string // each such word has one of them, and a search for them takes a tenth of the time
	word  *regexp.Regexp
}{
	// Not after a letter or a dot: import paths may have such an element.
	{"a path of one machine", []string{"/root/", "/work/", "/home/"},
		regexp.MustCompile(`(?:^|[^\w.$)}*/-])/(?:root|work|home)/`)},
	{
		"a module proxy", []string{".golang.org", "GOPROXY", "GOSUMDB", "GOFLAGS", "GONOSUM", "GOINSECURE"},
		regexp.MustCompile(`\b(?:proxy|sum)\.golang\.org\b|\bGO(?:PROXY|SUMDB|FLAGS=-mod|NOSUM\w+|INSECURE)=`),
	},
	{
		"a credential", []string{"PRIVATE KEY", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "AKIA"},
		regexp.MustCompile(`-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----|\bgh[pousr]_\w{30}|\bAKIA[0-9A-Z]{16}\b`),
	},
	{"work left for later", []string{"TO" + "DO", "FIX" + "ME", "XX" + "X"},
		regexp.MustCompile(`\b(?:TO` + `DO|FIX` + `ME|XX` + `X)\b`)},
}

// TestUnwantedWords reads every text file except those with the list of words.
func TestUnwantedWords(t *testing.T) {
	for _, name := range files(t, func(name string) bool { return name != "internal/hygiene/word_test.go" }) {
		text := read(t, name)
		if bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
			continue
		}
		for _, line := range found(name, string(text)) {
			t.Error(line)
		}
	}
}

// found returns a line for each unwanted word.
func found(name, text string) (out []string) {
	for _, u := range unwanted {
		if !containsOne(text, u.hints) {
			continue
		}
		n := 0
		for line := range strings.Lines(text) {
			n++
			if word := u.word.FindString(line); word != "" {
				out = append(out, fmt.Sprintf("%s:%d: %q: %s", name, n, strings.TrimSpace(word), u.what))
			}
		}
	}
	return out
}

func containsOne(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

func TestFound(t *testing.T) {
	text := strings.Join([]string{
		`import "cmd/go/internal/work/x"`,
		`dir := "/work/main"`,
		"see /root/go",
		"GOPROXY=https://example.org go build",
		"key: -----BEGIN PRIVATE KEY-----",
		"$HOME/work/x and ./root/y",
	}, "\n")
	want := []string{
		`x:2: "\"/work/": a path of one machine`,
		`x:3: "/root/": a path of one machine`,
		`x:4: "GOPROXY=": a module proxy`,
		`x:5: "-----BEGIN PRIVATE KEY-----": a credential`,
	}
	if diff := cmp.Diff(want, found("x", text)); diff != "" {
		t.Errorf("found(...): -want, +got:\n%s", diff)
	}
}

// parse returns a file as goFiles would.
func parse(t *testing.T, name, src string) goFile {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return goFile{name, []byte(src), fset, parsed}
}

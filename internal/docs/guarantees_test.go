package docs

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	guarantees  = "docs/guarantees.md"
	trackRecord = "docs/track-record.md"
)

// properties returns the table of the properties that the simulator checks, in the order of their names.
func properties() string {
	names := slices.SortedFunc(maps.Keys(sim.Properties), func(a, b string) int {
		return cmp.Or(-cmp.Compare(a[:1], b[:1]), cmp.Compare(number(a), number(b)))
	})
	var out [][]string
	for _, name := range names {
		out = append(out, []string{name, strings.ToUpper(sim.Properties[name][:1]) + sim.Properties[name][1:] + "."})
	}
	return table([]string{"Name", "Promise"}, out)
}

func number(name string) int {
	n, _ := strconv.Atoi(strings.TrimLeft(name, "SL")) // a name without a number comes first
	return n
}

// aFault matches the declaration of a kind of fault: with a comment above it, which begins with its identifier and a
// colon, or beside it.
var aFault = regexp.MustCompile(`(?m)^((?:\t// .*\n)*)\t\w+ +Kind = "([a-z-]+)"(?: +// (.*))?$`)

// faults returns the table of the faults, in the order of their declarations.
func faults(file string) string {
	var out [][]string
	for _, m := range aFault.FindAllStringSubmatch(file, -1) {
		text := m[3]
		if text == "" {
			_, text, _ = strings.Cut(strings.TrimSpace(strings.ReplaceAll(m[1], "\n\t//", "")), ": ")
		}
		out = append(out, []string{"`" + m[2] + "`", strings.ToUpper(text[:1]) + text[1:] + "."})
	}
	return table([]string{"Fault", "What happens"}, out)
}

func TestFaultsAreRead(t *testing.T) {
	got := faults("const (\n\tFail  Kind = \"fail\"  // an error\n" +
		"\t// Crash: it\n\t// dies\n\tCrash Kind = \"crash\"\n)\n")
	want := "| Fault | What happens |\n|---|---|\n| `fail` | An error. |\n| `crash` | It dies. |\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// corpus returns the table of the schedules that once failed. In the file a story stands above its schedules, with
// how it was found.
func corpus(file string) (string, error) {
	var (
		out   [][]string
		story []string
		by    string
	)
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		comment, isComment := strings.CutPrefix(line, "//")
		comment = strings.TrimSpace(comment)
		finder, found := strings.CutPrefix(comment, "by: ")
		switch text := strings.Join(story, " "); {
		case line == "":
			story, by = nil, ""
		case isComment && found:
			by = finder
		case isComment:
			story = append(story, comment)
		case len(story) == 0 || by == "":
			return "", errors.Errorf("%s: a story and a line \"// by: ...\", which says how it was found, have to stand "+
				"above each block of schedules", line)
		case len(out) == 0 || out[len(out)-1][0] != text:
			out = append(out, []string{text, by, "`" + line + "`"})
		default:
			out[len(out)-1][2] += "<br>`" + line + "`"
		}
	}
	return table([]string{"Defect", "Found by", "Found again by"}, out), nil
}

func TestCorpusIsRead(t *testing.T) {
	got, err := corpus("// head\n\n// One\n// story.\n// by: chance\na/named x#1:fail\nb/named\n\n// Another.\n// by: " +
		"a list\nc/opaque\n")
	want := "| Defect | Found by | Found again by |\n|---|---|---|\n" +
		"| One story. | chance | `a/named x#1:fail`<br>`b/named` |\n| Another. | a list | `c/opaque` |\n"
	if got != want || err != nil {
		t.Errorf("error %v, got\n%swant\n%s", err, got, want)
	}
	for name, file := range map[string]string{
		"no finder":       "// One story.\n// by: chance\na/named\n\n// Another.\nb/named\n",
		"an empty finder": "// One story.\n// by:\na/named\n",
		"no story":        "// by: chance\na/named\n\nb/named\n",
	} {
		if got, err := corpus(file); err == nil {
			t.Errorf("%s: no error, but\n%s", name, got)
		}
	}
}

// TestTrackRecord checks that the tests in the track record exist.
func TestTrackRecord(t *testing.T) {
	declared := map[string]bool{}
	var paths []string
	for _, dir := range []string{
		"pkg/reconciler/managed", "internal/trials", "internal/sim", "pkg/sim/apiserver", "pkg/meta", "pkg/connection",
		"pkg/conformance", "apis/common/v1",
		"examples/provider-nats/internal/child",
		"pkg/external", "pkg/controller", "pkg/clusters", "pkg/clusters/remote", "pkg/storecontroller",
		"pkg/store/natskv",
		"examples/provider-nats/internal/controller", "examples/provider-nats/internal/provider",
		"examples/provider-nats/internal/systemtest",
	} {
		more, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, more...)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(text, -1) {
			declared[string(m[1])] = true
		}
	}
	found := 0
	for _, r := range rows(read(t, trackRecord)) {
		by, ok := r.cell("Tested by")
		if !ok || !strings.HasPrefix(by, "`Test") && !strings.HasPrefix(by, "`Fuzz") {
			continue
		}
		found++
		for _, name := range spans(by) {
			if !declared[name] {
				t.Errorf("%s:%d: there is no test %s", trackRecord, r.line, name)
			}
		}
	}
	if found < 10 {
		t.Errorf("%s: %d rows name a test: the table was not read", trackRecord, found)
	}
}

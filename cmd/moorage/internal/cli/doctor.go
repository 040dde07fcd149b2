package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
)

type doctorCommand struct{}

// A tool is a program that a provider's author may need.
type tool struct {
	name    string
	version []string // arguments that make it tell its version, if that matters
	least   [2]int   // of the version
	needed  bool     // nothing goes without it
	use     string
	get     string
}

func tools() []tool {
	return []tool{
		{name: "go", version: []string{"env", "GOVERSION"}, least: [2]int{1, 26}, needed: true,
			use: "compiles everything", get: "https://go.dev/dl, or the packages of your system if they are new enough"},
		{name: "make", needed: true, use: "runs the targets of a provider", get: "the package make of your system"},
		{name: "bash", needed: true, use: "the Makefile's shell", get: "the package bash of your system"},
		{name: "git", use: "keeps what you do", get: "the package git of your system"},
		{name: "kubectl", use: "applies kinds and objects: make run, make sample", get: "https://kubernetes.io/docs/tasks/tools"},
		{name: "gcc", use: "the race detector: go test -race", get: "the package gcc or build-essential of your system"},
	}
}

// A finding is what is known of a tool on this machine.
type finding struct {
	tool

	found bool
	told  string // what it answered, if its version matters
}

// ill says what is wrong, or nothing.
func (f finding) ill() string {
	switch {
	case !f.found:
		return "missing"
	case f.version == nil:
		return ""
	}

	m := regexp.MustCompile(`(\d+)\.(\d+)`).FindStringSubmatch(f.told)
	if m == nil {
		return fmt.Sprintf("does not tell its version, but %q", f.told)
	}

	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])

	if major < f.least[0] || major == f.least[0] && minor < f.least[1] {
		return fmt.Sprintf("too old: %s, and %d.%d is needed", m[0], f.least[0], f.least[1])
	}

	return ""
}

// errUnwell is the failure of a machine on which something is missing. It was told.
var errUnwell = errors.New("something is missing that nothing goes without")

// Run looks at the machine.
func (c *doctorCommand) Run(in *invocation) error {
	var found []finding
	for _, t := range tools() {
		found = append(found, examine(in.ctx, t))
	}

	return diagnose(in, found)
}

func examine(ctx context.Context, t tool) finding {
	path, err := exec.LookPath(t.name)
	if err != nil {
		return finding{tool: t}
	}

	told := ""
	if t.version != nil {
		out, _ := exec.CommandContext(ctx, path, t.version...).CombinedOutput()
		told = strings.TrimSpace(string(out))
	}

	return finding{tool: t, found: true, told: told}
}

// diagnose says of each tool how it is, what it is for, and how to get it.
func diagnose(in *invocation, found []finding) error {
	table := tabwriter.NewWriter(in.out, 0, 0, 2, ' ', 0)
	unwell := false

	for _, f := range found {
		switch ill := f.ill(); {
		case ill == "":
			fmt.Fprintf(table, "ok\t%s\t%s\n", f.name, f.use)
		case f.needed:
			unwell = true

			fmt.Fprintf(table, "NEEDED\t%s\t%s; %s; get it: %s\n", f.name, f.use, ill, f.get)
		default:
			fmt.Fprintf(table, "without\t%s\t%s; %s; get it: %s\n", f.name, f.use, ill, f.get)
		}
	}

	if err := table.Flush(); err != nil || !unwell {
		return err
	}

	return errUnwell
}

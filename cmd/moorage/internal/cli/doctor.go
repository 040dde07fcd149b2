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

// A tool is a program that an author of a provider may need.
type tool struct {
	name    string
	version []string // arguments that print its version, if that matters
	least   [2]int   // of the version
	needed  bool     // required
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
		{name: "kubectl", use: "applies kinds and objects: make run, make sample",
			get: "https://kubernetes.io/docs/tasks/tools"},
		{name: "pg_config", use: "PostgreSQL: tests and demo of examples/provider-postgres",
			get: "on Debian and Ubuntu: apt-get install -y postgresql; elsewhere the server's package of your system"},
		{name: "gcc", use: "the race detector: go test -race", get: "the package gcc or build-essential of your system"},
	}
}

// A finding is the state of a tool on this machine.
type finding struct {
	tool

	found  bool
	answer string // output of the version command, if the version matters
}

// problem returns the problem with the tool, or "".
func (f finding) problem() string {
	switch {
	case !f.found:
		return "missing"
	case f.version == nil:
		return ""
	}

	m := regexp.MustCompile(`(\d+)\.(\d+)`).FindStringSubmatch(f.answer)
	if m == nil {
		return fmt.Sprintf("prints no version, but %q", f.answer)
	}

	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])

	if major < f.least[0] || major == f.least[0] && minor < f.least[1] {
		return fmt.Sprintf("too old: %s, and %d.%d is needed", m[0], f.least[0], f.least[1])
	}

	return ""
}

// errMissing is returned after missing required tools were printed.
var errMissing = errors.New("a required tool is missing")

// Run checks the tools on this machine.
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

	answer := ""
	if t.version != nil {
		out, _ := exec.CommandContext(ctx, path, t.version...).CombinedOutput()
		answer = strings.TrimSpace(string(out))
	}

	return finding{tool: t, found: true, answer: answer}
}

// diagnose prints each tool with its state, its use, and how to install it.
func diagnose(in *invocation, found []finding) error {
	table := tabwriter.NewWriter(in.out, 0, 0, 2, ' ', 0)
	missing := false

	for _, f := range found {
		switch problem := f.problem(); {
		case problem == "":
			fmt.Fprintf(table, "ok\t%s\t%s\n", f.name, f.use)
		case f.needed:
			missing = true

			fmt.Fprintf(table, "NEEDED\t%s\t%s; %s; get it: %s\n", f.name, f.use, problem, f.get)
		default:
			fmt.Fprintf(table, "without\t%s\t%s; %s; get it: %s\n", f.name, f.use, problem, f.get)
		}
	}

	if err := table.Flush(); err != nil || !missing {
		return err
	}

	return errMissing
}

//go:build !race

// The tests run other programs, which the race detector does not see: once is enough.

package cli_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/pinned"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

// page is the tutorial.
const page = "../../../../docs/write-a-provider.md"

// A step is one step of the page.
type step struct {
	line int

	file string // to write
	text string // of the file, or the commands
	said string // output of commands that run until Ctrl-C
	stop bool   // Ctrl-C
}

var (
	fileName = regexp.MustCompile("^`([^`]+)`:$")
	until    = regexp.MustCompile(`^<!-- until: (.*) -->$`)
)

// steps returns the steps of a page, in order.
func steps(text string) []step {
	var (
		out        []step
		file, said string
	)

	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		begin := i
		block := func(in func(string) bool) string {
			first := i
			for i < len(lines) && in(lines[i]) {
				i++
			}

			return strings.Join(lines[first:i], "\n") + "\n"
		}

		switch line := lines[i]; {
		case fileName.MatchString(line):
			file = fileName.FindStringSubmatch(line)[1]
		case until.MatchString(line):
			said = until.FindStringSubmatch(line)[1]
		case line == "<!-- ctrl-c -->":
			out = append(out, step{line: begin + 1, stop: true})
		case strings.HasPrefix(line, "```"):
			i++
			out = append(out, step{line: begin + 1, file: file, text: block(func(l string) bool { return l != "```" })})
			file = ""
		case strings.HasPrefix(line, "    "):
			out = append(out, step{line: begin + 1, said: said,
				text: block(func(l string) bool { return strings.HasPrefix(l, "    ") })})
			said = ""
		}
	}

	return out
}

// A terminal is in a folder and has variables.
type terminal struct {
	dir string
	env []string
}

// A reader follows the page in two terminals: the second does not have the variables of the first.
type reader struct {
	t             *testing.T
	first, second terminal

	other *exec.Cmd // running in the second terminal
	fake  string    // address of its fake
	said  *transcript
	ended chan int
}

// mostOfPage is the duration that the page promises, with everything compiled that a reader compiles once.
const mostOfPage = 15 * time.Minute

// TestPage follows the page to the letter.
func TestPage(t *testing.T) {
	wait.Allow(t, mostOfPage+compiling)

	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	checkout, err := filepath.Abs(filepath.Join(filepath.Dir(page), ".."))
	if err != nil {
		t.Fatal(err)
	}

	// Several tests may run on this machine: the fake has an address of its own.
	fake := freeAddress(t)
	env := append(os.Environ(),
		"MOORAGE="+checkout, "MOORAGE_FAKE="+fake, "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "MAKEFLAGS=",
		"MAKELEVEL=", "GOWORK=off",
		"GIT_AUTHOR_NAME=Author", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=Author",
		"GIT_COMMITTER_EMAIL=a@example.org")
	r := &reader{t: t, first: terminal{t.TempDir(), env}, second: terminal{env: slices.Clone(env)}, fake: fake}
	t.Cleanup(r.stop)

	files, commands, others, all := 0, 0, 0, time.Now()

	for _, s := range steps(string(text)) {
		begin := time.Now()

		switch {
		case s.stop:
			r.stop()
		case s.file != "":
			files++
			r.write(s)
		case s.said != "":
			others++
			r.start(s)
		default:
			commands++
			r.run(s)
		}

		t.Logf("%s:%d took %.1f s", filepath.Base(page), s.line, time.Since(begin).Seconds())
	}

	if files < 7 || commands < 5 || others != 2 {
		t.Errorf("%d files, %d blocks of commands and %d terminals were found: not all of the page was followed", files,
			commands, others)
	}

	took := time.Since(all)
	t.Logf("all of it took %.0f s, with what had to be compiled for it", took.Seconds())

	if *bounds && took > mostOfPage {
		t.Errorf("all of it took %s, more than %s", took, mostOfPage)
	}

	// The commit has exactly the files of the author, and no others are left.
	r.run(step{text: `test -z "$(git ls-files bin cluster files)$(git status --porcelain)"` + "\n"})
}

// run runs commands in the first terminal, which keeps its folder and its variables. The linters that make lint
// compiles are compiled here as well, and the time counts, but not while other tests compile them.
func (r *reader) run(s step) {
	r.t.Helper()

	if strings.Contains(s.text, " lint") {
		linters := step{line: s.line, text: "make bin/golangci-lint\n"}
		if err := pinned.Alone(func() error { return r.command(&r.first, linters) }); err != nil {
			r.t.Fatal(err)
		}
	}

	if err := r.command(&r.first, s); err != nil {
		r.t.Fatal(err)
	}
}

// command runs commands and keeps the changes to their terminal.
func (r *reader) command(in *terminal, s step) error {
	state := filepath.Join(r.t.TempDir(), "state")
	cmd := exec.CommandContext(wait.Context(r.t), "bash", "-euo", "pipefail", "-c", s.text+"pwd > "+state+"\nenv -0 >> "+
		state)
	cmd.Dir, cmd.Env = in.dir, in.env
	// All its child processes end with it: others wait for a linter, for example.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s:%d: %w\n%s%s", page, s.line, err, s.text, out)
	}

	after, err := os.ReadFile(state)
	if err != nil {
		return err
	}

	dir, env, _ := strings.Cut(string(after), "\n")
	in.dir, in.env = dir, strings.Split(strings.TrimSuffix(env, "\x00"), "\x00")

	return nil
}

// start runs commands in the second terminal, in the folder of the first, until the last of them prints the expected
// text.
func (r *reader) start(s step) {
	r.t.Helper()

	lines := strings.SplitAfter(strings.TrimSpace(s.text), "\n")
	last := len(lines) - 1
	r.second.dir = r.first.dir

	if err := r.command(&r.second, step{line: s.line, text: strings.Join(lines[:last], "")}); err != nil {
		r.t.Fatal(err)
	}

	r.said, r.ended = &transcript{}, make(chan int, 1)
	r.other = exec.Command("bash", "-c", "exec "+strings.TrimSpace(lines[last]))
	r.other.Dir, r.other.Env, r.other.Stdout, r.other.Stderr = r.second.dir, r.second.env, r.said, r.said
	r.other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a terminal does

	if err := r.other.Start(); err != nil {
		r.t.Fatal(err)
	}

	go func(cmd *exec.Cmd, ended chan<- int) {
		_ = cmd.Wait()
		ended <- cmd.ProcessState.ExitCode()
		close(ended) // later receives return at once
	}(r.other, r.ended)

	r.said.until(r.t, s.said, 1, r.ended)
}

// stop presses Ctrl-C in the other terminal: all its processes get the signal at once.
func (r *reader) stop() {
	if r.other == nil {
		return
	}

	_ = syscall.Kill(-r.other.Process.Pid, syscall.SIGINT)
	r.other = nil

	if code := <-r.ended; code != 0 {
		r.t.Errorf("it was ended by Ctrl-C, and its exit code is %d:\n%s", code, r.said)
	}

	if conn, err := net.Dial("tcp", r.fake); err == nil {
		_ = conn.Close()

		r.t.Errorf("it was ended by Ctrl-C, and its fake goes on:\n%s", r.said)
	}
}

// write writes a file or, for Go, declarations into one.
func (r *reader) write(s step) {
	r.t.Helper()

	path := filepath.Join(r.first.dir, filepath.FromSlash(s.file))

	was, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatalf("%s:%d: what is to be changed is not there: %v", page, s.line, err)
	}

	text := []byte(s.text)

	if strings.HasSuffix(path, ".go") {
		if text, err = splice(was, s.text); err != nil {
			r.t.Fatalf("%s:%d: %v", page, s.line, err)
		}
	}

	if err := os.WriteFile(path, text, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// splice puts declarations into a file, in place of those with the same names, or at its end.
func splice(file []byte, declarations string) ([]byte, error) {
	const clause = "package p\n"

	fresh, err := parser.ParseFile(token.NewFileSet(), "", clause+declarations, parser.ParseComments)
	if err != nil {
		return nil, err
	}

	for _, d := range fresh.Decls {
		set := token.NewFileSet()

		old, err := parser.ParseFile(set, "", file, parser.ParseComments)
		if err != nil {
			return nil, err
		}

		from, to := extent(d)
		text := (clause + declarations)[from-1 : to-1]

		i := slices.IndexFunc(old.Decls, func(o ast.Decl) bool { return name(o) == name(d) })
		if i < 0 {
			file = append(file, "\n"+text+"\n"...)

			continue
		}

		from, to = extent(old.Decls[i])
		file = slices.Concat(file[:from-1], []byte(text), file[to-1:])
	}

	return format.Source(file)
}

// name returns the identity of a declaration.
func name(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		var receiver bytes.Buffer
		if d.Recv != nil {
			_ = format.Node(&receiver, token.NewFileSet(), d.Recv.List[0].Type)
		}

		return receiver.String() + "." + d.Name.Name
	case *ast.GenDecl:
		switch s := d.Specs[0].(type) {
		case *ast.TypeSpec:
			return s.Name.Name
		case *ast.ValueSpec:
			return s.Names[0].Name
		}
	}

	return fmt.Sprintf("%T", d.(*ast.GenDecl).Specs[0]) // imports
}

// extent returns the range of a declaration, with its comment.
func extent(d ast.Decl) (from, to token.Pos) {
	from = d.Pos()

	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc != nil {
			from = d.Doc.Pos()
		}
	case *ast.GenDecl:
		if d.Doc != nil {
			from = d.Doc.Pos()
		}
	}

	return from, d.End()
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// page has the commit on which each part last passed. The hash of a tree does not include it, because the proof writes
// it.
const page = "docs/proof.md"

// A result is the outcome of one run of a part.
type result struct {
	Part    string
	Passed  bool
	Why     string // the reason of a failure
	Seconds float64
	Figures map[string]float64
	Commit  string
	Day     string
}

// A proof is the set of results of one tree.
type proof struct {
	tree   string // see treeHash
	folder string // of results: bin/proof/TREE-GO
	commit string // or the tree, if that is not committed
	page   string // see page
	parts  []part
	run    func(ctx context.Context, p part, out io.Writer) error
}

// newProof reads the results of the current tree, including uncommitted changes.
func newProof(ctx context.Context) (*proof, error) {
	tree, err := treeHash(ctx)
	if err != nil {
		return nil, err
	}
	commit, err := git(ctx, nil, "rev-parse", "--short=9", "HEAD")
	if err != nil {
		return nil, err
	}
	if head, err := hashOf(ctx, "HEAD", false); err != nil || head != tree {
		commit = "tree " + tree[:9]
	}
	with, err := toolchain(ctx)
	if err != nil {
		return nil, err
	}
	tests, err := readList()
	if err != nil {
		return nil, err
	}
	p := &proof{
		tree: tree, folder: filepath.Join("bin", "proof", tree+"-"+with), commit: commit,
		page: page, parts: parts,
	}
	p.run = func(ctx context.Context, of part, out io.Writer) error { return runPart(ctx, of, tests, out) }
	return p, os.MkdirAll(p.folder, 0o750)
}

// prove runs the named parts, or all, except those that have passed on this tree, and prints the table.
func (p *proof) prove(ctx context.Context, names []string, w io.Writer) error {
	asked, err := p.choose(names)
	if err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(filepath.Dir(p.folder), "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	p.announce(w, asked)
	for _, part := range asked {
		if r, ok := p.known(part.name); ok && r.Passed {
			continue
		}
		r := p.try(ctx, part, w)
		if ctx.Err() != nil {
			return errors.New("stopped: the same command goes on with this part")
		}
		if key, err := treeHash(ctx); err != nil || key != p.tree {
			return errors.Join(err, fmt.Errorf("the tree changed while %s ran: its result is of no tree, and is not kept (%s)",
				part.name, cmp.Or(r.Why, "it would have passed")))
		}
		if err := p.keep(r); err != nil {
			return err
		}
		if err := p.writePage(); err != nil {
			return err
		}
	}
	return p.report(w, asked)
}

// choose returns the parts with the names. Without names it returns all parts.
func (p *proof) choose(names []string) ([]part, error) {
	if len(names) == 0 {
		return p.parts, nil
	}
	var chosen []part
	for _, name := range names {
		i := slices.IndexFunc(p.parts, func(of part) bool { return of.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no part %q of the proof; there are: %s", name,
				strings.Join(p.names(), " "))
		}
		if slices.ContainsFunc(chosen, func(of part) bool { return of.name == name }) {
			continue
		}
		chosen = append(chosen, p.parts[i])
	}
	return chosen, nil
}

func (p *proof) names() []string {
	names := make([]string, len(p.parts))
	for i, of := range p.parts {
		names[i] = of.name
	}
	return names
}

// announce prints the parts that are left to run.
func (p *proof) announce(w io.Writer, asked []part) {
	minutes, left := 0, []string{}
	for _, part := range asked {
		if r, ok := p.known(part.name); ok && r.Passed {
			fmt.Fprintf(w, "%s has passed on this tree already\n", part.name)
			continue
		}
		minutes += part.minutes
		left = append(left, part.name)
	}
	if len(left) > 0 {
		fmt.Fprintf(w, "left: %s; about %d minutes on two idle cores, with what is compiled once\n",
			strings.Join(left, ", "),
			minutes)
	}
}

// try runs a part and compares the figures in its output with their bounds.
func (p *proof) try(ctx context.Context, part part, w io.Writer) result {
	fmt.Fprintf(w, "\n### proof: %s: %s\n", part.name, part.what)
	began := time.Now()
	r := result{
		Part: part.name, Commit: p.commit, Day: began.UTC().Format(time.DateOnly),
		Figures: map[string]float64{},
	}
	log, err := os.Create(filepath.Join(p.folder, part.name+".log"))
	if err == nil {
		defer log.Close()
		err = p.run(ctx, part, io.MultiWriter(w, log, &figures{of: r.Figures}))
	}
	r.Seconds = time.Since(began).Seconds()
	switch broken := part.broken(r.Figures); {
	case err != nil:
		r.Why = err.Error()
	case broken != "":
		r.Why = broken
	default:
		r.Passed = true
	}
	return r
}

// runPart runs the listed tests of a part, then its target.
func runPart(ctx context.Context, part part, tests []listed, out io.Writer) error {
	commands := commandsOf(tests, part.name)
	if part.runsListed {
		commands = nil
	}
	for _, c := range commands {
		var printed strings.Builder
		if err := runTo(exec.CommandContext(ctx, "go", c.args()...), io.MultiWriter(out, &printed)); err != nil {
			return fmt.Errorf("tests of %s: %w", c.folder, err)
		}
		if missing := c.missing(printed.String()); len(missing) > 0 {
			return fmt.Errorf("tests of %s: these did not run: %s", c.folder, strings.Join(missing, ", "))
		}
	}
	if part.target == "" {
		return nil
	}
	return runTo(exec.CommandContext(ctx, "make", part.target), out)
}

// sizes are the variables of the Makefile that determine the length of a part. A proof uses the values in the Makefile
// and ignores those of the caller.
var sizes = []string{"FUZZTIME", "FUZZBOUND", "SIMDEPTH", "SIMSEEDS", "DOUBTDEPTH", "ROUNDS", "OBJECTS", "STORM",
	"SEED", "MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKEFILES", "GODEBUG"}

// flags are the build flags in the Makefile. A proof ignores those of the caller.
var flags = []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off"}

// runTo runs a command and prints it and what it prints.
func runTo(cmd *exec.Cmd, out io.Writer) error {
	cmd.Env = slices.DeleteFunc(cmd.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(sizes, name)
	})
	cmd.Env = append(cmd.Env, flags...)
	fmt.Fprintf(out, "$ %s\n", strings.Join(cmd.Args, " "))
	cmd.Stdout, cmd.Stderr = out, out
	endTogether(cmd)
	return cmd.Run()
}

// broken returns the figures that exceed their bounds, or "". A missing figure counts as such.
func (p part) broken(figures map[string]float64) string {
	var broken []string
	for _, b := range p.bounds {
		n, ok := figures[b.figure]
		if !ok {
			broken = append(broken, b.figure+" was not printed")
		} else if n < b.least || n > b.most {
			broken = append(broken, fmt.Sprintf("%s is %s, and the bound %s", b.figure, number(n), b))
		}
	}
	return strings.Join(broken, "; ")
}

func (b bound) String() string {
	switch {
	case b.least == b.most:
		return number(b.least)
	case b.most > 1e300:
		return ">= " + number(b.least)
	default:
		return "<= " + number(b.most)
	}
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// A figures collects the lines "figure: number" that are written to it.
type figures struct {
	of   map[string]float64
	rest []byte
}

// figure matches the line of a figure, which may follow the position at the beginning of a line in a test's log.
var figure = regexp.MustCompile(`^(?: *\S+\.go:\d+: )?([a-z][a-z_]*): ([0-9][0-9.]*)(?:\s|$)`)

func (f *figures) Write(text []byte) (int, error) {
	f.rest = append(f.rest, text...)
	for {
		line, rest, whole := strings.Cut(string(f.rest), "\n")
		if !whole {
			return len(text), nil
		}
		f.rest = []byte(rest)
		if m := figure.FindStringSubmatch(line); m != nil {
			if n, err := strconv.ParseFloat(m[2], 64); err == nil {
				f.of[m[1]] = n
			}
		}
	}
}

func (p *proof) known(name string) (r result, ok bool) {
	text, err := os.ReadFile(filepath.Join(p.folder, name+".json"))
	return r, err == nil && json.Unmarshal(text, &r) == nil
}

func (p *proof) keep(r result) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.folder, r.Part+".json"), append(text, '\n'), 0o600)
}

// report prints the table of this tree, and fails unless all requested parts have passed.
func (p *proof) report(w io.Writer, asked []part) error {
	fmt.Fprintf(w, "\nproof of %s\n\n", p.commit)
	var missing []string
	for _, of := range p.parts {
		r, ok := p.known(of.name)
		state := "not run"
		if ok && r.Passed {
			state = "passed"
		} else if ok {
			state = "FAILED"
		}
		fmt.Fprintf(w, "%-12s %-8s %6.0f s  %s\n", of.name, state, r.Seconds, of.boundedFigures(r.Figures))
		if r.Why != "" {
			fmt.Fprintf(w, "%-12s %s\n", "", r.Why)
		}
		if state != "passed" && slices.ContainsFunc(asked, func(a part) bool { return a.name == of.name }) {
			missing = append(missing, of.name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("these parts have not passed: %s; their output is in %s", strings.Join(missing, ", "),
			p.folder)
	}
	return nil
}

// boundedFigures returns the figures that have bounds, with their bounds.
func (p part) boundedFigures(figures map[string]float64) string {
	var texts []string
	for _, b := range p.bounds {
		if n, ok := figures[b.figure]; ok {
			texts = append(texts, fmt.Sprintf("%s %s (%s)", b.figure, number(n), b))
		}
	}
	return strings.Join(texts, ", ")
}

// row matches a row of the page: a part, what it shows, the commit and the day of its last pass, its duration in
// minutes, and its figures.
var row = regexp.MustCompile(`(?m)^\| ([a-z-]+) \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$`)

// writePage writes the results of this tree into the page; the rows of other parts stay.
func (p *proof) writePage() error {
	old, err := os.ReadFile(p.page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	rows := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(old), -1) {
		rows[m[1]] = m[0]
	}
	var b strings.Builder
	head, _, _ := strings.Cut(string(old), "| part |")
	b.WriteString(head)
	b.WriteString(
		"| part | what it shows | last passed on | day | minutes | figures and bounds |\n|---|---|---|---|---|---|\n")
	for _, part := range p.parts {
		r, ok := p.known(part.name)
		switch {
		case ok && r.Passed:
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %.0f | %s |\n", part.name, part.what, r.Commit, r.Day,
				math.Ceil(r.Seconds/60), part.boundedFigures(r.Figures))
		case rows[part.name] != "":
			b.WriteString(rows[part.name] + "\n")
		default:
			fmt.Fprintf(&b, "| %s | %s | not run yet | | | |\n", part.name, part.what)
		}
	}
	if b.String() == string(old) {
		return nil
	}
	return os.WriteFile(p.page, []byte(b.String()), 0o644) // a page
}

// unproven prints the parts that have not passed on this tree, with the commit on which each last did.
func (p *proof) unproven(w io.Writer) error {
	text, err := os.ReadFile(p.page)
	if err != nil {
		return err
	}
	last := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		last[m[1]] = m
	}
	for _, part := range p.parts {
		if r, ok := p.known(part.name); ok && r.Passed {
			continue
		}
		m := last[part.name]
		if m == nil || m[4] == "" {
			fmt.Fprintf(w, "%-12s not run on this tree, and never before: %s\n", part.name, part.what)
			continue
		}
		fmt.Fprintf(w, "%-12s not run on this tree; last passed on %s, %s: %s\n", part.name, m[3], m[4], part.what)
	}
	return nil
}

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/internal/hygiene/measure"
)

// The last rows of the table, which the text of a tree does not show.
const notInText = 1

// TestBarsAreMeasured finds rows that count by a name that is gone.
func TestBarsAreMeasured(t *testing.T) {
	tree, err := measure.Read("../../..")
	if err != nil {
		t.Fatal(err)
	}
	all := bars(tree)
	for _, b := range all[:len(all)-notInText] {
		if b.is == unknown {
			t.Errorf("%q is not found any more: look in internal/hygiene/shape for the name that it is counted by", b.what)
		}
	}
}

func TestListNamesTheGates(t *testing.T) {
	var out bytes.Buffer
	err := run(&out, "../../..", "poetry", nil)
	if err == nil || !strings.Contains(err.Error(), "comments, globals") {
		t.Errorf("run(... poetry): got error %v, want one that names the gates", err)
	}
}

// A pass with one of each thing that is counted.
const pass = `package managed

import (
	"errors"

	"example.org/lifecycle"
	"example.org/reconcile"
)

var errStop = errors.New("stop")

var errPlain = errors.New("plain")

type putOff struct{}

func (putOff) Error() string { return "" }

var errGone, errFenced = &halt{}, &halt{}

type halt struct{}

func (*halt) Error() string { return "" }

type droppedError struct{}

func (droppedError) Error() string { return "" }

var failureClasses = []func(error) bool{isDropped}

func isDropped(err error) bool { return errors.As(err, new(droppedError)) }

type Reconciler struct{ made int }

type memory struct{ made int }

type pass struct {
	memo     *memory
	external Client
	seen     bool
}

func (r *Reconciler) Reconcile() (reconcile.Result, error) {
	p := &pass{}
	p.run()
	return reconcile.Result{Requeue: true}, p.report(nil)
}

func (p *pass) run() error {
	f := p.facts()
	if lifecycle.Decide(f) {
		return errStop
	}
	if f.Seen {
		return &droppedError{}
	} else if p.seen {
		return errGone
	}
	return &putOff{}
}

func (p *pass) facts() (f lifecycle.Facts) {
	f.Seen = p.window()
	return f
}

func (p *pass) window() bool {
	p.seen, p.memo.made = true, 1
	return p.seen
}

func (p *pass) report(err error) error {
	if errors.Is(err, errStop) || errors.Is(err, errGone) || errors.As(err, new(putOff)) {
		return p.undo()
	}
	return errPlain
}

func (p *pass) undo() error { return p.external.Delete() }
`

const decide = `package lifecycle

type Class int

const (
	A Class = iota
	B
	C
)

type Facts struct {
	Seen  bool
	Class Class
	May   struct{ A, B bool }
}

func Decide(f Facts) bool {
	switch {
	case f.Seen && f.May.A || f.May.B:
		return true
	}
	return false
}
`

func TestPassBars(t *testing.T) {
	tree, err := measure.FromFiles(map[string]string{
		"pkg/reconciler/managed/pass.go":                      pass,
		"pkg/reconciler/managed/internal/lifecycle/decide.go": decide,
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := measure.LineCount([]byte(pass + decide))
	m, l := tree.Package(managedDir), tree.Package(lifecycleDir)
	want := map[string]int{
		"methods of pass":            5,
		"files with methods of pass": 1,
		"files of Reconcile, run, facts, Decide, report and of the methods that these call": 2,
		"lines of those files":                                                                  lines,
		"functions of managed that build a reconcile.Result":                                    1,
		"calls of the external system that report reaches":                                      1,
		"assignments to a pass or its memory that facts reaches":                                2,
		"errors of managed that are control flow":                                               3,
		"ends of a pass outside decisions: those errors returned, results built outside report": 3,
		"words with several meanings in managed, of the ten that had":                           2,
		"calls of lifecycle.Decide":                                                             1,
		"combinations of facts, as the power of two that they do not exceed":                    5,
		"branches of the largest function of the decision":                                      3,
	}
	got := map[string]int{}
	for _, b := range append(passBars(m, l), decisionBars(m, l)...) {
		got[b.what] = b.is
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

package managed

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// TestEveryDecisionIsExecuted verifies that every action has a method, that an action has an outcome exactly if it
// ends the pass, and that each admission of an object that was read has an outcome: without one, the zero value would
// release the object. Reconcile ends nothing.
func TestEveryDecisionIsExecuted(t *testing.T) {
	for _, a := range lifecycle.Actions() {
		if steps[a] == nil {
			t.Errorf("%s has no method", a)
		}
		_, ends := endings[a]
		if want := a.Ends(); ends != want {
			t.Errorf("%s has an outcome: %t, want %t", a, ends, want)
		}
	}
	for a := range lifecycle.Admission(64) {
		f := lifecycle.AdmitFacts{Reading: lifecycle.Found}
		decided := false
		for bits := range 1 << 6 {
			f.Paused, f.Invalid, f.Deleted = bits&1 != 0, bits&2 != 0, bits&4 != 0
			f.HasFinalizer, f.MayDelete, f.Deferrable = bits&8 != 0, bits&16 != 0, bits&32 != 0
			decided = decided || lifecycle.Admit(f) == a
		}
		ending, ends := unadmitted[a]
		if want := decided && a != lifecycle.Reconcile; ends != want {
			t.Errorf("%s has an outcome: %t, want %t", a, ends, want)
		}
		if ends && (ending.requeue == never) != (a == lifecycle.Orphan) {
			t.Errorf("%s releases the object: %t", a, ending.requeue == never)
		}
	}
}

// sharedNames are the names of two outcomes each. Metrics do not distinguish them.
var sharedNames = map[string][]row{
	"publish-failed": {publishing, awaitingCollection}, "rested": {ignored, unclaimed},
	"result-failed": {recording, rereading},
}

// TestEveryOutcomeHasOneRow verifies that each row has a name of its own, that at most one row belongs to a decision,
// and that each silent conclusion has a row.
func TestEveryOutcomeHasOneRow(t *testing.T) {
	rows := map[any][]row{}
	for i, o := range outcomes {
		r := row(i)
		if (o.name == "") != (r == 0) {
			t.Errorf("row %d is named %q", r, o.name)
		}
		rows[o.name] = append(rows[o.name], r)
		decisions := 0
		if o.admission != lifecycle.Reconcile {
			rows[o.admission], decisions = append(rows[o.admission], r), decisions+1
		}
		if o.action != 0 {
			rows[o.action], decisions = append(rows[o.action], r), decisions+1
		}
		if o.conclusion != lifecycle.WriteStatus {
			rows[o.conclusion], decisions = append(rows[o.conclusion], r), decisions+1
		}
		if decisions > 1 {
			t.Errorf("%s belongs to %d decisions", o.name, decisions)
		}
		if refinements[r] != nil && o.admission == 0 && o.action == 0 {
			t.Errorf("%s has a refinement that is never called", o.name)
		}
	}
	for key, has := range rows {
		name, _ := key.(string)
		if len(has) > 1 && !slices.Equal(has, sharedNames[name]) {
			t.Errorf("%v has the rows %v, want one", key, has)
		}
	}
	uses := []lifecycle.Conclusion{ // which has another outcome
		lifecycle.WriteStatus, lifecycle.UndoCreate, lifecycle.Report, lifecycle.Requeue, lifecycle.Finish,
	}
	for c := lifecycle.WriteStatus; c <= lifecycle.Interrupt; c++ {
		if _, has := concluded[c]; has == slices.Contains(uses, c) {
			t.Errorf("conclusion %d has a row: %t", c, has)
		}
	}
}

// TestEveryOutcomeIsARow verifies that code uses each row that belongs to no decision, and that outcomes come from the
// table: no other code names an outcome.
func TestEveryOutcomeIsARow(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var table *ast.File
	used, fset := map[string]bool{}, token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if name == "outcome.go" {
			table = file

			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if what := namesOutcome(n); what != "" {
				t.Errorf("%s: %s", fset.Position(n.Pos()), what)
			}
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = true
			}

			return true
		})
	}
	for name, r := range rowsOf(table) {
		if o := outcomes[r]; o.admission == 0 && o.action == 0 && o.conclusion == 0 && !used[name] {
			t.Errorf("no code uses the row %s", name)
		}
	}
}

// namesOutcome reports what is wrong with code that makes an outcome outside of the table.
func namesOutcome(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CompositeLit:
		if id, ok := n.Type.(*ast.Ident); ok && id.Name == "outcome" && len(n.Elts) > 0 {
			return "an outcome that is no row of the table"
		}
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			s, ok := to.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "outcomeLabel" || i >= len(n.Rhs) {
				continue
			}
			if from, ok := n.Rhs[i].(*ast.SelectorExpr); !ok || from.Sel.Name != "name" {
				return "a label that is not the name of an outcome"
			}
		}
	}

	return ""
}

// rowsOf returns the constants that are keys of the table, with their values.
func rowsOf(table *ast.File) map[string]row {
	rows, next := map[string]row{}, row(1)
	for _, decl := range table.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			if name := spec.(*ast.ValueSpec).Names[0].Name; name != "lastRow" {
				rows[name] = next
				next++
			}
		}
	}

	return rows
}

package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"unicode"
)

// A words value says what the names in a decision mean, from the comments beside them.
type words struct {
	facts   []named // in the order they are declared in
	actions []named
	allowed string // what the permissions are
	goOn    string // what is said of all actions
}

// A named is a name and what its comment says.
type named struct{ name, says string }

func find(list []named, name string) (string, bool) {
	for _, n := range list {
		if n.name == name {
			return n.says, true
		}
	}
	return "", false
}

// readWords reads the facts and the actions.
func readWords(file *ast.File) words {
	var w words
	ast.Inspect(file, func(n ast.Node) bool {
		d, ok := n.(*ast.GenDecl)
		if !ok {
			return true
		}
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				w.readType(s, d.Doc)
			case *ast.ValueSpec:
				if d.Tok == token.CONST && s.Names[0].IsExported() {
					w.actions = append(w.actions, named{s.Names[0].Name, sentence(s.Comment)})
					w.goOn = strings.TrimPrefix(flat(d.Doc), "The actions. ")
				}
			}
		}
		return false
	})
	return w
}

func (w *words) readType(s *ast.TypeSpec, doc *ast.CommentGroup) {
	body, ok := s.Type.(*ast.StructType)
	switch {
	case !ok:
	case s.Name.Name == "Permissions":
		w.allowed = strings.TrimSuffix(strings.TrimPrefix(flat(doc), "Permissions are "), ".")
	case s.Name.Name == "Facts":
		for _, field := range body.Fields.List {
			says := sentence(field.Comment)
			if says == "" && field.Doc != nil {
				says = sentence(field.Doc)
			}
			for _, name := range field.Names {
				_, own, prefixed := strings.Cut(says, name.Name+": ")
				if prefixed {
					says = upper(own)
				}
				w.facts = append(w.facts, named{name.Name, says})
			}
		}
	}
}

func flat(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }

// sentence returns the first one of a comment.
func sentence(doc *ast.CommentGroup) string {
	text := flat(doc)
	if end := strings.Index(text, ". "); end >= 0 {
		text = text[:end+1]
	}
	return text
}

func upper(s string) string { return changeFirst(s, unicode.ToUpper) }
func lower(s string) string { return changeFirst(s, unicode.ToLower) }

func changeFirst(s string, change func(rune) rune) string {
	for i, r := range s {
		return string(change(r)) + s[i+len(string(r)):]
	}
	return s
}

// A decision is a switch whose first case that holds wins.
type decision struct {
	name  string
	says  string // its comment
	cases []choice
}

// A choice is one case: what has to hold, and what follows: an action, or the name of another decision.
type choice struct {
	condition ast.Expr // nil: otherwise
	action    string
	next      string
}

// readDecisions reads the functions that consist of one switch.
func readDecisions(file *ast.File) ([]decision, error) {
	var out []decision
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		body, ok := fn.Body.List[0].(*ast.SwitchStmt)
		if !ok || len(fn.Body.List) != 1 {
			return nil, fmt.Errorf("%s is not one switch: teach internal/docs to read it", fn.Name.Name)
		}
		d := decision{name: fn.Name.Name, says: upper(strings.TrimPrefix(flat(fn.Doc), fn.Name.Name+": "))}
		for _, stmt := range body.Body.List {
			c, err := readChoice(stmt.(*ast.CaseClause))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", fn.Name.Name, err)
			}
			d.cases = append(d.cases, c)
		}
		out = append(out, d)
	}
	return out, nil
}

func readChoice(clause *ast.CaseClause) (choice, error) {
	var c choice
	if len(clause.List) > 1 || len(clause.Body) != 1 {
		return c, fmt.Errorf("a case is more than a condition and a return: teach internal/docs to read it")
	}
	if len(clause.List) == 1 {
		c.condition = clause.List[0]
	}
	ret, ok := clause.Body[0].(*ast.ReturnStmt)
	if !ok {
		return c, fmt.Errorf("a case does not return: teach internal/docs to read it")
	}
	switch r := ret.Results[0].(type) {
	case *ast.Ident:
		c.action = r.Name
	case *ast.CallExpr:
		c.next = r.Fun.(*ast.Ident).Name
	default:
		return c, fmt.Errorf("a case returns neither an action nor a decision: teach internal/docs to read it")
	}
	return c, nil
}

// phrase writes a condition, each fact as say has it. A fact that is one of several states is
// said as "fact=state".
func phrase(e ast.Expr, say func(fact string, holds bool) (string, error)) (string, error) {
	switch e := e.(type) {
	case nil:
		return "otherwise", nil
	case *ast.ParenExpr:
		inner, err := phrase(e.X, say)
		return "(" + inner + ")", err
	case *ast.UnaryExpr:
		return say(fact(e.X), false)
	case *ast.SelectorExpr:
		return say(fact(e), true)
	case *ast.BinaryExpr:
		if e.Op == token.EQL || e.Op == token.NEQ { // a fact that is no yes or no
			return say(fact(e.X)+"="+e.Y.(*ast.Ident).Name, e.Op == token.EQL)
		}
		left, err := phrase(e.X, say)
		if err != nil {
			return "", err
		}
		right, err := phrase(e.Y, say)
		if e.Op == token.LAND {
			return left + " and " + right, err
		}
		return left + ", or " + right, err
	default:
		return "", fmt.Errorf("a condition is made of more than facts: teach internal/docs to read it")
	}
}

// fact returns the name of one: f.May.Create is May.Create.
func fact(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if inner := fact(s.X); inner != "" {
		return inner + "." + s.Sel.Name
	}
	return s.Sel.Name
}

// name says a fact by its name.
func (w words) name(fact string, holds bool) (string, error) {
	if state, is, some := strings.Cut(fact, "="); some {
		fact = state + " is " + is
		if !holds {
			fact = state + " is not " + is
		}

		return fact, nil
	}
	if holds {
		return fact, nil
	}
	return "not " + fact, nil
}

// meaning says a fact by what its comment says.
func (w words) meaning(fact string, holds bool) (string, error) {
	if of, action, nested := strings.Cut(fact, "."); nested {
		return w.permission(of, lower(action), holds)
	}
	says, ok := find(w.facts, fact)
	if _, is, some := strings.Cut(fact, "="); some {
		says, ok = find(w.actions, is) // the states stand among them
	}
	if !ok || says == "" {
		return "", fmt.Errorf("the fact %q has no comment that says what it means", fact)
	}
	if !holds {
		return "it is not so that " + w.brief(says), nil
	}
	return w.brief(says), nil
}

// permission says what is allowed, from the comment "Permissions are what ... allow."
func (w words) permission(of, action string, holds bool) (string, error) {
	who, what := strings.CutPrefix(w.allowed, "what ")
	who, allow := strings.CutSuffix(who, " allow")
	if _, ok := find(w.facts, of); !ok || !what || !allow {
		return "", fmt.Errorf("the permissions %s have no comment that says what they are: %q", of, w.allowed)
	}
	if !holds {
		return who + " do not allow to " + action, nil
	}
	return who + " allow to " + action, nil
}

// brief returns what a fact says without what follows from it, as it stands inside a sentence.
func (w words) brief(says string) string {
	for _, consequence := range []string{": ", ", so that "} {
		says, _, _ = strings.Cut(says, consequence)
	}
	first, _, _ := strings.Cut(says, " ")
	if _, action := find(w.actions, first); !action {
		says = lower(says)
	}
	return strings.TrimSuffix(says, ".")
}

// render writes the decisions as tables.
func (w words) render(ds []decision) (string, error) {
	var b strings.Builder
	for _, d := range ds {
		var out [][]string
		for i, c := range d.cases {
			line, err := w.line(c)
			if err != nil {
				return "", fmt.Errorf("%s: %w", d.name, err)
			}
			out = append(out, append([]string{fmt.Sprint(i + 1)}, line...))
		}
		fmt.Fprintf(&b, "### `%s`\n\n%s\n\n%s\n", d.name, d.says, table([]string{"#", "If", "Then", "What that means"}, out))
	}
	return b.String(), nil
}

func (w words) line(c choice) ([]string, error) {
	names, err := phrase(c.condition, w.name)
	if err != nil {
		return nil, err
	}
	if c.next != "" {
		return []string{names, "see `" + c.next + "`", ""}, nil
	}
	does, ok := find(w.actions, c.action)
	if !ok || does == "" {
		return nil, fmt.Errorf("the action %s has no comment that says what it does", c.action)
	}
	means := does
	if c.condition != nil {
		meaning, err := phrase(c.condition, w.meaning)
		if err != nil {
			return nil, err
		}
		means = "If " + meaning + ": " + lower(does)
	}
	return []string{names, "**" + c.action + "**", means}, nil
}

// decisions reads decide.go and facts.go and returns the tables, what the facts mean, and what is said of the actions.
func decisions(decide, facts []byte) (tables, glossary, goOn string, err error) {
	fset := token.NewFileSet()
	code, err := parser.ParseFile(fset, "decide.go", decide, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", "", "", err
	}
	meaning, err := parser.ParseFile(fset, "facts.go", facts, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", "", "", err
	}
	ds, err := readDecisions(code)
	if err != nil {
		return "", "", "", err
	}
	w := readWords(meaning)
	tables, err = w.render(ds)
	if err != nil {
		return "", "", "", err
	}
	var out [][]string
	for _, f := range w.facts {
		says := f.says
		if says == "" {
			says = upper(w.allowed) + "."
		}
		out = append(out, []string{f.name, says})
	}
	return tables, table([]string{"Fact", "What it says"}, out), w.goOn, nil
}

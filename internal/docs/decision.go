package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSentence is the maximum length of the sentence for a case, in characters.
const maxSentence = 200

// A stage is a part of a decision, given by the names of the types of its facts and of its results.
type stage struct{ facts, results string }

// A words value holds the facts, their states and the actions of a stage, with their comments.
type words struct {
	stage   stage
	facts   []named // in the order of their declaration, those that are derived from others last
	states  []named // of the facts that are neither true nor false
	actions []named
	goOn    string // the comment of all actions
}

// A named is a name and its comment.
type named struct{ name, says string }

// has returns whether a list has a name with a comment.
func has(list []named, name string) bool {
	return slices.ContainsFunc(list, func(n named) bool { return n.name == name && n.says != "" })
}

// readWords reads the facts, their states and the actions of a stage.
func readWords(file *ast.File, of stage) words {
	w := words{stage: of}
	types := map[string]string{}
	var facts *ast.StructType
	var derived []named
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil && typeName(fn.Recv.List[0].Type) == of.facts &&
			!fn.Name.IsExported() {
			derived = append(derived, named{fn.Name.Name,
				upper(strings.TrimPrefix(sentence(fn.Doc), fn.Name.Name+" says "))})
		}
		d, ok := decl.(*ast.GenDecl)
		if ok && d.Tok == token.CONST {
			w.readConstants(d)
		}
		if !ok || d.Tok != token.TYPE {
			continue
		}
		for _, spec := range d.Specs {
			s := spec.(*ast.TypeSpec) // in a declaration of types
			types[s.Name.Name] = upper(strings.TrimPrefix(sentence(d.Doc), s.Name.Name+" are "))
			if body, ok := s.Type.(*ast.StructType); ok && s.Name.Name == of.facts {
				facts = body
			}
		}
	}
	if facts != nil {
		w.readFacts(facts, types)
	}
	w.facts = append(w.facts, derived...)
	return w
}

// readConstants reads a group of constants: the actions, or the states of a fact.
func (w *words) readConstants(d *ast.GenDecl) {
	actions := false
	for _, spec := range d.Specs {
		s := spec.(*ast.ValueSpec) // in a declaration of constants
		actions = actions || typeName(s.Type) == w.stage.results
		if !s.Names[0].IsExported() {
			continue
		}
		n := named{s.Names[0].Name, sentence(s.Comment)}
		if actions {
			w.actions = append(w.actions, n)
			_, w.goOn, _ = strings.Cut(flat(d.Doc), ". ")
		} else {
			w.states = append(w.states, n)
		}
	}
}

// readFacts reads the fields of the facts. A fact without a comment gets the comment of its type.
func (w *words) readFacts(body *ast.StructType, types map[string]string) {
	for _, field := range body.Fields.List {
		says := sentence(field.Comment)
		if says == "" {
			says = sentence(field.Doc)
		}
		if says == "" {
			says = types[typeName(field.Type)]
		}
		for _, name := range field.Names {
			if _, own, prefixed := strings.Cut(says, name.Name+": "); prefixed {
				says = upper(own)
			}
			w.facts = append(w.facts, named{name.Name, says})
		}
	}
}

// flat returns the text of a comment in one line.
func flat(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }

// sentence returns the first sentence of a comment.
func sentence(doc *ast.CommentGroup) string {
	text := flat(doc)
	if end := strings.Index(text, ". "); end >= 0 {
		text = text[:end+1]
	}
	return text
}

// upper returns a text that begins with a capital letter.
func upper(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// A decision is a switch whose first case that holds wins.
type decision struct {
	name  string
	says  string // its comment
	cases []choice
}

// A choice is one case of a decision: its condition, and an action or the name of another decision.
type choice struct {
	condition ast.Expr // nil: otherwise
	action    string
	next      string
	says      string // the comment above the case
}

// readDecisions reads the functions that consist of one switch. It omits methods.
func readDecisions(fset *token.FileSet, file *ast.File) ([]decision, error) {
	var out []decision
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv != nil {
			continue
		}
		body, ok := fn.Body.List[0].(*ast.SwitchStmt)
		if !ok || len(fn.Body.List) != 1 {
			return nil, fmt.Errorf("%s is not one switch: teach internal/docs to read it", fn.Name.Name)
		}
		d := decision{name: fn.Name.Name, says: upper(strings.TrimPrefix(flat(fn.Doc), fn.Name.Name+" "))}
		last := body.Body.Lbrace // where the case before ended
		for _, stmt := range body.Body.List {
			c, err := readChoice(stmt.(*ast.CaseClause))
			if err == nil {
				c.says, err = caseSentence(fset, file, last, stmt.Pos())
			}
			if err != nil {
				return nil, fmt.Errorf("%s, case %d: %w", fn.Name.Name, len(d.cases)+1, err)
			}
			d.cases, last = append(d.cases, c), stmt.End()
		}
		out = append(out, d)
	}
	return out, nil
}

// caseSentence returns the comment between two cases, which has to be one sentence. A comment at the end of a line
// does not count.
func caseSentence(fset *token.FileSet, file *ast.File, from, to token.Pos) (string, error) {
	for _, comment := range file.Comments {
		if comment.Pos() < from || comment.End() > to || fset.Position(comment.Pos()).Line == fset.Position(from).Line {
			continue
		}
		text := flat(comment)
		if first := sentence(comment); first != text || !strings.HasSuffix(text, ".") {
			return "", fmt.Errorf("the comment above the case is not one sentence: %q", text)
		}
		if n := utf8.RuneCountInString(text); n > maxSentence {
			return "", fmt.Errorf("the comment above the case has %d characters, want at most %d: %q", n,
				maxSentence, text)
		}
		return text, nil
	}
	return "", fmt.Errorf("there is no comment above the case that says what it means")
}

// readChoice reads a case without its comment.
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

// phrase returns a condition in words, with the names of the facts and of their states.
func (w words) phrase(e ast.Expr) (string, error) {
	switch e := e.(type) {
	case nil:
		return "otherwise", nil
	case *ast.ParenExpr:
		inner, err := w.phrase(e.X)
		return "(" + inner + ")", err
	case *ast.UnaryExpr:
		name, err := w.phrase(e.X)
		return "not " + name, err
	case *ast.SelectorExpr:
		return w.fact(e)
	case *ast.CallExpr: // a fact that is derived from others
		return w.fact(e.Fun)
	case *ast.BinaryExpr:
		if e.Op == token.EQL || e.Op == token.NEQ { // a fact that is neither true nor false
			return w.state(e)
		}
		left, err := w.phrase(e.X)
		if err != nil {
			return "", err
		}
		right, err := w.phrase(e.Y)
		if e.Op == token.LAND {
			return left + " and " + right, err
		}
		return left + ", or " + right, err
	default:
		return "", fmt.Errorf("a condition is made of more than facts: teach internal/docs to read it")
	}
}

// state returns a comparison in words: which state a fact has or does not have.
func (w words) state(e *ast.BinaryExpr) (string, error) {
	if call, ok := e.X.(*ast.CallExpr); ok && e.Op == token.EQL && has(w.actions, typeName(e.Y)) {
		return "`" + typeName(call.Fun) + "` decides " + typeName(e.Y), nil
	}
	name, err := w.fact(e.X)
	if err != nil {
		return "", err
	}
	is := typeName(e.Y)
	if !has(w.states, is) {
		return "", fmt.Errorf("the state %q has no comment", is)
	}
	if e.Op == token.NEQ {
		is = "not " + is
	}
	return name + " is " + is, nil
}

// fact returns the name of a fact: f.May.Create is May.Create.
func (w words) fact(e ast.Expr) (string, error) {
	_, name, _ := strings.Cut(typeName(e), ".")
	if outer, _, _ := strings.Cut(name, "."); has(w.facts, outer) {
		return name, nil
	}
	return "", fmt.Errorf("the fact %q has no comment", name)
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
		fmt.Fprintf(&b, "#### `%s`\n\n%s\n\n%s\n", d.name, d.says, table([]string{"#", "If", "Then", "Why"}, out))
	}
	return b.String(), nil
}

// line returns the cells of a case.
func (w words) line(c choice) ([]string, error) {
	condition, err := w.phrase(c.condition)
	if err != nil {
		return nil, err
	}
	if c.next != "" {
		return []string{condition, "see `" + c.next + "`", c.says}, nil
	}
	if !has(w.actions, c.action) {
		return nil, fmt.Errorf("the action %s has no comment that says what it does", c.action)
	}
	return []string{condition, "**" + c.action + "**", c.says}, nil
}

// renderActions writes the actions as a table, and the comment about all of them below.
func (w words) renderActions() string {
	var out [][]string
	for _, a := range w.actions {
		out = append(out, []string{a.name, a.says})
	}
	return table([]string{w.stage.results, "What is done"}, out) + "\n" + w.goOn + "\n"
}

// decisions reads a file with decisions and the file with their facts, which may be the same file. It returns tables of
// the cases, of the facts and of the actions.
func decisions(decide, facts []byte, of stage) (tables, glossary, actions string, err error) {
	fset := token.NewFileSet()
	code, err := parser.ParseFile(fset, "decide.go", decide, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", "", "", err
	}
	meaning, err := parser.ParseFile(fset, "facts.go", facts, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", "", "", err
	}
	ds, err := readDecisions(fset, code)
	if err != nil {
		return "", "", "", err
	}
	w := readWords(meaning, of)
	tables, err = w.render(ds)
	if err != nil {
		return "", "", "", err
	}
	var out [][]string
	for _, f := range w.facts {
		out = append(out, []string{f.name, f.says})
	}
	return tables, table([]string{"Fact", "What it says"}, out), w.renderActions(), nil
}

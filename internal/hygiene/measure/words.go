package measure

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// identifierWords are words that no identifier may have. Kubernetes and controller-runtime have another term for the
// thing, or the word has several meanings in this repository.
var identifierWords = words(`
	told unsaid heard waits spare spared roll memo troubles meet meets met stands lent lately
	album recollection belongings shelf witness lookout bell inquiry forejudge usurp squat snatch
	stranger strangers hiccup deed deeds sentry manners nobody somebody whoever
	harbour harbours berth berths pilot pilots quay quays buoy buoys boat boats dock docks wharf pier piers ferry sail
	vessel vessels crew cargo lighthouse mooring moored dinghy pearl cove tide tides voyage afloat`)

// identifierPairs are pairs of words that no identifier may have one after the other, as in takeBack.
var identifierPairs = []string{"let go", "take hold", "take back", "put off", "hang up"}

// usualNext are the words after "roll" with which it is a usual term.
var usualNext = words("back out over")

// proseWords matches words that no comment and no page may have.
var proseWords = regexp.MustCompile(`(?i)\b(?:` +
	`whoever|whomever|whom|somebody|nobody|anybody|everybody|he|him|his|she|her|` +
	`told|tells|unsaid|lent|usurp(?:s|ed)?|squats?|snatch|strangers?|hiccups?|forejudges?|` +
	`harbours?|berths?|pilots?|quays?|buoys?|boats?|wharf|vessels?|crews?|cargo|lighthouses?|piers?|moorings?|moored|` +
	`dinghy|pearls?|coves?|tides?|voyages?|afloat)\b`)

// stringWords matches words of ships that no string of Go code may have, apart from the registry `quay.io`.
var stringWords = regexp.MustCompile(`(?i)\b(?:harbou?rs?|berths?|quays?|buoys?|boats?|wharf|vessels?|crews?|cargo|` +
	`lighthouses?|piers?|moorings?|moored|dinghy|pearls?|tides?|voyages?|afloat)\b`)

// inlineCode matches code in a page or a comment, and the target of a link.
var inlineCode = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")

func words(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// identifiers finds declarations, including those in tests, whose name has a word to avoid.
func identifiers(t *Tree) (out []Finding) {
	for _, f := range t.Go {
		if f.Generated() {
			continue
		}
		declared(f.AST, func(id *ast.Ident) {
			if word := avoided(id.Name); word != "" {
				out = append(out, f.finding(f.Line(id.Pos()), "%s has the word %q", id.Name, word))
			}
		})
	}
	return out
}

// avoided returns the first word to avoid in a name, or "".
func avoided(name string) string {
	parts := split(name)
	for i, word := range parts {
		next := ""
		if i+1 < len(parts) {
			next = parts[i+1]
		}
		switch {
		case word == "roll" && usualNext[next]:
		case identifierWords[word]:
			return word
		case slices.Contains(identifierPairs, word+" "+next):
			return word + " " + next
		}
	}
	return ""
}

// split returns the words of a name in lower case.
func split(name string) (out []string) {
	runes := []rune(name)
	begin := 0
	for i := 1; i <= len(runes); i++ {
		switch {
		case i == len(runes):
		case unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]):
		case unicode.IsUpper(runes[i]) && i+1 < len(runes) && unicode.IsLower(runes[i+1]):
		case runes[i] == '_' || runes[i-1] == '_':
		default:
			continue
		}
		out = append(out, strings.ToLower(string(runes[begin:i])))
		begin = i
	}
	return out
}

// declared calls visit for each name that a file declares, including the name of its package.
func declared(file *ast.File, visit func(*ast.Ident)) {
	visit(file.Name)
	define := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if id, ok := e.(*ast.Ident); ok {
				visit(id)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			visit(n.Name)
		case *ast.TypeSpec:
			visit(n.Name)
		case *ast.ImportSpec:
			if n.Name != nil {
				visit(n.Name)
			}
		case *ast.LabeledStmt:
			visit(n.Label)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				visit(name)
			}
		case *ast.Field:
			for _, name := range n.Names {
				visit(name)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				define(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				define(n.Key, n.Value)
			}
		}
		return true
	})
}

// literals finds words of ships in the strings of Go code, including tests. It ignores the files of this package, which
// have the words.
func literals(t *Tree) (out []Finding) {
	for _, f := range t.Go {
		if f.Generated() || strings.HasPrefix(f.Name, "internal/hygiene/measure/") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				for _, word := range stringWords.FindAllString(strings.ReplaceAll(lit.Value, "quay.io", ""), -1) {
					out = append(out, f.finding(f.Line(lit.Pos()), "a string has the word %q", word))
				}
			}

			return true
		})
	}

	return out
}

// prose finds words to avoid in comments and in pages. It ignores code in them.
func prose(t *Tree) (out []Finding) {
	for _, f := range t.Go {
		if f.Generated() {
			continue
		}
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				first := f.Line(c.Pos())
				for i, line := range strings.Split(c.Text, "\n") {
					out = append(out, avoidedIn(f, first+i, line)...)
				}
			}
		}
	}
	for _, f := range t.Pages {
		for n, line := range proseLines(f) {
			out = append(out, avoidedIn(f, n, line)...)
		}
	}
	return out
}

func avoidedIn(f *File, n int, line string) (out []Finding) {
	for _, word := range proseWords.FindAllString(inlineCode.ReplaceAllString(line, ""), -1) {
		out = append(out, f.finding(n, "%q", word))
	}
	return out
}

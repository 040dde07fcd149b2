package migrate

import (
	"go/ast"
	"regexp"
	"strings"
)

// toolchain rewrites what compiled, or what go vet let pass, with the versions before:
// NewWebhookManagedBy of controller-runtime takes the type as an argument, and a format that
// is no constant is refused from Go 1.24 on.
func toolchain(_ *migration, s *source, _ imports) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}

		s.webhook(call)
		s.formatted(call)

		return true
	})
}

// webhook moves the argument of NewWebhookManagedBy(mgr).For(x).
func (s *source) webhook(call *ast.CallExpr) {
	outer, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || outer.Sel.Name != "For" || len(call.Args) != 1 {
		return
	}

	inner, ok := outer.X.(*ast.CallExpr)
	if !ok || len(inner.Args) != 1 {
		return
	}

	_, sel := qualified(inner.Fun)
	if sel == nil || sel.Sel.Name != "NewWebhookManagedBy" && sel.Sel.Name != "WebhookManagedBy" {
		return
	}

	s.replace(call, s.read(inner.Fun)+"("+s.read(inner.Args[0])+", "+s.read(call.Args[0])+")")
}

// formats are functions whose argument of that index is a format.
var formats = map[string]int{
	"fmt.Errorf": 0, "fmt.Sprintf": 0, "fmt.Printf": 0, "log.Printf": 0, "log.Fatalf": 0,
	"errors.Errorf": 0, "errors.Wrapf": 1, "errors.WithMessagef": 1,
}

// events has the index of the format of methods of an event recorder.
var events = map[string]int{"Eventf": 3, "AnnotatedEventf": 4}

// formatted gives a format to a call that has a text in its place, and nothing to format.
func (s *source) formatted(call *ast.CallExpr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}

	at, ok := events[sel.Sel.Name]
	if !ok {
		at, ok = formats[s.read(call.Fun)]
	}

	if !ok || len(call.Args) != at+1 || call.Ellipsis.IsValid() || s.constant(call.Args[at]) {
		return
	}

	s.cut(call.Args[at].Pos(), call.Args[at].Pos(), `"%s", `)
}

// constant reports whether an expression is a constant as far as the file shows: a name that it does not declare may
// be one of the package.
func (s *source) constant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return s.constant(e.X)
	case *ast.BinaryExpr:
		return s.constant(e.X) && s.constant(e.Y)
	case *ast.Ident:
		return e.Obj == nil || e.Obj.Kind == ast.Con
	}

	return false
}

// The versions of Go that other files name, and by what they are replaced.
var (
	image    = regexp.MustCompile(`golang:1\.[0-9]+(\.[0-9]+)?`)
	workflow = regexp.MustCompile(`(go-version:\s*['"]?)1\.[0-9]+(\.[0-9x]+)?`)
)

// goVersion is the one that images and workflows get.
const goVersion = "1.26"

// other migrates a file that is not Go: it names the version of Go, or the runtime.
func (m *migration) other(name, text string) {
	if !mentions(name) {
		return
	}

	after := image.ReplaceAllString(text, "golang:"+goVersion)
	after = workflow.ReplaceAllString(after, "${1}"+goVersion)
	m.add(name, text, after)

	n := 0
	for line := range strings.Lines(after) {
		n++

		switch {
		case strings.Contains(line, m.rules.module):
			m.decide(name, n, m.rules.advice())
		case strings.Contains(line, "meta.pkg.crossplane.io/"):
			m.decide(name, n,
				"a package of Crossplane: Moorage has none, deploy the provider by manifests or by a chart (moorage init shows "+
					"both)")
		}
	}
}

// mentions reports whether a file is one that names versions.
func mentions(name string) bool {
	base := name[strings.LastIndexByte(name, '/')+1:]

	switch {
	case strings.HasSuffix(name, ".yaml"), strings.HasSuffix(name, ".yml"), strings.HasSuffix(name, ".mk"):
		return true
	}

	return strings.HasPrefix(base, "Dockerfile") || base == "Makefile" || base == "PROJECT"
}

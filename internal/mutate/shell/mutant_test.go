package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOperators checks that each operator makes its mutants, and no others.
func TestOperators(t *testing.T) {
	got := map[string][]string{}
	for _, m := range loaded(t, "operators").candidates {
		got[m.function()] = append(got[m.function()], m.what+": "+strings.Join(changes(m), " "))
	}
	want := map[string][]string{
		"box.conditions": {
			`exchange the statements "if a == c { return false }" and "for a < 5 { a += c }": ` +
				`for a < 5 { a += c } if a == c { return false`,
			`negate "a == c": if a != c {`,
			`change false to true: return true`,
			`exchange the statements "for a < 5 { a += c }" and "if !ok || a > c { return b.full }": ` +
				`if !ok || a > c { return b.full } for a < 5 { a += c`,
			`negate "a < 5": for a >= 5 {`,
			`exchange the operands "a" and "5": for 5 < a {`,
			`change the constant 5 to 11: for a < 11 {`,
			`remove the assignment "a += c": `,
			`negate "!ok || a > c": if !(!ok || a > c) {`,
			`negate "!ok": if ok || a > c {`,
			`negate "a > c": if !ok || a <= c {`,
			`exchange the operands "a" and "c": if !ok || c > a {`,
			`negate "ok": return !(ok) && b.full`,
			`negate "b.full": return ok && !(b.full)`,
		},
		"box.cases": {
			`exchange the cases "a > limit" and "b.full": case b.full: return b.size case a > limit: return a`,
			`negate "a > limit": case a <= limit:`,
			`exchange the operands "a" and "limit": case limit > a:`,
			`change the constant "limit" to its double and one: case a > (limit*2+1):`,
			`negate "b.full": case !(b.full):`,
			`change the constant 0 to 1: return 1`,
		},
		"box.removals": {
			`remove the call "b.mu.Lock()": `,
			`remove the call "defer b.mu.Unlock()": `,
			`remove the assignment "b.size++": `,
			`remove the assignment "b.full = true": `,
			`change true to false: b.full = false`,
		},
		"box.order": {
			`exchange the statements "if b.full { return nil }" and ` +
				`"if err := ask(); err != nil { return fmt.Errorf("cannot ask box %d of ...": ` +
				`if err := ask(); err != nil { return fmt.Errorf("cannot ask box %d of %d: %w", b.size, limit, err) } ` +
				`if b.full { return nil`,
			`negate "b.full": if !(b.full) {`,
			`negate "err != nil": if err := ask(); err == nil {`,
			`change the constant "limit" to its double and one: ` +
				`return fmt.Errorf("cannot ask box %d of %d: %w", b.size, (limit*2+1), err)`,
			`remove the assignment "b.size = size + twice": `,
			`change the constant "empty": return errors.New("empty-changed")`,
		},
		"pairs": {
			`exchange the operands "max(a, b)" and "a": _ = a - max(a, b)`,
			`exchange the arguments "a" and "b": return between(b, a, c), between(b, a, c), box{full: false, size: len(c)}`,
			`exchange the arguments "b" and "a": return between(a, b, c), between(a, b, c), box{full: false, size: len(c)}`,
			`change false to true: return between(a, b, c), between(b, a, c), box{full: true, size: len(c)}`,
		},
		"between": {
			`negate "text != "" && text != "some words"": if !(text != "" && text != "some words") {`,
			`negate "text != """: if text == "" && text != "some words" {`,
			`change the constant "": if text != "-changed" && text != "some words" {`,
			`negate "text != "some words"": if text != "" && text == "some words" {`,
			`change the constant 2 to 3: return 3`,
			`exchange the operands "make([]int, 3)[0]" and "(a - b)": return (a - b) / make([]int, 3)[0]`,
			`change the constant 0 to 1: return make([]int, 3)[1] / (a - b)`,
			`exchange the operands "a" and "b": return make([]int, 3)[0] / (b - a)`,
		},
		"box.SetName": {`remove the assignment "b.name = name": func (b *box) SetName(name string) {  }`},
		"box.SetSize": {`remove the assignment "b.size = size": func (b *box) SetSize(size int)    {  }`},
		"box.silent": {
			`exchange the statements "if err := ask(); err != nil { return false, err }" and ` +
				`"if err := ask(); err != nil && b.full { return false, fmt.Errorf("cann...": ` +
				`if err := ask(); err != nil && b.full { return false, fmt.Errorf("cannot ask again: %w", err) } ` +
				`if err := ask(); err != nil { return false, err`,
			`negate "err != nil": if err := ask(); err == nil {`,
			`exchange the statements "if err := ask(); err != nil && b.full { return false, fmt.Errorf("cann..." and ` +
				`"if slices.Equal([]string{b.name}, nil) { return false, errors.New("emp...": ` +
				`if slices.Equal([]string{b.name}, nil) { return false, errors.New("empty") } ` +
				`if err := ask(); err != nil && b.full { return false, fmt.Errorf("cannot ask again: %w", err)`,
			`negate "err != nil && b.full": if err := ask(); !(err != nil && b.full) {`,
			`negate "err != nil": if err := ask(); err == nil && b.full {`,
			`negate "b.full": if err := ask(); err != nil && !(b.full) {`,
			`negate "slices.Equal([]string{b.name}, nil)": if !(slices.Equal([]string{b.name}, nil)) {`,
			`change the constant "empty": return false, errors.New("empty-changed")`,
			`change false to true: return true, ask()`,
		},
		"box.commuting": {
			`remove the call "delete(m, text)": `,
			`remove the call "delete(m, b.name)": `,
			`exchange the statements "delete(m, b.name)" and "b.SetSize(len(text))": b.SetSize(len(text)) delete(m, b.name)`,
			`remove the call "b.SetSize(len(text))": `,
			`remove the call "b.SetName(text)": `,
			`remove the call "telemetry.Counted()": `,
			`remove the call "b.mu.Lock()": `,
			`exchange the statements "b.mu.Lock()" and "b.SetName(text)": b.SetName(text) b.mu.Lock()`,
			`remove the call "b.SetName(text)": `,
			`exchange the statements "b.SetName(text)" and "b.SetSize(len(b.GetName()))": ` +
				`b.SetSize(len(b.GetName())) b.SetName(text)`,
			`remove the call "b.SetSize(len(b.GetName()))": `,
		},
		"box.options": {`exchange the values "full" and "empty": return []BoxOption{full, empty}, []any{empty, full}`},
		"box.excluding": { // cases that cannot hold both are not exchanged
			`negate "b.full && ok": case !(b.full && ok):`,
			`negate "b.full": case !(b.full) && ok:`,
			`negate "ok": case b.full && !(ok):`,
			`exchange the cases "!b.full && ok" and "err == nil && ok": case err == nil && ok: case !b.full && ok:`,
			`negate "!b.full && ok": case !(!b.full && ok):`,
			`negate "!b.full": case b.full && ok:`,
			`negate "ok": case !b.full && !(ok):`,
			`negate "err == nil && ok": case !(err == nil && ok):`,
			`negate "err == nil": case err != nil && ok:`,
			`negate "ok": case err == nil && !(ok):`,
			`exchange the cases "errors.Is(err, errEmpty)" and "b.name == "a"": ` +
				`case b.name == "a": case errors.Is(err, errEmpty):`,
			`negate "errors.Is(err, errEmpty)": case !(errors.Is(err, errEmpty)):`,
			`negate "b.name == "a"": case b.name != "a":`,
			`change the constant "a": case b.name == "a-changed":`,
			`negate "b.name == "b"": case b.name != "b":`,
			`change the constant "b": case b.name == "b-changed":`,
		},
		"box.overlapping": { // but they are if a condition calls a function or has an index, or if a clause falls through
			`exchange the cases "ask() == 1" and "ask() == 2": case ask() == 2: case ask() == 1:`,
			`negate "ask() == 1": case ask() != 1:`,
			`change the constant 1 to 2: case ask() == 2:`,
			`exchange the cases "ask() == 2" and "list[0] == 1": case list[0] == 1: case ask() == 2:`,
			`negate "ask() == 2": case ask() != 2:`,
			`change the constant 2 to 3: case ask() == 3:`,
			`exchange the cases "list[0] == 1" and "list[0] == 2": case list[0] == 2: case list[0] == 1:`,
			`negate "list[0] == 1": case list[0] != 1:`,
			`change the constant 0 to 1: case list[1] == 1:`,
			`change the constant 1 to 2: case list[0] == 2:`,
			`negate "list[0] == 2": case list[0] != 2:`,
			`change the constant 0 to 1: case list[1] == 2:`,
			`change the constant 2 to 3: case list[0] == 3:`,
			`exchange the cases "ok && b.full" and "!ok": case !ok: case ok && b.full: fallthrough`,
			`negate "ok && b.full": case !(ok && b.full):`,
			`negate "ok": case !(ok) && b.full:`,
			`negate "b.full": case ok && !(b.full):`,
			`negate "!ok": case ok:`,
		},
		// An assignment to a copy is lost after an early return, unless that returns the copy. The order of the list of
		// slices.Contains does not matter.
		"box.defaults": {
			`negate "ok": if !(ok) {`,
			`exchange the statements "if o.full { o.size = b.size }" and "if b.full { return o, nil }": ` +
				`if b.full { return o, nil } if o.full { o.size = b.size`,
			`negate "o.full": if !(o.full) {`,
			`remove the assignment "o.size = b.size": `,
			`exchange the statements "if b.full { return o, nil }" and "p.size = b.size": ` +
				`p.size = b.size if b.full { return o, nil }`,
			`negate "b.full": if !(b.full) {`,
			`remove the assignment "p.size = b.size": `,
			`remove the assignment "b.full = slices.Contains([]string{"a", "b"}, text) || slices.Contains(...": `,
			`negate "slices.Contains([]string{"a", "b"}, text)": ` +
				`b.full = !(slices.Contains([]string{"a", "b"}, text)) || slices.Contains([]string{b.name, text}, "c")`,
			`change the constant "a": ` +
				`b.full = slices.Contains([]string{"a-changed", "b"}, text) || ` +
				`slices.Contains([]string{b.name, text}, "c")`,
			`change the constant "b": ` +
				`b.full = slices.Contains([]string{"a", "b-changed"}, text) || ` +
				`slices.Contains([]string{b.name, text}, "c")`,
			`negate "slices.Contains([]string{b.name, text}, "c")": ` +
				`b.full = slices.Contains([]string{"a", "b"}, text) || !(slices.Contains([]string{b.name, text}, "c"))`,
			`change the constant "c": ` +
				`b.full = slices.Contains([]string{"a", "b"}, text) || ` +
				`slices.Contains([]string{b.name, text}, "c-changed")`,
			`remove the assignment "b.log = b.log.WithValues("a", b.name)": `,
		},
		"swapped": {
			`remove the call "f()": `,
			`remove the assignment "label = "later"": later := func() {  }`,
			`change the constant "later": later := func() { label = "later-changed" }`,
			`remove the call "later()": `,
			`remove the call "go f()": `,
			`exchange the operands "label + "-"" and ""end"": return "end" + label + "-"`,
			`exchange the operands "label" and ""-"": return "-" + label + "end"`,
			`change the constant "-": return label + "--changed" + "end"`,
			`change the constant "end": return label + "-" + "end-changed"`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// changes returns the lines of a mutant that replace others.
func changes(m *mutant) (lines []string) {
	for _, line := range m.diff() {
		if text, ok := strings.CutPrefix(line, "+ "); ok {
			lines = append(lines, strings.TrimSpace(text))
		}
	}
	return lines
}

// TestMentions checks that a name that is a part of a longer one does not count.
func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"v = 1": true, "f(v.x)": true, "var none T": false, "v2, _v, vé": false, "nov v": true,
		"nvv": false, "": false,
	} {
		if got := mentions(text, []string{"v"}); got != want {
			t.Errorf("%q mentions v: %t, want %t", text, got, want)
		}
	}
}

func TestBatches(t *testing.T) {
	took := map[string]float64{"a": 0.1, "b": 0.2, "c": 0.9, "d": 1, "e": 2, "f": 9, "g": 30}
	got := batches([]string{"a", "b", "c", "d", "e", "f", "g"}, took)
	want := [][]string{{"a", "b"}, {"c", "d", "e"}, {"f"}, {"g"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the quickest come first, and then five times as much: -want, +got:\n%s", diff)
	}
	if got := batches(nil, took); got != nil {
		t.Errorf("a mutant that no test reaches is not run: got %v", got)
	}
}

func TestHook(t *testing.T) {
	got, err := hook("x_test.go", []byte("package x_test\n\nfunc TestX(t *testing.T) { t.Log() }\nfunc Testing() "+
		"{}\nfunc TestMain(m *testing.M) {}\nfunc ExampleY() {}\nfunc FuzzZ(f *testing.F) {}\nfunc Test_(*testing.T) {}\n"))
	want := "package x_test\n\nfunc TestX(t *testing.T) { defer mutantTest(\"TestX\", t)();  t.Log() }\nfunc Testing() " +
		"{}\nfunc TestMain(m *testing.M) {}\n" +
		"func ExampleY() { defer mutantTest(\"ExampleY\", nil)(); }\nfunc FuzzZ(f *testing.F) { defer " +
		"mutantTest(\"FuzzZ\", f)(); }\nfunc Test_(*testing.T) { defer mutantTest(\"Test_\", nil)(); }\n"
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v: -want, +got:\n%s", err, diff)
	}
}

package migrate

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A note is what a person has to decide, at a line of a file.
type note struct {
	line int
	what string
}

// A source is a Go file under way. Edits are collected, and made by apply.
type source struct {
	name  string
	text  string
	fset  *token.FileSet
	file  *ast.File
	edits []edit
	notes []string // the text of each marker
}

// An edit replaces what is between two offsets.
type edit struct {
	from, to int
	text     string
}

// parse reads the text again.
func (s *source) parse() (err error) {
	s.fset = token.NewFileSet()
	s.file, err = parser.ParseFile(s.fset, s.name, s.text, parser.ParseComments)

	return err
}

func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

// read returns the text of a node.
func (s *source) read(n ast.Node) string { return s.text[s.offset(n.Pos()):s.offset(n.End())] }

// replace writes something in the place of a node.
func (s *source) replace(n ast.Node, text string) {
	s.edits = append(s.edits, edit{s.offset(n.Pos()), s.offset(n.End()), text})
}

// cut removes what is between two positions.
func (s *source) cut(from, to token.Pos, text string) {
	s.edits = append(s.edits, edit{s.offset(from), s.offset(to), text})
}

// cutLine removes a node that has a line to itself.
func (s *source) cutLine(n ast.Node) {
	from, to := s.offset(n.Pos()), s.offset(n.End())

	end := strings.IndexByte(s.text[to:], '\n')
	begin := strings.LastIndexByte(s.text[:from], '\n') + 1

	if end >= 0 && strings.TrimSpace(s.text[begin:from]+s.text[to:to+end]) == "" {
		from, to = begin, to+end+1
	}

	s.edits = append(s.edits, edit{from, to, ""})
}

// mark returns a comment that stands where something has to be decided, until all is
// rewritten and the lines are known.
func (s *source) mark(what string) string {
	if what == "" {
		return ""
	}

	s.notes = append(s.notes, what)

	return "/*moorage:" + strconv.Itoa(len(s.notes)-1) + "*/"
}

// apply makes the edits, of which an outer one wins over those within it and two that overlap are both made, and reads
// the result.
func (s *source) apply() error {
	slices.SortStableFunc(s.edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}

		return b.to - a.to
	})

	var out strings.Builder

	at := 0

	for _, e := range s.edits {
		if e.to < at || e.from < at && e.to == at {
			continue
		}

		if e.from > at {
			out.WriteString(s.text[at:e.from])
		}

		out.WriteString(e.text)
		at = e.to
	}

	out.WriteString(s.text[at:])
	s.text, s.edits = out.String(), nil

	return s.parse()
}

// marker is what mark returns.
var marker = regexp.MustCompile(`/\*moorage:(\d+)\*/`)

// finish formats the text, and takes the markers out of it.
func (s *source) finish() (text string, notes []note, err error) {
	formatted, err := format.Source([]byte(s.text))
	if err != nil {
		return "", nil, err
	}

	var (
		lines   []string
		waiting [][]string // markers that stood alone on a line: they are about the next one
	)

	for line := range strings.Lines(string(formatted)) {
		found := marker.FindAllStringSubmatch(line, -1)
		bare := marker.ReplaceAllString(line, "")
		empty := strings.TrimSpace(bare) == ""

		if empty && (len(found) > 0 || len(waiting) > 0) {
			waiting = append(waiting, found...)

			continue
		}

		lines = append(lines, bare)

		for _, m := range append(waiting, found...) {
			n, _ := strconv.Atoi(m[1])
			notes = append(notes, note{line: len(lines), what: s.notes[n]})
		}

		waiting = nil
	}

	formatted, err = format.Source([]byte(strings.Join(lines, "")))

	return string(formatted), notes, err
}

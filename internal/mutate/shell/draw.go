package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// poolOf returns the mutants of all subjects, or of one place, that compile. misfits is the number of those that do
// not.
func poolOf(all []*subject, at string) (pool []*mutant, misfits int, err error) {
	for _, sub := range all {
		for _, m := range sub.candidates {
			if at == "" || m.place() == at || strings.HasPrefix(m.place(), at+":") {
				pool = append(pool, m)
			}
		}
	}
	for _, sub := range all {
		// An error may hide another of the same mutant, but not of another mutant.
		sub.choose(pool)
		bad, err := sub.misfits(sub.combine())
		if err != nil {
			return nil, 0, err
		}
		misfits += len(bad)
		pool = slices.DeleteFunc(pool, func(m *mutant) bool { return bad[m] })
	}
	if len(pool) == 0 {
		return nil, 0, errors.New("there is no mutant to try")
	}
	return pool, misfits, nil
}

// divide divides a pool into draws of at least the given number of mutants, or into one draw if the pool has fewer. It
// distributes the mutants one by one, grouped by the sort of the change and the file, so that each draw gets the same
// share of each group, give or take one. Within a group the hash of the mutant decides the order, so that neighbors in
// the source are in different draws. Every mutant is in one draw. The sizes of the draws differ by at most one.
func divide(pool []*mutant, least int) [][]*mutant {
	type card struct {
		mutant     *mutant
		sort, file string
		hash       [sha256.Size]byte
	}
	var cards []card
	same := map[reason]int{}
	for _, m := range pool {
		r := m.reason()
		same[r]++
		cards = append(cards, card{m, m.sort(), r.file, sha256.Sum256(fmt.Appendf(nil, "%q %d", r, same[r]))})
	}
	slices.SortFunc(cards, func(a, b card) int {
		return cmp.Or(strings.Compare(a.sort, b.sort), strings.Compare(a.file, b.file),
			bytes.Compare(a.hash[:], b.hash[:]))
	})
	draws := make([][]*mutant, max(len(pool)/max(least, 1), 1))
	for i, c := range cards {
		draws[i%len(draws)] = append(draws[i%len(draws)], c.mutant)
	}
	return draws
}

// sort returns the sort of the change, in words of the mutant's text.
func (m *mutant) sort() string {
	words := strings.Fields(m.what)
	switch words[0] {
	case "exchange", "remove": // the statements, the call
		return strings.Join(words[:3], " ")
	}
	return words[0]
}

// choose stores those of the drawn mutants that belong to the subject, in the order of their positions.
func (s *subject) choose(drawn []*mutant) {
	s.drawn = slices.DeleteFunc(slices.Clone(drawn), func(m *mutant) bool { return m.subject != s })
	slices.SortStableFunc(s.drawn, func(a, b *mutant) int {
		return cmp.Or(strings.Compare(a.file.name, b.file.name), a.fnStart()-b.fnStart())
	})
	for i, m := range s.drawn {
		m.number = i + 1
	}
}

func (m *mutant) fnStart() int { return m.file.offset(m.fn.Pos()) }

// misfits checks the types of all mutants at once and returns those that do not compile.
func (s *subject) misfits(texts map[string]combined) (map[*mutant]bool, error) {
	fset := token.NewFileSet()
	with := &subject{path: s.path, exports: s.exports}
	for name, c := range texts {
		parsed, err := parser.ParseFile(fset, name, c.text, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("cannot parse the mutants of %s: %w", name, err)
		}
		with.files = append(with.files, &file{ast: parsed})
	}
	_, errs := with.check(fset)
	bad := map[*mutant]bool{}
	for _, err := range errs {
		var wrong types.Error
		if !errors.As(err, &wrong) {
			return nil, err
		}
		at := fset.Position(wrong.Pos)
		m := texts[at.Filename].mutantAt(at.Offset)
		if m == nil {
			return nil, fmt.Errorf("the source does not compile with its mutants: %w", err)
		}
		bad[m] = true
	}
	return bad, nil
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"slices"
	"strings"
)

// draw chooses mutants by the seed, of all subjects together, and draws anew those that do not compile. It returns the chosen ones, and how many did not compile.
// The same source and the same seed give the same mutants.
func draw(all []*subject, s settings) (drawn []*mutant, redrawn int, err error) {
	var pool []*mutant
	for _, sub := range all {
		for _, m := range sub.candidates {
			if s.at == "" || m.place() == s.at || strings.HasPrefix(m.place(), s.at+":") {
				pool = append(pool, m)
			}
		}
	}
	random := rand.New(rand.NewPCG(s.seed, 0))
	random.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
	for len(drawn) < s.mutants && len(pool) > 0 {
		next := pool[:min(s.mutants-len(drawn), len(pool))]
		pool = pool[len(next):]
		drawn = append(drawn, next...)
		for _, sub := range all {
			bad, err := sub.choose(drawn)
			if err != nil {
				return nil, 0, err
			}
			redrawn += len(bad)
			drawn = slices.DeleteFunc(drawn, func(m *mutant) bool { return bad[m] })
		}
	}
	if len(drawn) == 0 {
		return nil, 0, errors.New("there is no mutant to try")
	}
	for _, sub := range all {
		if _, err := sub.choose(drawn); err != nil {
			return nil, 0, err
		}
	}
	return drawn, redrawn, nil
}

// choose takes the subject's own of the drawn mutants, in the order of their places, and returns those that do not compile.
func (s *subject) choose(drawn []*mutant) (bad map[*mutant]bool, err error) {
	s.drawn = slices.DeleteFunc(slices.Clone(drawn), func(m *mutant) bool { return m.subject != s })
	slices.SortStableFunc(s.drawn, func(a, b *mutant) int {
		return cmp.Or(strings.Compare(a.file.name, b.file.name), a.fnStart()-b.fnStart())
	})
	for i, m := range s.drawn {
		m.number = i + 1
	}
	return s.misfits(s.combine())
}

func (m *mutant) fnStart() int { return m.file.offset(m.fn.Pos()) }

// misfits checks the types of all mutants at once and returns those that are wrong.
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

// Package merge compares three versions of a text line by line: as generated, as edited since, and as generated now.
// Begin with [Compare].
package merge

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// A State says which side changed a region.
type State int

// States of regions.
const (
	Same   State = iota // neither
	Mine                // the owner alone
	Both                // both, to the same
	Theirs              // the template alone
	Clash               // both, to different texts
)

// A Region is a part of a text, in its three versions. The lines of all regions, in order, are the whole text in each
// version.
type Region struct {
	State State

	// Base has the lines as generated, Mine the current ones, and Theirs those as generated now,
	// with their line ends.
	Base, Mine, Theirs []string
}

// Compare returns the regions of a text, none of which is empty in all versions. Adjacent changes are one region.
func Compare(base, mine, theirs string) []Region {
	b, m, t := lines(base), lines(mine), lines(theirs)

	var out []Region

	add := func(r Region) {
		if len(r.Base)+len(r.Mine)+len(r.Theirs) > 0 {
			r.State = judge(r)
			out = append(out, r)
		}
	}

	inMine, inTheirs := edits(b, m), edits(b, t)
	atBase, atMine, atTheirs := 0, 0, 0

	for len(inMine)+len(inTheirs) > 0 {
		var g group
		g, inMine, inTheirs = next(inMine, inTheirs)

		same := g.low - atBase
		add(Region{Base: b[atBase:g.low], Mine: m[atMine : atMine+same], Theirs: t[atTheirs : atTheirs+same]})
		atMine, atTheirs = atMine+same, atTheirs+same

		long := g.high - g.low
		add(Region{Base: b[g.low:g.high], Mine: m[atMine : atMine+long+g.mine], Theirs: t[atTheirs : atTheirs+long+g.theirs]})
		atBase, atMine, atTheirs = g.high, atMine+long+g.mine, atTheirs+long+g.theirs
	}

	add(Region{Base: b[atBase:], Mine: m[atMine:], Theirs: t[atTheirs:]})

	return out
}

// Clean returns the text with the changes of both sides, and false if they changed the same lines to different texts.
func Clean(base, mine, theirs string) (merged string, ok bool) {
	var out strings.Builder

	for _, r := range Compare(base, mine, theirs) {
		switch r.State {
		case Clash:
			return "", false
		case Theirs:
			out.WriteString(Text(r.Theirs))
		default:
			out.WriteString(Text(r.Mine))
		}
	}

	return out.String(), true
}

// Text joins lines.
func Text(lines []string) string { return strings.Join(lines, "") }

func judge(r Region) State {
	byMe, byThem := !slices.Equal(r.Base, r.Mine), !slices.Equal(r.Base, r.Theirs)

	switch {
	case !byMe && !byThem:
		return Same
	case !byThem:
		return Mine
	case !byMe:
		return Theirs
	case slices.Equal(r.Mine, r.Theirs):
		return Both
	default:
		return Clash
	}
}

// lines splits a text after its line ends.
func lines(text string) []string {
	out := strings.SplitAfter(text, "\n")

	// SplitAfter returns an empty line at the end
	return slices.DeleteFunc(out, func(line string) bool { return line == "" })
}

// An edit replaces lines of one text, from low to before high, and adds a number of lines.
type edit struct{ low, high, longer int }

// edits returns the edits from one text to another, in order.
func edits(from, to []string) []edit {
	var out []edit
	for _, d := range lcs.DiffLines(from, to) {
		out = append(out, edit{d.Start, d.End, (d.ReplEnd - d.ReplStart) - (d.End - d.Start)})
	}

	return out
}

// A group is adjacent edits of both sides: the lines of the base that they replace, and how many lines they add to
// each text.
type group struct{ low, high, mine, theirs int }

// next removes the first group from two lists of edits, one of which is not empty.
func next(mine, theirs []edit) (group, []edit, []edit) {
	g := group{low: min(first(mine), first(theirs))}
	g.high = g.low

	for {
		switch {
		case first(mine) <= g.high && len(mine) > 0:
			g.high, g.mine = max(g.high, mine[0].high), g.mine+mine[0].longer
			mine = mine[1:]
		case first(theirs) <= g.high && len(theirs) > 0:
			g.high, g.theirs = max(g.high, theirs[0].high), g.theirs+theirs[0].longer
			theirs = theirs[1:]
		default:
			return g, mine, theirs
		}
	}
}

// first returns where the first edit begins: beyond every text if there is none.
func first(of []edit) int {
	if len(of) == 0 {
		return int(^uint(0) >> 1)
	}

	return of[0].low
}

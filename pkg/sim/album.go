package sim

import (
	"slices"
	"time"
)

// An album has pictures of a run on its way to a boundary. Who does the same up to there
// begins with them, and not from the beginning.
type album struct {
	began  time.Time // the run: there are times in the pictures
	before int       // the pass in which the boundary is
	ends   []picture // when something that the story waits for ended
	last   *picture  // shortly before the pass
	within int       // what the story waited for then, counted from one
	full   bool
}

// So many passes before the one that is wanted, the last picture may be.
const shortly = 4

// A shelf has the albums of what follows a run: that of faults after which the external system
// says too much, which it does from the beginning then, and that of others. What follows is
// tried in the order of the boundaries.
type shelf [2]*album

// open returns the album to begin with on the way to a boundary in a pass, if there is one,
// and the one to fill meanwhile, if that is not far enough.
func (s *shelf) open(talks bool, pass int) (from, to *album) {
	have := s[bit(talks)]
	if have != nil && have.full && have.before == pass {
		return have, nil
	}
	to = &album{before: pass}
	s[bit(talks)] = to
	if have == nil || !have.full || have.before > pass {
		return nil, to
	}
	to.ends, to.last, to.within = slices.Clip(have.ends[:have.within-1]), have.last, have.within

	return have, to
}

// upTo returns the shelf of what follows a boundary in a pass: without what was seen after that.
func (s *shelf) upTo(pass int) *shelf {
	out := *s
	for i, a := range out {
		if a != nil && a.before > pass {
			out[i] = nil
		}
	}

	return &out
}

// from returns the album that the run begins with, or nil.
func (c *course) from() *album {
	if c.inquiry == nil {
		return nil
	}

	return c.inquiry.from
}

// to returns the album that the run is to fill, or nil.
func (c *course) to() *album {
	if c.inquiry == nil || c.begun {
		return nil
	}

	return c.inquiry.to
}

// replays says whether the story is on its way to what the run begins with: what users do now
// is in the picture that comes next.
func (w *World) replays() bool {
	a := w.course.from()

	return a != nil && w.course.waits < a.within
}

// leafs begins what the story waits for with what an album has of it. If that is all, it
// says so, and how it ended.
func (w *World) leafs() (found, ended bool) {
	w.course.waits++
	a := w.course.from()
	switch {
	case a == nil || w.course.waits > a.within:
		return false, false
	case w.course.waits < a.within:
		of := a.ends[w.course.waits-1]
		w.glances(of)

		return of.found, true
	default:
		w.restore(*a.last)

		return false, false
	}
}

// photographs takes a picture if the pass that is wanted is about to begin.
func (w *World) photographs() {
	a := w.course.to()
	if a == nil || w.passes >= a.before || w.passes < a.before-shortly || !w.still() {
		return
	}
	shot := w.picture(true)
	a.last, a.within = &shot, w.course.waits
}

// ends takes a picture at the end of what the story waited for.
func (w *World) ends(found bool) {
	if a := w.course.to(); a != nil && w.plain() {
		shot := w.picture(false)
		shot.found = found
		a.ends = append(a.ends, shot)
	}
}

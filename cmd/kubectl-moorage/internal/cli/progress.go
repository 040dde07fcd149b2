package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// terminal reports whether a writer is a terminal.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)

	return ok && term.IsTerminal(int(f.Fd()))
}

// A progress shows on a terminal how many objects are done, on a line that goes when the command has ended. It is safe
// for concurrent use.
type progress struct {
	c     *console
	verb  string
	all   int
	done  int
	begun time.Time
	drawn time.Time
}

// redrawAfter is how long a progress stays as it is.
const redrawAfter = 200 * time.Millisecond

// progress returns the progress of a command for a number of objects.
func (c *console) progress(verb string, all int) *progress {
	now := c.now()

	return &progress{c: c, verb: verb, all: all, begun: now, drawn: now}
}

// step counts an object that is done.
func (p *progress) step() {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()

	p.done++

	now := p.c.now()
	if !p.c.terminal || now.Sub(p.drawn) < redrawAfter {
		return
	}

	p.drawn = now
	rate := float64(p.done) / now.Sub(p.begun).Seconds()

	p.c.erase()
	fmt.Fprintf(p.c.err, "%s: %d of %d objects, %.0f/s", p.verb, p.done, p.all, rate)
	p.c.drawn = true
}

// end removes the line.
func (p *progress) end() {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.erase()
}

// erase removes the line of a progress, so that another one can be written. The caller holds the lock.
func (c *console) erase() {
	if c.drawn {
		fmt.Fprint(c.err, "\r\x1b[K")
	}

	c.drawn = false
}

package scaffold

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/merge"
)

// A Change is a file that its author, the templates, or both have changed.
type Change struct {
	// Path of the file below the project's folder, with slashes.
	Path string

	// Was is the file as generated, Mine the current one, and Now the file as generated now.
	Was, Mine, Now Version

	// Regions of it, in order. What the template alone changed, and what clashes, can
	// be answered.
	Regions []Region
}

// A Version is one version of a file, which may not exist.
type Version struct {
	Exists bool
	Text   string
}

// A Region is a part of a file, and the answer about it.
type Region struct {
	merge.Region

	Answer Answer
}

// Open reports whether the region needs an answer.
func (r Region) Open() bool {
	return r.Answer == Leave && (r.State == merge.Theirs || r.State == merge.Clash)
}

// An Answer decides about a region that the template changed.
type Answer int

// Answers. The zero value asks again next time.
const (
	Leave Answer = iota
	Take         // what the template has
	Keep         // what is there, for good
)

// Upgrade compares the generated files of a project, by its base, with those generated now and those that found
// returns. It returns the differences of the first two. Files that the author removed are left out.
func Upgrade(p Project, base []byte, found func(path string) (Version, error)) ([]Change, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}

	now, err := render(p)
	if err != nil {
		return nil, err
	}

	was := Unpack(base)
	maps.DeleteFunc(was, func(path string, _ string) bool { return p.owns(path) })

	paths := slices.Collect(maps.Keys(now))
	for name := range was {
		if now[name] == nil {
			paths = append(paths, name)
		}
	}

	slices.Sort(paths)

	var out []Change

	for _, name := range paths {
		c := Change{Path: name}
		c.Was.Text, c.Was.Exists = was[name]
		c.Now = Version{now[name] != nil, string(now[name])}

		if c.Mine, err = found(name); err != nil {
			return nil, err
		}

		if c.compare(); len(c.Regions) > 0 {
			out = append(out, c)
		}
	}

	return out, nil
}

// compare finds the regions, unless the author removed the file.
func (c *Change) compare() {
	switch {
	case path.Base(c.Path) == sums:
		c.Was = c.Mine
		c.Now.Text = union(c.Mine.Text, c.Now.Text)
	case c.Was.Exists && !c.Mine.Exists: // its author removed it
		return
	}

	if c.Was == c.Now {
		return
	}

	for _, r := range merge.Compare(c.Was.Text, c.Mine.Text, c.Now.Text) {
		c.Regions = append(c.Regions, Region{Region: r})
	}
}

// union returns a text with the missing lines of another appended: the go command reads checksums in any order, and
// sorts them when it writes them.
func union(text, other string) string {
	has := strings.SplitAfter(text, "\n")

	for line := range strings.Lines(other) {
		if !slices.Contains(has, line) {
			text += line
		}
	}

	return text
}

// Open reports whether a region needs an answer.
func (c Change) Open() bool { return slices.ContainsFunc(c.Regions, Region.Open) }

// Result returns the file after the answers, and its new base. A file that the template does not generate any more
// ends when no line of it is left.
func (c Change) Result() (file, base Version) {
	var mine, known strings.Builder

	for _, r := range c.Regions {
		if r.Answer == Take {
			mine.WriteString(merge.Text(r.Theirs))
		} else {
			mine.WriteString(merge.Text(r.Mine))
		}

		if r.Open() || r.State == merge.Same || r.State == merge.Mine {
			known.WriteString(merge.Text(r.Base))
		} else {
			known.WriteString(merge.Text(r.Theirs))
		}
	}

	file = Version{c.Mine.Exists, mine.String()}

	switch taken := slices.ContainsFunc(c.Regions, func(r Region) bool { return r.Answer == Take }); {
	case taken && c.Now.Exists:
		file.Exists = true
	case taken && file.Text == "":
		file.Exists = false
	}

	base = Version{c.Now.Exists || c.Open(), known.String()}
	base.Exists = base.Exists && (c.Was.Exists || !c.Open())

	return file, base
}

// Settle returns the base of a project after changes, and whether no region is open.
func Settle(p Project, base []byte, changes []Change) (settled []byte, done bool, err error) {
	files, err := render(p)
	if err != nil {
		return nil, false, err
	}

	if !slices.ContainsFunc(changes, Change.Open) {
		settled, err = pack(files)

		return settled, true, err
	}

	clear(files)

	for name, text := range Unpack(base) {
		files[name] = []byte(text)
	}

	for _, c := range changes {
		if _, known := c.Result(); known.Exists {
			files[c.Path] = []byte(known.Text)
		} else {
			delete(files, c.Path)
		}
	}

	settled, err = pack(files)

	return settled, false, err
}

// Current reports whether a base is the output of the current templates for a project.
func Current(p Project, base []byte) (bool, error) {
	files, err := render(p)
	if err != nil {
		return false, err
	}

	now, err := pack(files)

	return bytes.Equal(now, base), err
}

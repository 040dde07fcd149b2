package scaffold

import (
	"bytes"
	"maps"
	"slices"
)

// An Input is all that a plan depends on.
type Input struct {
	// Before is the project as it is recorded, or nil if there is none yet.
	Before *Project

	// After is the project that is wanted.
	After Project
}

// A File is one that a plan makes.
type File struct {
	// Path of the file below the project's folder, with slashes.
	Path string

	// Content that it shall have.
	Content []byte

	// Replaces is what the file holds if nobody changed it since it was made, and
	// nil if there is none yet. What holds anything else is its author's.
	Replaces []byte
}

// Plan returns the files that have to be made or replaced, sorted by their paths but
// for the [Base] and the [Record], which come last: what they tell of has to be there.
// It returns an error, for whoever asked for it, if the project cannot be made.
func Plan(in Input) ([]File, error) {
	if err := in.After.Check(); err != nil {
		return nil, err
	}

	after, err := whole(in.After)
	if err != nil {
		return nil, err
	}

	before := map[string][]byte{}
	if in.Before != nil {
		if before, err = whole(*in.Before); err != nil {
			return nil, err
		}
	}

	var out []File

	for _, path := range slices.Sorted(maps.Keys(after)) {
		if old, ok := before[path]; !ok || !bytes.Equal(old, after[path]) {
			out = append(out, File{Path: path, Content: after[path], Replaces: old})
		}
	}

	slices.SortStableFunc(out, func(a, b File) int { return rank(a) - rank(b) })

	return out, nil
}

// whole returns all files of a project, with those in which it says what it was made of.
func whole(p Project) (map[string][]byte, error) {
	out, err := render(p)
	if err != nil {
		return nil, err
	}

	if out[Base], err = pack(out); err != nil {
		return nil, err
	}

	out[Record], err = p.Marshal()

	return out, err
}

func rank(f File) int {
	switch f.Path {
	case Record:
		return 2
	case Base:
		return 1
	default:
		return 0
	}
}

package scaffold

import (
	"bytes"
	"maps"
	"slices"
)

// An Input is everything that a plan depends on.
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

	// Replaces is the generated content that the file has now, or nil if there is none yet. A file with
	// other content is its author's.
	Replaces []byte
}

// Plan returns the files to create or to replace, sorted by their paths, with the [Base] and the [Record] last,
// because they describe the others. An error for a project that cannot be generated is written for users.
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

// whole returns all files of a project, including its [Base] and [Record].
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

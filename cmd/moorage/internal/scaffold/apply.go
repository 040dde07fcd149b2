package scaffold

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A Fate is what becomes of one file of a plan.
type Fate string

// Fates of files.
const (
	Created  Fate = "create"
	Replaced Fate = "replace"
	Same     Fate = "same"     // it is as it shall be
	Conflict Fate = "conflict" // somebody changed it, or made it: it is left alone
)

// A Verdict says what becomes of a file.
type Verdict struct {
	File

	Fate Fate
}

// Judge compares a plan with a folder and says what would become of each file. It
// returns an error if it cannot read one.
func Judge(dir string, plan []File) ([]Verdict, error) {
	out := make([]Verdict, 0, len(plan))

	for _, f := range plan {
		found, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))

		v := Verdict{File: f, Fate: Conflict}

		switch {
		case errors.Is(err, fs.ErrNotExist):
			v.Fate = Created
		case err != nil:
			return nil, err
		case bytes.Equal(found, f.Content):
			v.Fate = Same
		case f.Replaces != nil && bytes.Equal(found, f.Replaces):
			v.Fate = Replaced
		}

		out = append(out, v)
	}

	return out, nil
}

// Apply writes what is created and what is replaced, in the order of the verdicts.
// A conflict is left alone; so are the [Base] and the [Record] then, unless told
// otherwise, because not all that they tell of is there. What exists is never written over: a file that
// appeared since it was judged is an error.
func Apply(dir string, verdicts []Verdict, despiteConflicts bool) error {
	conflict := false

	for _, v := range verdicts {
		conflict = conflict || v.Fate == Conflict

		if rank(v.File) > 0 && conflict && !despiteConflicts {
			continue
		}

		if err := write(filepath.Join(dir, filepath.FromSlash(v.Path)), v); err != nil {
			return err
		}
	}

	return nil
}

func write(path string, v Verdict) error {
	switch v.Fate {
	case Created:
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}

		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}

		_, err = file.Write(v.Content)

		return errors.Join(err, file.Close())
	case Replaced:
		return os.WriteFile(path, v.Content, 0o644)
	default:
		return nil
	}
}

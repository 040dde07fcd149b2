package scaffold

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/merge"
)

// A Fate is the outcome for one file of a plan.
type Fate string

// Fates of files.
const (
	Created  Fate = "create"
	Replaced Fate = "replace"
	Merged   Fate = "merge"    // it was changed by hand in other lines than the plan changes
	Same     Fate = "same"     // it is up to date
	Conflict Fate = "conflict" // it was changed or created by hand: it is left alone
)

// A Verdict is the fate of a file.
type Verdict struct {
	File

	Fate Fate
}

// Judge compares a plan with a folder and returns the fate of each file. It returns an error if it cannot read one.
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
		case f.Replaces != nil && (bytes.Equal(found, f.Replaces) || f.Path == Record && sameJSON(found, f.Replaces)):
			v.Fate = Replaced
		case f.Replaces != nil && rank(f) == 0 && path.Ext(f.Path) != ".go": // merged Go might not compile
			if merged, ok := merge.Clean(string(f.Replaces), string(found), string(f.Content)); ok {
				v.Fate, v.Content = Merged, []byte(merged)
			}
		}

		out = append(out, v)
	}

	return out, nil
}

// sameJSON reports whether two texts are the same JSON but for their white space: authors edit the record by hand.
func sameJSON(a, b []byte) bool {
	var first, second bytes.Buffer

	return json.Compact(&first, a) == nil && json.Compact(&second, b) == nil && bytes.Equal(first.Bytes(), second.Bytes())
}

// Apply writes the files to create, to replace and to merge, in the order of the verdicts. A conflict is left alone.
// After one the [Base] and the [Record] are left alone too, unless despiteConflicts is set, because they would
// describe files that are missing. An existing file is never overwritten unexpectedly: one that appeared since Judge
// is an error.
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

func write(to string, v Verdict) error {
	switch v.Fate {
	case Created:
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}

		file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}

		_, err = file.Write(v.Content)

		return errors.Join(err, file.Close())
	case Replaced, Merged:
		return os.WriteFile(to, v.Content, 0o644)
	default:
		return nil
	}
}

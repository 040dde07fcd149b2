package changelog

import (
	"context"
	"os"
	"sync"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A File is a sink that appends lines of JSON to a file, as NewJSON writes them.
// Only its owner may read it. If the file was moved or removed, as a rotation
// does, the next entry goes into a new one of its name. It may be used
// concurrently.
type File struct {
	path string

	mu    sync.Mutex
	file  *os.File // Nil once it is closed, or if it could not be opened again.
	lines lines
	done  bool
}

// OpenFile opens the file for appending, and creates it if there is none. It must
// be a regular file. Nothing bounds its length: that is for a rotation to do.
func OpenFile(path string) (*File, error) {
	f := &File{path: path}
	if err := f.reopen(); err != nil {
		return nil, err
	}

	return f, nil
}

// Record appends the entry.
func (f *File) Record(_ context.Context, e Entry) error {
	b, err := line(e)
	if err != nil {
		return err
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	if f.done {
		return errors.New("cannot write change log entry: the file is closed")
	}

	if !f.current() {
		if err := f.reopen(); err != nil {
			return err
		}
	}

	return f.lines.put(f.file, b)
}

// Close the file. Entries are refused from then on.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.done = true
	if f.file == nil {
		return nil
	}

	err := f.file.Close()
	f.file = nil

	return errors.Wrap(err, "cannot close change log")
}

// current reports whether the open file is still the one of the name.
func (f *File) current() bool {
	if f.file == nil {
		return false
	}

	named, err := os.Stat(f.path)
	if err != nil {
		return false
	}

	open, err := f.file.Stat()

	return err == nil && os.SameFile(named, open)
}

func (f *File) reopen() error {
	if f.file != nil {
		_ = f.file.Close() // Nothing is lost: every line was written with a call of its own.
		f.file = nil
	}

	// To open a pipe would block until somebody reads it.
	if info, err := os.Stat(f.path); err == nil && !info.Mode().IsRegular() {
		return errors.Errorf("cannot open change log %q: it is no regular file", f.path)
	}

	file, err := os.OpenFile(f.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return errors.Wrap(err, "cannot open change log")
	}

	open, err := endsInLine(file)
	if err != nil {
		_ = file.Close() // The error at hand is the one to tell.

		return errors.Wrap(err, "cannot read the end of the change log")
	}

	f.file, f.lines.open = file, open

	return nil
}

// endsInLine reports whether the last line of the file is not finished, because
// its writer was.
func endsInLine(file *os.File) (bool, error) {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}

	last := make([]byte, 1)
	_, err = file.ReadAt(last, info.Size()-1)

	return err == nil && last[0] != '\n', err
}

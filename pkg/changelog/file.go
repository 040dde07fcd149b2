package changelog

import (
	"context"
	"os"
	"sync"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A File is a sink that appends lines of JSON to a file, like NewJSON. Only the owner of the file may read it. If the
// file was moved or removed, for instance by a log rotation, the next entry is written to a new file with the same
// name. A File is safe for concurrent use.
type File struct {
	path string

	mu     sync.Mutex
	file   *os.File // nil if it is closed, or could not be opened again
	writer lineWriter
	closed bool
}

// OpenFile opens the file for appending, and creates it if it does not exist. It must be
// a regular file. The size of the file is not limited: use a log rotation.
func OpenFile(path string) (*File, error) {
	f := &File{path: path}
	if err := f.reopen(); err != nil {
		return nil, err
	}

	return f, nil
}

// Record appends the entry.
func (f *File) Record(_ context.Context, e Entry) error {
	b, err := encodeLine(e)
	if err != nil {
		return err
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	if f.closed {
		return errors.New("cannot write change log entry: the file is closed")
	}

	if !f.isCurrent() {
		if err := f.reopen(); err != nil {
			return err
		}
	}

	return f.writer.writeLine(f.file, b)
}

// Close closes the file. Later entries return an error.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.closed = true
	if f.file == nil {
		return nil
	}

	err := f.file.Close()
	f.file = nil

	return errors.Wrap(err, "cannot close change log")
}

// isCurrent reports whether the open file is still the file at the path.
func (f *File) isCurrent() bool {
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

// reopen opens the file at the path.
func (f *File) reopen() error {
	if f.file != nil {
		_ = f.file.Close() // nothing is lost: every line was written with one call
		f.file = nil
	}

	// Opening a pipe would block until it has a reader.
	if info, err := os.Stat(f.path); err == nil && !info.Mode().IsRegular() {
		return errors.Errorf("cannot open change log %q: it is not a regular file", f.path)
	}

	file, err := os.OpenFile(f.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return errors.Wrap(err, "cannot open change log")
	}

	open, err := hasUnfinishedLine(file)
	if err != nil {
		_ = file.Close() // the read error is the one to return

		return errors.Wrap(err, "cannot read the end of the change log")
	}

	f.file, f.writer.unfinished = file, open

	return nil
}

// hasUnfinishedLine reports whether the last line of the file was written only in part.
func hasUnfinishedLine(file *os.File) (bool, error) {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}

	last := make([]byte, 1)
	_, err = file.ReadAt(last, info.Size()-1)

	return err == nil && last[0] != '\n', err
}

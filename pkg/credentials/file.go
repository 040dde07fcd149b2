package credentials

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

func (e *Extractor) fromFile(sel *commonv1.FsSelector) ([]byte, error) {
	if sel == nil || sel.Path == "" {
		return nil, missing("fs needs a path")
	}

	folder, name, ok := e.below(sel.Path)
	if !ok {
		return nil, notAllowed("the provider does not lend its file %q", sel.Path)
	}

	b, err := read(folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = &kind{error: err, is: errMissing}
	}

	if err != nil {
		return nil, errors.Wrapf(err, "cannot read file %q", sel.Path)
	}

	return found(b, "file %q", sel.Path)
}

// below returns the allowed folder in which the path is, and the rest of it.
func (e *Extractor) below(path string) (folder, name string, ok bool) {
	for _, folder := range e.folders {
		if !filepath.IsAbs(folder) || !filepath.IsAbs(path) {
			continue
		}

		name, err := filepath.Rel(folder, path)
		if err == nil && filepath.IsLocal(name) {
			return folder, name, true
		}
	}

	return "", "", false
}

// read opens the file through its folder, which nothing leaves: not a link, and
// not one that is put there while the path is followed.
func read(folder, name string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}

	defer root.Close()

	// To open a pipe would wait until somebody writes to it.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		// Whatever the system did not refuse, the root did.
		if errno := syscall.Errno(0); !errors.As(err, &errno) {
			return nil, notAllowed("a link leads out of its folder")
		}

		return nil, err
	}

	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return nil, err
	}

	if !info.Mode().IsRegular() {
		return nil, notAllowed("it is no regular file")
	}

	b, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err
	}

	if len(b) > MaxSize {
		return nil, notAllowed("it has more than %d bytes", MaxSize)
	}

	return b, nil
}

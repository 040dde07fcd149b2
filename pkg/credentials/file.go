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

// fromFile returns the content of a file.
func (e *Extractor) fromFile(sel *commonv1.FsSelector) ([]byte, error) {
	if sel == nil || sel.Path == "" {
		return nil, missing("fs needs a path")
	}

	folder, name, ok := e.allowedFolder(sel.Path)
	if !ok {
		return nil, notAllowed("the provider does not allow its file %q", sel.Path)
	}

	b, err := readFile(folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = &sentinelError{error: err, sentinel: errMissing}
	}

	if err != nil {
		return nil, errors.Wrapf(err, "cannot read file %q", sel.Path)
	}

	return nonEmpty(b, "file %q", sel.Path)
}

// allowedFolder returns the allowed folder that contains the path, and the relative path.
func (e *Extractor) allowedFolder(path string) (folder, name string, ok bool) {
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

// readFile opens the file relative to its folder, so that neither a link nor a concurrent replacement can lead out of
// the folder.
func readFile(folder, name string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}

	defer root.Close()

	// Without O_NONBLOCK, opening a pipe waits for a writer.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		// An error that has no errno comes from os.Root.
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

// Package files is the external system of the example: the files in a directory, and their owners.
package files

import (
	"context"
	stderrors "errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

const (
	owners = ".owners" // the marks: for each owned file, a file with the stamp of its object
	drafts = ".drafts" // files that are being written

	plain   = fs.FileMode(0o644)
	program = fs.FileMode(0o755)
)

// A Dir is a directory of files. Make one with Open.
type Dir struct {
	path   string
	device types.UID
	mu     sync.Mutex // held from reading the mark of a file until the file is changed
}

// Open creates the directory, if it does not exist, for the objects of a device.
func Open(path string, device types.UID) (*Dir, error) {
	for _, sub := range []string{owners, drafts} {
		if err := os.MkdirAll(filepath.Join(path, sub), 0o700); err != nil {
			return nil, errors.Wrap(err, "cannot make the directory of files")
		}
	}

	return &Dir{path: path, device: device}, nil
}

// Connect returns a client for one pass: there is nothing to connect to.
func (d *Dir) Connect(context.Context, *v1.File) (managed.TypedExternalClient[*v1.File], error) {
	return &client{Dir: d}, nil
}

// at returns the paths of a file and of its mark.
func (d *Dir) at(f *v1.File) (file, owner string, err error) {
	name := meta.GetExternalName(f)
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`) || !filepath.IsLocal(name) {
		return "", "", external.Terminal("NoNameOfAFile", errors.Errorf("%q is no name of a file", name))
	}

	return filepath.Join(d.path, name), filepath.Join(d.path, owners, name), nil
}

func (d *Dir) stamp(f *v1.File) managed.Stamp {
	return managed.NewStamp(d.device, schema.GroupVersionKind(v1.FileKind).GroupKind(), f)
}

func mode(f *v1.File) fs.FileMode {
	if f.Spec.Executable {
		return program
	}

	return plain
}

// draft writes the desired file to a temporary path, and returns that.
func (d *Dir) draft(f *v1.File) (string, error) { return d.write([]byte(f.Spec.Content), mode(f)) }

func (d *Dir) write(content []byte, mode fs.FileMode) (string, error) {
	draft, err := os.CreateTemp(filepath.Join(d.path, drafts), "*")
	if err != nil {
		return "", errors.Wrap(err, "cannot write")
	}
	_, err = draft.Write(content)
	err = stderrors.Join(err, draft.Chmod(mode), draft.Sync(), draft.Close())
	if err != nil {
		_ = os.Remove(draft.Name())
	}

	return draft.Name(), errors.Wrap(err, "cannot write")
}

// whose returns the stamp in a mark, or "" if there is no mark.
func whose(owner string) (string, error) {
	stamp, err := os.ReadFile(owner)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}

	return string(stamp), errors.Wrap(err, "cannot read whose the file is")
}

// mark makes the object the owner of a file, whatever owner the file has.
func (d *Dir) mark(f *v1.File, owner string) error {
	stamp := string(d.stamp(f))
	if was, err := whose(owner); err != nil || was == stamp {
		return err
	}
	draft, err := d.write([]byte(stamp), plain)
	if err != nil {
		return err
	}

	return errors.Wrap(os.Rename(draft, owner), "cannot write whose the file is")
}

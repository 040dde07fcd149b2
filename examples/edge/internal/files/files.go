// Package files is the external system of the example: the files in a directory,
// and who owns them.
package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	stderrors "errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

const (
	owners = ".owners" // holds, for each file of ours, a file with the stamp of its object
	drafts = ".drafts" // holds what is being written

	plain   = fs.FileMode(0o644)
	program = fs.FileMode(0o755)
)

// A Dir is a directory of files. Make one with Open.
type Dir struct {
	path   string
	device types.UID
}

// Open makes the directory, if there is none, for the objects of a device.
func Open(path string, device types.UID) (*Dir, error) {
	for _, sub := range []string{owners, drafts} {
		if err := os.MkdirAll(filepath.Join(path, sub), 0o700); err != nil {
			return nil, errors.Wrap(err, "cannot make the directory of files")
		}
	}

	return &Dir{path: path, device: device}, nil
}

// Connect returns the client: there is nothing to connect to.
func (d *Dir) Connect(context.Context, *v1.File) (managed.TypedExternalClient[*v1.File], error) {
	return d, nil
}

// At returns where a file and its owner are.
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

// Observe reads the file.
func (d *Dir) Observe(_ context.Context, f *v1.File) (managed.ExternalObservation, error) {
	file, owner, err := d.at(f)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot read the file")
	}
	info, err := os.Stat(file)
	if err != nil {
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot read the file")
	}
	whose, err := os.ReadFile(owner)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return managed.ExternalObservation{}, errors.Wrap(err, "cannot read whose the file is")
	}
	sum := sha256.Sum256(content)
	f.Status.Size, f.Status.Digest = info.Size(), hex.EncodeToString(sum[:])
	f.SetConditions(commonv1.Available())
	same := bytes.Equal(content, []byte(f.Spec.Content))

	return managed.ExternalObservation{
		ResourceExists: true, ResourceUpToDate: same && info.Mode().Perm() == mode(f), Owner: d.stamp(f).Owner(string(whose)),
		OwnerNamespace: managed.Stamp(whose).Namespace(),
		Diff:           fmt.Sprintf("content: as wanted is %v; mode: have %s, want %s", same, info.Mode().Perm(), mode(f)),
	}, nil
}

// Create writes the file, unless there is one.
func (d *Dir) Create(_ context.Context, f *v1.File) error {
	file, owner, err := d.at(f)
	if err != nil {
		return external.NotCreated(err)
	}
	if err := d.claim(owner, string(d.stamp(f))); err != nil {
		return err
	}
	draft, err := d.draft(f)
	if err != nil {
		return external.NotCreated(err)
	}
	defer func() { _ = os.Remove(draft) }()
	err = errors.Wrap(os.Link(draft, file), "cannot make the file") // which never replaces one
	if errors.Is(err, fs.ErrExist) {
		return external.AlreadyExists(err)
	}

	return external.NotCreated(err)
}

// Claim writes whose a file will be, which must be nobody else's.
func (d *Dir) claim(owner, stamp string) error {
	draft, err := d.write([]byte(stamp), plain)
	if err != nil {
		return external.NotCreated(err)
	}
	defer func() { _ = os.Remove(draft) }()
	err = os.Link(draft, owner)
	if !errors.Is(err, fs.ErrExist) {
		return external.NotCreated(errors.Wrap(err, "cannot write whose the file is"))
	}
	whose, err := os.ReadFile(owner)
	if err == nil && string(whose) != stamp {
		return external.AlreadyExists(errors.New("the file is another object's"))
	}

	return external.NotCreated(err)
}

// Draft writes what the file should be like somewhere else.
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

// Update replaces the file at once: nobody sees half of it.
func (d *Dir) Update(_ context.Context, f *v1.File) error {
	file, _, err := d.at(f)
	if err != nil {
		return err
	}
	draft, err := d.draft(f)
	if err != nil {
		return err
	}

	return errors.Wrap(os.Rename(draft, file), "cannot replace the file")
}

// Delete removes the file, and then whose it was.
func (d *Dir) Delete(_ context.Context, f *v1.File) error {
	file, owner, err := d.at(f)
	if err != nil {
		return err
	}
	for _, path := range []string{file, owner} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Wrap(err, "cannot remove the file")
		}
	}

	return nil
}

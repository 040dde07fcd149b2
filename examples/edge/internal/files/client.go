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

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A client observes and changes the file of one object, in one pass.
type client struct {
	*Dir

	found bool   // Observe has found the file
	seen  string // its owner stamp at that time
}

// Observe reads the file. The status shows nothing of a file that another object owns.
func (c *client) Observe(_ context.Context, f *v1.File) (managed.ExternalObservation, error) {
	file, owner, err := c.at(f)
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
	if c.seen, err = whose(owner); err != nil {
		return managed.ExternalObservation{}, err
	}
	c.found = true
	o := managed.ExternalObservation{ResourceExists: true, Owner: c.stamp(f).Owner(c.seen)}
	if o.Owner == managed.OwnerOther {
		o.OwnerStamp = managed.Stamp(c.seen)

		return o, nil // not up to date, whatever its content: it lacks our mark, which a forced Update writes
	}
	sum := sha256.Sum256(content)
	f.Status.Size, f.Status.Digest = info.Size(), hex.EncodeToString(sum[:])
	f.SetConditions(commonv1.Available())
	same, marked := bytes.Equal(content, []byte(f.Spec.Content)), o.Owner == managed.OwnerOurs || !adopted(f)
	o.ResourceUpToDate = same && marked && info.Mode().Perm() == mode(f)
	o.Diff = fmt.Sprintf("content: as wanted is %v; mode: have %s, want %s; mark: as wanted is %v",
		same, info.Mode().Perm(), mode(f), marked)

	return o, nil
}

// adopted reports whether the object has created or adopted a file, which must then have its mark.
func adopted(f *v1.File) bool { return !meta.GetExternalCreateSucceeded(f).IsZero() }

// Create writes the file, unless it exists.
func (c *client) Create(_ context.Context, f *v1.File) error {
	file, owner, err := c.at(f)
	if err != nil {
		return external.NotCreated(err)
	}
	draft, err := c.draft(f)
	if err != nil {
		return external.NotCreated(err)
	}
	defer func() { _ = os.Remove(draft) }()
	c.mu.Lock()
	defer c.mu.Unlock()
	// Checked before the mark is written: an existing file without an owner must not become ours by the mark.
	if _, err := os.Lstat(file); err == nil {
		return external.AlreadyExists(errors.Wrap(fs.ErrExist, "cannot make the file"))
	}
	// A mark without a file is left by a creation or a deletion that was interrupted. It is overwritten.
	if err := c.mark(f, owner); err != nil {
		return external.NotCreated(err)
	}
	err = errors.Wrap(os.Link(draft, file), "cannot make the file") // Link never replaces a file
	if errors.Is(err, fs.ErrExist) {
		return external.AlreadyExists(stderrors.Join(err, os.Remove(owner)))
	}

	return external.NotCreated(err)
}

// Update replaces the file atomically.
func (c *client) Update(_ context.Context, f *v1.File) error {
	file, owner, err := c.at(f)
	if err != nil {
		return err
	}
	draft, err := c.draft(f)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft) }()
	c.mu.Lock()
	defer c.mu.Unlock()
	exists, err := c.owned(f, file, owner)
	if err == nil && !exists {
		err = errors.New("another program has just removed the file")
	}
	if err != nil {
		return err
	}
	if err := c.mark(f, owner); err != nil {
		return err
	}

	return errors.Wrap(os.Rename(draft, file), "cannot replace the file")
}

// Delete removes the file, and then its mark.
func (c *client) Delete(_ context.Context, f *v1.File) error {
	file, owner, err := c.at(f)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	exists, err := c.owned(f, file, owner)
	if err != nil {
		return err
	}
	if !exists {
		return c.unmark(f, owner)
	}
	for _, path := range []string{file, owner} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Wrap(err, "cannot remove the file")
		}
	}

	return nil
}

// owned reports whether the file still exists, and fails if the object must not change it. A file that has another mark
// or none may be changed only if the mark is the one that Observe saw in this pass: the reconciler has then decided to
// adopt it, as the adoption policy allows.
func (c *client) owned(f *v1.File, file, owner string) (exists bool, err error) {
	switch _, err := os.Lstat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, errors.Wrap(err, "cannot see whose the file is")
	}
	mark, err := whose(owner)
	if err == nil && c.stamp(f).Owner(mark) != managed.OwnerOurs && (!c.found || mark != c.seen) {
		err = errors.New("the file is not this object's, or has just become another's: it is left alone")
	}

	return true, err
}

// unmark removes the object's own mark, if there is one: an interrupted creation leaves a mark without a file.
func (c *client) unmark(f *v1.File, owner string) error {
	mark, err := whose(owner)
	if err != nil || c.stamp(f).Owner(mark) != managed.OwnerOurs {
		return err
	}

	return errors.Wrap(os.Remove(owner), "cannot remove whose the file was")
}

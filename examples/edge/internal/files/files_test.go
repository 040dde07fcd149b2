package files_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/examples/edge/internal/files"
	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

func newFile(name, uid string) *v1.File {
	f := &v1.File{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "f", UID: types.UID(uid)},
		Spec:       v1.FileSpec{Content: "content", Executable: true},
	}
	meta.SetExternalName(f, name)

	return f
}

// pass returns the client of a new pass.
func pass(t *testing.T, d *files.Dir) managed.TypedExternalClient[*v1.File] {
	t.Helper()
	c, err := d.Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}

	return c
}

// A place is a directory with one file name, and two objects that both want it.
type place struct {
	*testing.T
	*files.Dir

	path         string
	ours, theirs *v1.File
}

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{T: t, path: filepath.Join(t.TempDir(), "files"), ours: newFile("f", "1"), theirs: newFile("f", "2")}
	var err error
	if p.Dir, err = files.Open(p.path, "device"); err != nil {
		t.Fatal(err)
	}
	p.theirs.Spec.Content = "something else"

	return p
}

func (p place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// byHand writes the file without a mark.
func (p place) byHand() { p.must(os.WriteFile(filepath.Join(p.path, "f"), []byte("by hand"), 0o600)) }

// holds checks the content of the file, and the owner that the object f observes.
func (p place) holds(content string, f *v1.File, want managed.Owner, upToDate bool) {
	p.Helper()
	got, err := os.ReadFile(filepath.Join(p.path, "f"))
	if err != nil || string(got) != content {
		p.Errorf("the file has %q, %v; want %q", got, err, content)
	}
	o, err := pass(p.T, p.Dir).Observe(p.Context(), f.DeepCopyObject().(*v1.File))
	if err != nil || !o.ResourceExists || o.Owner != want || o.ResourceUpToDate != upToDate ||
		(o.OwnerStamp != "") != (want == managed.OwnerOther) {
		p.Errorf("object %s observes %+v, %v; want owner %s, up to date: %t", f.UID, o, err, want, upToDate)
	}
}

// holdsNothing checks that no file, mark or draft is left.
func (p place) holdsNothing() {
	p.Helper()
	var left []string
	for _, pattern := range []string{"f", "*/*"} {
		found, err := filepath.Glob(filepath.Join(p.path, pattern))
		p.must(err)
		left = append(left, found...)
	}
	if len(left) > 0 {
		p.Errorf("left behind: %v", left)
	}
}

// refused checks that a pass neither changes nor deletes the file.
func (p place) refused(c managed.TypedExternalClient[*v1.File], f *v1.File) {
	p.Helper()
	if err := c.Update(p.Context(), f); err == nil {
		p.Errorf("Update by object %s: want an error", f.UID)
	}
	if err := c.Delete(p.Context(), f); err == nil {
		p.Errorf("Delete by object %s: want an error", f.UID)
	}
}

func TestNames(t *testing.T) {
	root := t.TempDir()
	d, err := files.Open(filepath.Join(root, "files"), "device")
	if err != nil {
		t.Fatal(err)
	}
	for name, fits := range map[string]bool{
		"motd": true, "a b.txt": true, "": false, ".": false, "..": false, "../x": false, "/etc/passwd": false,
		"a/b": false, `a\b`: false, ".owners": false,
	} {
		f, d := newFile(name, "1"), pass(t, d)
		if err := d.Create(t.Context(), f); (err == nil) != fits {
			t.Errorf("Create of %q: %v", name, err)
		}
		if _, err := d.Observe(t.Context(), f); (err == nil) != fits {
			t.Errorf("Observe of %q: %v", name, err)
		}
		if err := d.Delete(t.Context(), f); (err == nil) != fits {
			t.Errorf("Delete of %q: %v", name, err)
		}
	}
	outside, err := os.ReadDir(root)
	if err != nil || len(outside) != 1 {
		t.Errorf("outside of the directory: %v, %v", outside, err)
	}
}

// TestOwners: a file of another object is neither shown nor changed.
func TestOwners(t *testing.T) {
	p := newPlace(t)
	p.must(pass(t, p.Dir).Create(t.Context(), p.ours))
	if info, err := os.Stat(filepath.Join(p.path, "f")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the file: %v, %v", info, err)
	}
	p.theirs.Spec = p.ours.Spec // even if it wants the same
	if err := pass(t, p.Dir).Create(t.Context(), p.theirs); !external.IsAlreadyExists(err) {
		t.Errorf("a second object makes the file, too: %v", err)
	}
	p.refused(pass(t, p.Dir), p.theirs)
	_, err := pass(t, p.Dir).Observe(t.Context(), p.theirs)
	if err != nil || p.theirs.Status.Size != 0 || len(p.theirs.Status.Conditions) > 0 {
		t.Errorf("of a file of another's the object shows %+v, %v", p.theirs.Status, err)
	}
	p.holds("content", p.ours, managed.OwnerOurs, true)
	p.holds("content", p.theirs, managed.OwnerOther, false)
	p.must(pass(t, p.Dir).Delete(t.Context(), p.ours))
	p.holdsNothing()
}

// TestByHand: a file made by hand has no owner, and a Create does not change that. The object that adopts the file
// marks it.
func TestByHand(t *testing.T) {
	p := newPlace(t)
	p.byHand()
	err := pass(t, p.Dir).Create(t.Context(), p.ours)
	if !external.IsAlreadyExists(err) || !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file made by hand is replaced: %v", err)
	}
	p.holds("by hand", p.ours, managed.OwnerNone, false)
	p.refused(pass(t, p.Dir), p.ours) // this pass has not observed it

	p.ours.Spec = v1.FileSpec{Content: "by hand"}
	p.must(os.Chmod(filepath.Join(p.path, "f"), 0o644))
	p.holds("by hand", p.ours, managed.OwnerNone, true) // the adoption policy asks whether it matches
	meta.SetExternalCreateSucceeded(p.ours, time.Unix(1, 0))
	p.holds("by hand", p.ours, managed.OwnerNone, false) // adopted: it lacks the mark
	c := pass(t, p.Dir)
	if _, err := c.Observe(t.Context(), p.ours); err != nil {
		t.Fatal(err)
	}
	p.must(c.Update(t.Context(), p.ours))
	p.holds("by hand", p.ours, managed.OwnerOurs, true)
	p.holds("by hand", p.theirs, managed.OwnerOther, false)
}

// TestForce: a file with the mark of another object is updated and marked, or deleted, by a pass that has observed it:
// the reconciler asks for that only under the adoption policy Force. A file whose mark has changed since the
// observation is left alone.
func TestForce(t *testing.T) {
	p := newPlace(t)
	p.must(pass(t, p.Dir).Create(t.Context(), p.ours))
	c, late := pass(t, p.Dir), pass(t, p.Dir)
	for _, of := range []managed.TypedExternalClient[*v1.File]{c, late} {
		if _, err := of.Observe(t.Context(), p.theirs); err != nil {
			t.Fatal(err)
		}
	}
	p.must(c.Update(t.Context(), p.theirs))
	p.holds("something else", p.theirs, managed.OwnerOurs, true)
	p.holds("something else", p.ours, managed.OwnerOther, false)
	p.refused(pass(t, p.Dir), p.ours)

	third := newFile("f", "3")
	p.refused(late, third) // this pass has observed the first mark
	c = pass(t, p.Dir)
	if _, err := c.Observe(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	p.must(c.Delete(t.Context(), third))
	p.holdsNothing()
}

// TestCutOff: an interrupted creation or deletion, which leaves a mark without a file, does not block the name.
func TestCutOff(t *testing.T) {
	p := newPlace(t)
	cut := func() {
		p.must(pass(t, p.Dir).Create(t.Context(), p.ours))
		p.must(os.Remove(filepath.Join(p.path, "f")))
	}
	cut()
	p.must(pass(t, p.Dir).Delete(t.Context(), p.theirs)) // there is no file
	p.must(pass(t, p.Dir).Create(t.Context(), p.theirs))
	p.holds("something else", p.theirs, managed.OwnerOurs, true)
	p.must(pass(t, p.Dir).Delete(t.Context(), p.theirs))

	cut()
	p.must(pass(t, p.Dir).Delete(t.Context(), p.theirs)) // the mark is not theirs
	if _, err := os.Stat(filepath.Join(p.path, ".owners", "f")); err != nil {
		t.Errorf("another's mark is taken away: %v", err)
	}
	p.must(pass(t, p.Dir).Delete(t.Context(), p.ours))
	p.byHand()
	p.holds("by hand", p.theirs, managed.OwnerNone, false)
}

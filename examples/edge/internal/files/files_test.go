package files_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/examples/edge/internal/files"
	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

func newFile(name, uid string) *v1.File {
	f := &v1.File{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "f", UID: types.UID(uid)}, Spec: v1.FileSpec{Content: "content", Executable: true}}
	meta.SetExternalName(f, name)

	return f
}

func TestNames(t *testing.T) {
	root := t.TempDir()
	d, err := files.Open(filepath.Join(root, "files"), "device")
	if err != nil {
		t.Fatal(err)
	}
	for name, fits := range map[string]bool{
		"motd": true, "a b.txt": true, "": false, ".": false, "..": false, "../x": false, "/etc/passwd": false, "a/b": false, `a\b`: false, ".owners": false,
	} {
		f := newFile(name, "1")
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

func TestOwners(t *testing.T) {
	path := t.TempDir()
	d, err := files.Open(path, "device")
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := newFile("f", "1"), newFile("f", "2")
	if err := d.Create(t.Context(), ours); err != nil {
		t.Fatal(err)
	}
	for of, want := range map[*v1.File]managed.Owner{ours: managed.OwnerOurs, theirs: managed.OwnerOther} {
		o, err := d.Observe(t.Context(), of)
		if err != nil || o.Owner != want || !o.ResourceExists || !o.ResourceUpToDate {
			t.Errorf("object %s observes %+v, %v", of.UID, o, err)
		}
	}
	if err := d.Create(t.Context(), theirs); err == nil {
		t.Error("a second object makes the file, too")
	}
	if info, err := os.Stat(filepath.Join(path, "f")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if err := d.Delete(t.Context(), ours); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "f"), []byte("by hand"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Create(t.Context(), theirs); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file made by hand is replaced: %v", err)
	}
	if content, err := os.ReadFile(filepath.Join(path, "f")); string(content) != "by hand" {
		t.Errorf("the file made by hand: %q, %v", content, err)
	}
	drafts, err := os.ReadDir(filepath.Join(path, ".drafts"))
	if err != nil || len(drafts) != 0 {
		t.Errorf("left behind: %v, %v", drafts, err)
	}
}

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// checkClean refuses a folder with uncommitted changes, because they could not be restored.
func checkClean(in *invocation, dir string) error {
	if _, err := exec.LookPath("git"); err != nil {
		return errors.New(
			"git is missing on this machine, so nothing says whether all is committed: install it, or go on by --dirty")
	}

	cmd := exec.CommandContext(in.ctx, "git", "-C", dir, "status", "--porcelain", "--", ".")

	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf(
			"%s is in no repository of git, so what is changed could not be undone: git init, commit, and ask again; or go on "+
				"by --dirty", dir)
	}

	if first, _, _ := strings.Cut(string(out), "\n"); first != "" {
		return fmt.Errorf(
			"not all is committed in %s, %q for one, so what is changed could not be told from it: commit it and ask again, "+
				"or go on by --dirty", dir, strings.TrimSpace(first))
	}

	return nil
}

// read returns the current version of a file.
func read(dir, path string) (scaffold.Version, error) {
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
	if errors.Is(err, fs.ErrNotExist) {
		return scaffold.Version{}, nil
	}

	return scaffold.Version{Exists: err == nil, Text: string(text)}, err
}

// write brings a file to a version.
func write(dir, path string, to scaffold.Version) error {
	path = filepath.Join(dir, filepath.FromSlash(path))

	if !to.Exists {
		return os.Remove(path)
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}

	return os.WriteFile(path, []byte(to.Text), 0o644)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// treeHash returns a hash of the contents of all files of the working tree, except the page. It includes uncommitted
// files, and files that a user's git settings hide. It does not include files that the repository ignores, which are
// build results.
func treeHash(ctx context.Context) (string, error) { return hashOf(ctx, "HEAD", true) }

// hashOf hashes the contents of a commit, or of the working tree on top of it.
func hashOf(ctx context.Context, commit string, worktree bool) (string, error) {
	dir, err := os.MkdirTemp("", "proof-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	steps := [][]string{{"read-tree", commit}, {"rm", "--cached", "--quiet", "--ignore-unmatch", "--", page}}
	if worktree {
		others := filepath.Join(dir, "others")
		list, err := git(ctx, nil, "ls-files", "-z", "--others", "--exclude-per-directory=.gitignore", "--", ".",
			":!"+page)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(others, []byte(list), 0o600); err != nil {
			return "", err
		}
		raw := []string{"-c", "core.attributesFile=/dev/null", "-c", "core.autocrlf=false", "add"}
		steps = append(steps[:1], slices.Concat(raw, []string{"--update", "."}),
			slices.Concat(raw, []string{"--force", "--pathspec-file-nul", "--pathspec-from-file=" + others}), steps[1])
		if list == "" {
			steps = slices.Delete(steps, 2, 3)
		}
	}
	for _, args := range steps {
		if _, err := git(ctx, env, args...); err != nil {
			return "", err
		}
	}
	return git(ctx, env, "write-tree")
}

// toolchain returns the version of Go and its target.
func toolchain(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH", "GOEXPERIMENT").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	return strings.Join(strings.Fields(string(out)), "-"), nil
}

func git(ctx context.Context, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// lock prevents a second proof of the same checkout until the returned function is called or this process ends.
func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another proof of this checkout runs: %w", err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

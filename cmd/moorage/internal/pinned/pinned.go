// Package pinned finds, for tests, programs in the versions that a go.mod pins. Begin with [Tool].
package pinned

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Tool returns the path of a program that the go.mod in a folder lists as a tool, and compiles it first if needed, see
// Alone.
func Tool(dir, name string) (path string, err error) {
	var out, stderr bytes.Buffer

	cmd := exec.Command("go", "tool", "-n", name)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off")

	if err := Alone(cmd.Run); err != nil {
		return "", fmt.Errorf("cannot compile %s: %w\n%s", name, err, &stderr)
	}

	return strings.TrimSpace(out.String()), nil
}

// Alone compiles something large under a lock: of several processes one compiles and the others wait, because Go would
// compile everything in each of them.
func Alone(compile func() error) (err error) {
	cache, err := os.UserCacheDir() // one per user, as the build cache
	if err != nil {
		return err
	}

	dir := filepath.Join(cache, "moorage")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}

	lock, err := os.OpenFile(filepath.Join(dir, "pinned-tools.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // releases the lock

	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("cannot wait for others that compile: %w", err)
	}

	return compile()
}

package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockPoll is the interval at which acquire tries to take the lock again. A blocking call could not be canceled when
// the context ends.
const lockPoll = 100 * time.Millisecond

// acquire waits for the lock of the file at path, and creates the file. It calls waiting about every ten seconds. To
// release the lock, close the file.
func acquire(ctx context.Context, path string, waiting func(elapsed time.Duration)) (*os.File, error) {
	begin := time.Now()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	next := time.Duration(0)
	for {
		f, err := tryAcquire(path)
		if f != nil || err != nil {
			return f, err
		}
		if elapsed := time.Since(begin); elapsed >= next {
			waiting(elapsed)
			next = elapsed + 10*time.Second
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("cannot get lock %s: %w", path, ctx.Err())
		case <-tick.C:
		}
	}
}

// tryAcquire returns the locked file. If another process holds the lock, it returns nil and no error.
func tryAcquire(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("cannot make folder for lock: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open lock: %w", err)
	}
	ok, err := flock(f)
	if ok {
		return f, nil
	}
	_ = f.Close()
	if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	}
	return nil, nil
}

package child

import (
	"bytes"
	"strings"
	"sync"
)

// A tail keeps the last lines that are written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailSize = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.kept = append(t.kept, b...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = bytes.Clone(t.kept[over:])
	}

	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()

	text := string(t.kept)
	if len(t.kept) == tailSize {
		_, text, _ = strings.Cut(text, "\n") // the first line is cut
	}

	return text
}

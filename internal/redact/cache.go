package redact

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"sync"
)

// A Cache has redacted texts, for masks that [Mask.WithCache] connects with it. A failure is repeated with the same
// text, and reported in several places each time, and the redaction of a text takes a good part of a millisecond. A
// Cache has no effect on any result.
//
// A text is stored by the digest of its inputs, so a Cache stores no secret, and masks of different secrets may share
// it. It has the last few hundred texts. The zero value is empty and ready to use. A Cache may be used concurrently,
// and must not be copied.
type Cache struct {
	mu       sync.RWMutex
	current  map[digest]string
	previous map[digest]string // the entries before current was full
}

// maxEntries bounds each generation of a Cache. An entry has MaxLen bytes at most.
const maxEntries = 256

// get returns the text of a digest, and calls compute if there is none.
func (c *Cache) get(key digest, compute func() string) string {
	c.mu.RLock()
	text, ok := c.current[key]
	older, kept := c.previous[key]
	c.mu.RUnlock()

	switch {
	case ok:
		return text
	case kept:
		text = older
	default:
		text = compute()
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	if c.current == nil || len(c.current) >= maxEntries {
		c.current, c.previous = map[digest]string{}, c.current
	}
	c.current[key] = text

	return text
}

// A digest is a hash that does not reveal its input.
type digest [sha256.Size]byte

// keyOf returns the digest of the part of a text that is read, after the digest of the
// secrets of a mask.
func keyOf(secrets digest, s string) digest {
	seen := s[:min(len(s), windows*MaxLen)]

	return digestOf(secrets, seen, strconv.FormatBool(len(seen) < len(s)))
}

// digestOf returns the digest of another digest and of texts.
func digestOf(before digest, texts ...string) digest {
	size := len(before)
	for _, text := range texts {
		size += binary.MaxVarintLen64 + len(text)
	}

	all := append(make([]byte, 0, size), before[:]...)
	for _, text := range texts {
		all = binary.AppendUvarint(all, uint64(len(text)))
		all = append(all, text...)
	}

	return sha256.Sum256(all)
}

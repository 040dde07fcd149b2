package redact

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"sync"
)

// lately is what was redacted lately. What fails fails again with the same words, and
// is told in several places each time, while to redact it takes a good part of a
// millisecond.
var lately answers

// answers are redacted texts by the digest of what they were made of, so that nothing
// secret is kept. The zero value has none. They may be used concurrently.
type answers struct {
	mu     sync.RWMutex
	some   map[digest]string
	before map[digest]string // what was some, when there was less of it
}

// most is how many answers are some. Each has MaxLen bytes at most.
const most = 256

// say returns the answer of a digest, which answer makes if it is not known.
func (a *answers) say(to digest, answer func() string) string {
	a.mu.RLock()
	text, ok := a.some[to]
	older, kept := a.before[to]
	a.mu.RUnlock()

	switch {
	case ok:
		return text
	case kept:
		text = older
	default:
		text = answer()
	}

	a.mu.Lock()
	defer a.mu.Unlock()

	if a.some == nil || len(a.some) >= most {
		a.some, a.before = map[digest]string{}, a.some
	}
	a.some[to] = text

	return text
}

// digest is a hash by which it cannot be told what was hashed.
type digest [sha256.Size]byte

// of returns the digest of what is looked at of a text, with the secrets of a mask
// digested before.
func of(secrets digest, s string) digest {
	seen := s[:min(len(s), windows*MaxLen)]

	return digestOf(secrets, seen, strconv.FormatBool(len(seen) < len(s)))
}

// digestOf returns the digest of texts, after something that was digested before.
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

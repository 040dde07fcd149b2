package redact

import (
	"context"
	"slices"
	"sync"
)

// Secrets collects the secrets that become known during an operation, so that they can be removed from the errors,
// events and logs of the operation. The zero value is empty and ready to use. It may be used concurrently.
type Secrets struct {
	mu    sync.Mutex
	known [][]byte
}

type secretsKey struct{}

// Collect returns a context in which Conceal adds to s.
func Collect(ctx context.Context, s *Secrets) context.Context {
	return context.WithValue(ctx, secretsKey{}, s)
}

// Conceal adds secrets to the collection that the function Collect put into ctx. Without a collection it does nothing.
func Conceal(ctx context.Context, secrets ...[]byte) {
	s, ok := ctx.Value(secretsKey{}).(*Secrets)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		s.known = append(s.known, slices.Clone(secret))
	}
}

// Conceal adds the secrets of s to the collection that the function Collect put into ctx. It does not copy the secrets,
// unlike the function Conceal. Use it for secrets that several collections share. A nil Secrets has none.
func (s *Secrets) Conceal(ctx context.Context) {
	to, ok := ctx.Value(secretsKey{}).(*Secrets)
	if s == nil || !ok || to == s {
		return
	}
	s.mu.Lock()
	known := slices.Clip(s.known)
	s.mu.Unlock()
	to.mu.Lock()
	defer to.mu.Unlock()
	if to.known == nil {
		to.known = known
	} else {
		to.known = append(to.known, known...)
	}
}

// Len returns the number of secrets collected so far.
func (s *Secrets) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return len(s.known)
}

// Mask returns a mask of the secrets collected so far and of the given ones.
func (s *Secrets) Mask(more ...[]byte) *Mask {
	s.mu.Lock()
	defer s.mu.Unlock()

	return NewMask(slices.Concat(s.known, more)...)
}

package managed

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// The number of PBKDF2 rounds. They make it slow to guess published values from a status: a millisecond for the
// reconciler, which derives the key once, and as much for each guess.
const rounds = 4096

// A hashInput is the digest of the details of one object.
type hashInput struct {
	digest [sha256.Size]byte
	uid    types.UID
}

// A hashCache maps inputs to derived keys. It keeps only a few, because a long-lived object needs its key once. The
// zero value is an empty cache. It is safe for concurrent use.
type hashCache struct {
	mu   sync.Mutex
	keys map[hashInput]string
}

const mostDerivations = 64

func (d *hashCache) derive(of hashInput) string {
	d.mu.Lock()
	known := d.keys[of]
	d.mu.Unlock()
	if known != "" {
		return known
	}
	key, _ := pbkdf2.Key(sha256.New, string(of.digest[:]), []byte(of.uid), rounds,
		16) // never fails for the key length used here
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keys == nil || len(d.keys) >= mostDerivations {
		d.keys = map[hashInput]string{}
	}
	d.keys[of] = hex.EncodeToString(key)

	return d.keys[of]
}

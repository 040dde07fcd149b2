package managed

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Rounds make it slow to guess from a status what was published: a millisecond
// for us, who do it once, and as much for each guess.
const rounds = 4096

// Slowly is what was derived lately, which whoever makes reconcilers by the thousand
// derives again and again.
var slowly hashCache

// A hashInput is of the digest of details, for one object.
type hashInput struct {
	digest [sha256.Size]byte
	uid    types.UID
}

// hashCache are keys by what they were derived from: some, because an object that is
// there for long is asked for once. The zero value has none. They may be used
// concurrently.
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
		16) // fails for no length that is used here
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keys == nil || len(d.keys) >= mostDerivations {
		d.keys = map[hashInput]string{}
	}
	d.keys[of] = hex.EncodeToString(key)

	return d.keys[of]
}

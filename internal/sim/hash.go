package sim

import (
	"hash/maphash"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// A trail has hashes of what has happened so far.
type trail struct {
	pass uint64 // the answers to the passes in progress
	last uint64 // the last answer: the same one again adds nothing

	changes int // number of changes of the server when objects was read
	objects []resource.Managed
	hashes  map[client.Object]uint64 // of stored objects
}

func hashed(words ...string) uint64 {
	sum := uint64(len(words))
	for _, word := range words {
		sum = mixed(sum, maphash.String(hashSeed, word))
	}

	return sum
}

func mixed(hash, more uint64) uint64 {
	hash = (hash ^ more) * 0x9E3779B97F4A7C15

	return hash ^ hash>>29
}

var hashSeed = maphash.MakeSeed()

func bit(b bool) uint64 {
	if b {
		return 1
	}

	return 0
}

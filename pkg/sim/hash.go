package sim

import (
	"hash/maphash"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// A trail tells what has happened so far.
type trail struct {
	pass uint64 // what the passes that are under way were told
	last uint64 // the last of it: to be told the same again is nothing new

	changes int // objects are those after so many
	objects []resource.Managed
	looks   map[client.Object]uint64 // of objects as they were stored
}

var hashSeed = maphash.MakeSeed()

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

func bit(b bool) uint64 {
	if b {
		return 1
	}

	return 0
}

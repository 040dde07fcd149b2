package sim

import (
	"strings"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// fingerprint returns a hash of the memory of a process about its objects, without what makes no difference. The memory
// of a reconciler that a test provides is not accessible; the hash then covers the operations that the reconciler has
// made.
func (p *process) fingerprint() uint64 {
	if p.runtime.states.Keeper == nil {
		return p.known.done.sum
	}

	return fingerprint{p.world.objects()}.sum(&p.runtime.states)
}

// A fingerprint hashes records. For a text of an object it hashes which text it is, and not its content.
type fingerprint struct{ objects []resource.Managed }

// sum returns the hash of all records.
func (r fingerprint) sum(states *objectstate.Handle) (sum uint64) {
	states.Records(func(key objectstate.Key, record objectstate.Record) {
		one, says := mixed(r.role(key.Object.Namespace), r.role(key.Object.Name)), uint64(0)
		for _, field := range record.Significant(r.role) {
			one, says = mixed(one, field), says|field
		}
		if says != 0 {
			sum += one
		}
	})

	return sum
}

// role returns which text of the objects a text is.
func (r fingerprint) role(text string) uint64 {
	for i, mg := range r.objects {
		switch {
		case strings.HasPrefix(recordOf(mg), text):
			return uint64(8*i + 2)
		case externalName(mg) == text:
			return uint64(8*i + 3)
		case string(mg.GetUID()) == text:
			return uint64(8*i + 4)
		case mg.GetName() == text:
			return uint64(8*i + 5)
		}
	}

	return 7
}

// A done is the set of operations that a process has made, with their results.
type done struct {
	sum   uint64
	known map[uint64]bool
}

func (d *done) add(words ...string) {
	if d.known == nil {
		d.known = map[uint64]bool{}
	}
	if h := hashed(words...); !d.known[h] {
		d.known[h] = true
		d.sum += h
	}
}

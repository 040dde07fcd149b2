package sim

import (
	"strings"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// remembers is a hash of what a process remembers of its objects, as far as that can
// make a difference. Of a reconciler that is not ours nobody knows where that is: what
// it has done stands for it.
func (p *process) remembers() uint64 {
	if p.states.Keeper == nil {
		return p.done.sum
	}

	return recall{p.world.objects()}.of(&p.states)
}

// A recall reads a memory. What it says of an object's own words, it says of which of them.
type recall struct{ objects []resource.Managed }

func (r recall) of(states *objectstate.Handle) (sum uint64) {
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

// role says what a text is to the objects.
func (r recall) role(text string) uint64 {
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

// Done is what a process has done at least once, and how that ended.
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

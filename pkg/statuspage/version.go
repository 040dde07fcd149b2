package statuspage

import (
	"fmt"
	"hash/fnv"
	"math/bits"
)

// backlogNoise is a number of waiting items that a queue or a connection has at any moment.
const backlogNoise = 100

// versionOf returns a text that is equal for equal fleets. Times of reconciles, counters of calls, and the lengths of
// queues within a factor of two do not count: they change at any moment, also if nothing happens to any object.
func (f *fleet) versionOf(changes uint64) string {
	h := fnv.New64a()
	write := func(values ...any) { fmt.Fprintln(h, values...) } // a hash returns no error
	write(f.leadership, changes)
	for _, k := range f.kinds {
		write(k.name, k.group, k.problem)
		for _, class := range k.queue {
			write(magnitude(class.Due))
		}
	}
	for i := range f.objects {
		mg := f.objects[i].mg
		for _, text := range [...]string{string(mg.GetUID()), mg.GetResourceVersion()} {
			_, _ = h.Write([]byte(text)) // as above
			_, _ = h.Write([]byte{0})
		}
	}
	for _, c := range f.connections {
		write(c.Name, c.Reason, c.Message, c.Scope, int(c.Rate), c.Resume.Unix(), magnitude(c.Waiting))
	}

	return fmt.Sprintf("%016x", h.Sum64())
}

// magnitude returns 0 for a number that is always there, and otherwise its size up to a factor of two.
func magnitude(n int) int {
	if n < backlogNoise {
		return 0
	}

	return bits.Len(uint(n))
}

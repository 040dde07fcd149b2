package sim

import (
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A trail tells what has happened so far in two hashes.
type trail struct {
	exact uint64 // all operations, with their answers and times, since the process began
	alike uint64 // how everything stands, and the operations of this pass

	stood   uint64 // how objects and external resources stood
	changes int    // when there had been so many changes
}

// Mix adds words to both hashes.
func (t *trail) mix(words ...string) {
	sum := hashed(words)
	t.exact, t.alike = mixed(t.exact, sum), mixed(t.alike, sum)
}

// MixTime adds a time, and how much has changed until then.
func (t *trail) mixTime(at time.Duration, changes int) {
	t.exact = mixed(mixed(t.exact, uint64(at)), uint64(changes))
}

func mixed(hash, more uint64) uint64 { return hash*1099511628211 ^ more }

func hashed(words []string) uint64 {
	h := fnv.New64a()
	for _, word := range words {
		_, _ = h.Write([]byte(word))
		_, _ = h.Write([]byte{0})
	}

	return h.Sum64()
}

// PassBegins is called when a pass begins. What matters of the past is how things
// stand now: in the API server, outside, and in the memory of the process, which
// depends on what it has done.
func (w *World) passBegins(p *process, key types.NamespacedName) {
	if p.active > 1 { // another is under way: that matters, too
		return
	}
	t := &w.trail
	if changes := w.changes(); t.stood == 0 || t.changes != changes {
		t.stood, t.changes = w.stands(), changes
	}
	t.alike = t.stood
	for _, n := range []int{w.phase, len(w.events), bit(w.excused), bit(w.stale), bit(w.users.acted)} {
		t.alike = mixed(t.alike, uint64(n))
	}
	for _, p := range w.alive() {
		for _, n := range []int{int(p.done.sum), int(p.clock.by), len(w.server.Changes(0)) - p.cache.read} {
			t.alike = mixed(t.alike, uint64(n))
		}
	}
	t.alike = mixed(t.alike, hashed([]string{key.Name}))
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
	if h := hashed(words); !d.known[h] {
		d.known[h] = true
		d.sum += h
	}
}

func bit(b bool) int {
	if b {
		return 1
	}

	return 0
}

// Stands is a hash of how objects and external resources are.
func (w *World) stands() uint64 {
	sum := hashed([]string{w.outside.Summary()})
	for _, mg := range w.users.all() {
		sum = mixed(sum, hashed(digest(mg)))
	}

	return sum
}

// Changes counts what changed in the API server and outside.
func (w *World) changes() int { return len(w.server.Changes(0)) + w.outside.Changes() }

// Hashes returns what came before a boundary: exactly, and but for what makes no
// difference.
func (w *World) hashes() (exact, alike uint64) {
	exact, alike = w.trail.exact, w.trail.alike
	times := append(make([]time.Time, 0, 8), w.apiBack, w.externalBack, w.refuses) // on the stack
	for _, p := range w.processes {
		if !p.dead {
			times = append(times, p.cache.frozen)
		}
	}
	sum := uint64(0)
	for i, t := range times {
		if t.After(w.now()) {
			sum = sum*31 + uint64(t.Sub(w.began))*uint64(i+2)
			alike = mixed(alike, uint64(i+1))
		}
	}

	return exact ^ sum, alike
}

// Forget makes the exact hash one of what is there: a process that begins knows
// nothing of what came before.
func (w *World) forget() {
	w.trail = trail{}
	w.trail.mix(w.since().String(), strconv.Itoa(w.phase), w.outside.Summary())
	for _, mg := range w.users.all() {
		w.trail.mix(digest(mg)...)
	}
	for _, p := range w.processes {
		if p.clock.by != 0 && !p.dead {
			w.trail.mix(p.clock.by.String())
		}
	}
	for _, e := range w.events {
		w.trail.mixTime(e.at.Sub(w.began), 0)
	}
}

// Digest is what matters of an object to a process that begins.
func digest(mg resource.Managed) []string {
	out := []string{mg.GetName(), string(mg.GetUID()), strconv.FormatInt(mg.GetGeneration(), 10), strconv.FormatBool(meta.WasDeleted(mg))}
	out = append(out, mg.GetFinalizers()...)
	for _, key := range slices.Sorted(maps.Keys(mg.GetAnnotations())) {
		value := mg.GetAnnotations()[key]
		if key == meta.AnnotationKeyCreateAttempt {
			_, value, _ = strings.Cut(value, "/")
		} else if strings.Contains(key, "external-create-") {
			value = ""
		}
		out = append(out, key, value)
	}
	for _, t := range []commonv1.ConditionType{commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeCreated} {
		c := mg.GetCondition(t)
		out = append(out, string(c.Status), string(c.Reason), strconv.FormatInt(c.ObservedGeneration, 10))
	}

	return out
}

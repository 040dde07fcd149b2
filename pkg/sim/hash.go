package sim

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A trail tells what has happened so far.
type trail struct {
	exact uint64 // all operations, with their answers and times, since the process began
	pass  uint64 // what the passes that are under way were told
	last  uint64 // the last of it: to be told the same again is nothing new

	changes int // objects are those after so many
	objects []resource.Managed
	looks   map[client.Object]uint64 // of objects as they were stored
}

// Mix adds words to the exact hash.
func (t *trail) mix(words ...string) { t.exact = mixed(t.exact, hashed(words...)) }

// MixTime adds a time, and how much has changed until then.
func (t *trail) mixTime(at time.Duration, changes int) {
	t.exact = mixed(mixed(t.exact, uint64(at)), uint64(changes))
}

// Changes counts what changed in the API server and outside.
func (w *World) changes() int { return len(w.server.Changes(0)) + w.outside.Changes() }

// Exactly returns a hash of all that came before a boundary.
func (w *World) exactly() uint64 {
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
		}
	}

	return w.trail.exact ^ sum
}

// Forget makes the exact hash one of what is there: a process that begins knows
// nothing of what came before.
func (w *World) forget() {
	w.trail.exact = 0
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

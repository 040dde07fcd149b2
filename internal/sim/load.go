package sim

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A load counts the work for one object, or for a Secret, in an hour.
type load struct {
	since                    time.Time
	passes, requests, writes int
	unstored                 int // writes of the status that the API server did not store

	away  time.Time // the API server went away
	tried int       // requests of it since
}

// judgeWrites checks that an object is not written more often than an hour allows.
func (w *World) judgeWrites(key types.NamespacedName) {
	l := w.loadOf(key)
	l.writes++
	if most := w.mostWrites(w.users.times[key]); l.writes > most {
		w.violate("L5", fmt.Sprintf("more than %d writes of %s in an hour", most, key.Name))
	}
}

// mostWrites returns how often an object may be written in an hour if it was created that many times. The writes are
// for its states, for a few messages about each fault, and for refused attempts.
func (w *World) mostWrites(lives int) int {
	lives = max(lives, 1)
	most := 10 + 3*lives + 2*w.plan.count
	for _, d := range w.plan.refusals {
		// They come in growing steps up to a minute, anew in each life, and in each process: a
		// fault may end one.
		most += 10*(lives+w.plan.count-1) + int(2*d.Minutes())
	}

	return most
}

// judgeUnstored checks that a status that the API server does not store is resent rarely: when the object changes, and
// a few times to find out whether it is stored now.
func (w *World) judgeUnstored(o Operation) {
	if o.Name != "patch/status" || w.effects.dropped != DroppedStatus || !w.now().Before(w.effects.drops) ||
		len(w.server.Changes(w.judged)) > 0 {
		return
	}
	l := w.loadOf(o.key)
	l.unstored++
	if most := 4 + 2*max(w.users.times[o.key], 1) + 2*w.plan.count; l.unstored > most {
		w.violate("L4", fmt.Sprintf("more than %d writes of the status of %s that were not stored, in an hour", most,
			o.key.Name))
	}
}

// judgeRequest checks that an operation does not exceed the allowed number of requests. A read of the cache is not a
// request.
func (w *World) judgeRequest(o Operation) {
	switch {
	case o.External && o.mg != nil:
		w.judgeLoad(keyOf(o.mg), 0, 1)
	case !o.External && !o.cached():
		w.judgeLoad(o.key, 0, 1)
	}
}

// judgeLoad checks that passes and requests, answered or not, stay within the limits for an hour, with any faults. In
// each process a recovery window begins again, with thirty observations at increasing intervals.
func (w *World) judgeLoad(key types.NamespacedName, passes, requests int) {
	l := w.loadOf(key)
	l.passes += passes
	l.requests += requests
	lives := max(w.users.times[key], 1)
	if most := 70 + 40*lives + 30*w.plan.count; l.passes > most {
		w.violate("L5", fmt.Sprintf("more than %d passes over %s in an hour", most, key.Name))
	}
	if most := 150 + 120*lives + 60*w.plan.count; l.requests > most {
		w.violate("L5", fmt.Sprintf("more than %d requests for %s in an hour", most, key.Name))
	}
}

// judgeAPIAway checks that an unavailable API server is not called again and again.
func (w *World) judgeAPIAway(key types.NamespacedName) {
	l := w.loadOf(key)
	if l.away.Before(w.effects.apiGone) {
		l.away, l.tried = w.effects.apiGone, 0
	}
	l.tried++
	away := w.now().Sub(w.effects.apiGone)
	if most := 20*len(w.processes) + int(2*away.Minutes()); l.tried > most {
		w.violate("L7", fmt.Sprintf("%d requests for %s of an API server that is unavailable since %s", l.tried,
			key.Name,
			away))
	}
}

// loadOf returns the load of the current hour.
func (w *World) loadOf(key types.NamespacedName) *load {
	l := w.work.loads[key]
	if l == nil {
		l = &load{since: w.now()}
		w.work.loads[key] = l
	}
	if w.now().Sub(l.since) >= time.Hour {
		l.since, l.passes, l.requests, l.writes, l.unstored = w.now(), 0, 0, 0, 0
	}

	return l
}

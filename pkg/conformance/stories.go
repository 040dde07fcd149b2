package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim"
)

// A story is the life of an object or two.
type story struct {
	name    string
	mutates *Mutation // what the story is about, if anything
	faults  bool      // tell it with faults
	unseen  bool      // the resource was never seen by the object: nobody can doubt that it is absent
	tell    func(*tale)
}

// A tale is a story that is being told of a sample.
type tale struct {
	*sim.World
	*kit

	story
	sample resource.Managed
	second resource.Managed // another sample, or nil
	key    types.NamespacedName
	uid    types.UID
	waited time.Duration

	doubted bool // what is there may be said not to exist
}

// stories are those that the suite allows to be told.
func (k *kit) stories() []story {
	out := []story{{name: "create", faults: true, tell: (*tale).creates}}
	first := true
	for i := range k.suite.Mutations {
		m := &k.suite.Mutations[i]
		if m.Immutable {
			out = append(out, story{name: "immutable-" + m.Name, mutates: m, tell: (*tale).refuses})

			continue
		}
		out = append(out, story{name: "update-" + m.Name, mutates: m, faults: first, tell: (*tale).updates})
		if first {
			out = append(out, story{name: "pause", mutates: m, tell: (*tale).pauses})
		}
		first = false
	}
	out = append(out,
		story{name: "delete", faults: true, tell: (*tale).deletes},
		story{name: "recreate", faults: true, tell: (*tale).recreates},
		story{name: "observe-only", tell: (*tale).observes},
		story{name: "orphan", tell: (*tale).orphans},
	)
	if k.class == Named {
		out = append(out, story{name: "removed", tell: (*tale).removed})
	}
	if _, ok := k.suite.Probe.(Drifter); ok {
		out = append(out, story{name: "drift", faults: true, tell: (*tale).drifts})
	}
	if _, ok := k.suite.Probe.(Stranger); ok {
		out = append(out, story{name: "adopt", faults: true, unseen: true, tell: (*tale).adopts})
		if k.ledger.traits.Stamped {
			out = append(out, story{name: "stranger", faults: true, unseen: true, tell: (*tale).meets})
		}
	}
	if _, ok := k.suite.Probe.(Breaker); ok {
		out = append(out, story{name: "outage", tell: (*tale).breaks})
	}
	if _, ok := k.suite.Probe.(Misrouter); ok {
		out = append(out, story{name: "misrouted", tell: (*tale).misroutes})
	}
	if _, ok := k.suite.Probe.(Hider); ok {
		out = append(out, story{name: "missed", tell: (*tale).missed})
	}
	if len(k.suite.Samples) > 1 {
		out = append(out, story{name: "two", faults: true, tell: (*tale).both})
	}

	return out
}

// begin creates the object.
func (t *tale) begin() { t.uid = t.make(t.sample, nil) }

// make creates an object of a sample, changed or not.
func (t *tale) make(sample resource.Managed, change func(resource.Managed)) types.UID {
	mg := fresh(sample)
	if change != nil {
		change(mg)
	}
	uid := t.Create(mg)
	t.names[uid] = sample.GetName()
	t.ledger.wanted[uid] = t.wants(sample, nil)

	return uid
}

// set gives the object the spec of its sample with a mutation, or without one.
func (t *tale) set(m *Mutation) {
	t.Change(t.key, func(mg resource.Managed) { t.spec(mg, m) })
}

func (t *tale) spec(mg resource.Managed, m *Mutation) {
	want := t.sample
	if t.second != nil && mg.GetName() == t.second.GetName() {
		want = t.second
	}
	spec := want
	if m != nil {
		_ = t.host.call(context.Background(), "Mutation.Change of "+m.Name, func(context.Context) error {
			spec = mutated(want, *m)

			return nil
		})
	}
	setSpec(mg, spec)
	t.ledger.wanted[mg.GetUID()] = t.wants(want, m)
}

// edit is what users do when a fault says so.
func (t *tale) edit(mg resource.Managed, n int) {
	for i := range t.suite.Mutations {
		if m := &t.suite.Mutations[i]; !m.Immutable {
			if n%2 == 0 {
				m = nil
			}
			t.spec(mg, m)

			return
		}
	}
}

// drift changes all that was made for an object behind everybody's back.
func (t *tale) drift() {
	d, ok := t.suite.Probe.(Drifter)
	if !ok {
		return
	}
	for id, of := range t.ledger.madeFor {
		if r, exists := t.ledger.have[id]; !exists || of == nobody || r.Deleting {
			continue
		}
		err := t.host.call(context.Background(), "Probe.Drift", func(ctx context.Context) error { return d.Drift(ctx, id) })
		if err != nil {
			_ = t.host.giveUp("probe-tells-the-truth", fmt.Sprintf("Probe.Drift of %q fails: %v", id, err))
		}
		t.ledger.acted = t.host.ended
	}
	t.ledger.look(t.ledger.creator)
}

// externalName returns the external name of the object.
func (t *tale) externalName() string {
	if mg := t.Get(t.key); mg != nil {
		return meta.GetExternalName(mg)
	}

	return ""
}

// pace waits for the external system as long as it is allowed to take.
func (t *tale) pace(d time.Duration) {
	if t.ledger.delay <= 0 || t.ledger.acted.IsZero() {
		return
	}
	waited := false
	_ = t.host.callFor(context.Background(), t.host.limit+t.ledger.delay, "waiting", func(context.Context) error {
		if rest := min(d, t.ledger.delay-time.Since(t.ledger.acted)); rest > 0 {
			waited = true
			<-time.After(rest)
		}

		return nil
	})
	if waited {
		t.ledger.look(t.ledger.creator)
	}
}

// patient waits for the external system as long as the author is patient.
func (t *tale) patient() bool {
	const step = 10 * time.Millisecond
	if t.waited >= t.suite.Patience || t.host.dead() {
		return false
	}
	t.waited += step
	_ = t.host.call(context.Background(), "waiting", func(context.Context) error {
		<-time.After(step)

		return nil
	})
	t.ledger.look(t.ledger.creator)

	return true
}

// run tells a story of a sample once, and returns what came of it.
func (k *kit) run(st story, sample resource.Managed, schedule sim.Schedule) sim.Result {
	before := k.known()
	t := &tale{kit: k, story: st, sample: sample, key: types.NamespacedName{Namespace: fresh(sample).GetNamespace(), Name: sample.GetName()}}
	for _, other := range k.suite.Samples {
		if other.GetName() != sample.GetName() {
			t.second = other
		}
	}
	t.doubted = slices.ContainsFunc(schedule.Faults, func(f sim.Fault) bool { return f.Kind == sim.AbsentLive })
	k.ran++
	k.ledger.reset()
	k.ledger.lax = len(schedule.Faults) > 0 // that looking changes nothing is seen without faults
	var r sim.Result
	synctest.Test(k.t, func(*testing.T) { r = t.tellAs(schedule) })
	k.ledger.violate, k.ledger.abort, k.ledger.lax = k.found, func() {}, false
	k.boundaries += r.Boundaries()
	if !k.host.dead() {
		k.clean(before)
	}

	return r
}

func (t *tale) tellAs(schedule sim.Schedule) (r sim.Result) {
	defer func() {
		if p := recover(); p != nil {
			_ = t.host.giveUp("calls-return", fmt.Sprintf("%s: the simulation panics: %v\n%s", schedule, p, stack()))
		}
	}()

	return sim.Trial{
		Config: sim.Config{
			Kind: t.suite.Kind, Scheme: t.suite.Scheme, Options: t.options(), Lag: 5 * time.Millisecond,
			NewConnecter: func() managed.ExternalConnecter { return t.newTap() }, Behind: t.newServer(),
		},
		Outside: t.ledger, Schedule: schedule, Secrets: t.suite.Secrets, Salt: t.salt + uint32(t.ran),
		Edit: t.edit, Drift: t.drift, Pace: t.pace, Patient: t.patient,
		Tell: func(w *sim.World) {
			t.World, t.ledger.violate, t.ledger.abort = w, w.Violate, w.Abort
			t.story.tell(t)
			t.searchSecrets()
		},
	}.Run(t.suite.Replay != "")
}

// searchSecrets looks for secrets in what is stored.
func (t *tale) searchSecrets() {
	mg := t.Get(t.key)
	if mg == nil {
		return
	}
	data, err := json.Marshal(mg)
	if err != nil {
		return // what cannot be encoded cannot be stored
	}
	for _, secret := range t.suite.Secrets {
		if strings.Contains(string(data), secret) {
			t.Violate("secrets-are-kept", "the object "+mg.GetName()+" shows one, as it is stored")
		}
	}
}

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

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// garbageCollection is the time after which the dependents of a deleted object are deleted. It is longer than the lag
// of the cache, so that a new object of the same name finds them, as it may in a cluster.
const garbageCollection = 200 * time.Millisecond

// A scenario is a sequence of changes to one or two objects, and the conditions that must hold during it.
type scenario struct {
	name          string
	mutation      *Mutation // the tested mutation, if any
	faults        bool      // also run it with faults
	neverObserved bool      // the object never observed its resource: a false absence is undetectable
	run           func(*scenarioRun)
}

// A scenarioRun is one run of a scenario with a sample.
type scenarioRun struct {
	*sim.World
	*runner

	scenario
	sample       resource.Managed
	second       resource.Managed // another sample, or nil
	key          types.NamespacedName
	uid          types.UID
	patienceUsed time.Duration
	lastWait     time.Time // the end of the last wait of the same Settle, or zero; real

	absenceReported bool // a fault reports an existing resource as absent
	disturbs        bool // the schedule has a fault

	logins  map[types.UID]login // that succeeded last
	deleted deletedSecret       // by a user
}

// scenarios returns the scenarios that can run with the suite.
func (k *runner) scenarios() []scenario {
	out := []scenario{{name: "create", faults: true, run: (*scenarioRun).create}}
	first := true
	for i := range k.suite.Mutations {
		m := &k.suite.Mutations[i]
		if m.Immutable {
			out = append(out, scenario{name: "immutable-" + m.Name, mutation: m, run: (*scenarioRun).refuseImmutable})

			continue
		}
		out = append(out, scenario{name: "update-" + m.Name, mutation: m, faults: first, run: (*scenarioRun).update})
		if first {
			out = append(out, scenario{name: "pause", mutation: m, run: (*scenarioRun).pause})
		}
		first = false
	}
	out = append(out,
		scenario{name: "delete", faults: true, run: (*scenarioRun).deleteObject},
		scenario{name: "recreate", faults: true, run: (*scenarioRun).recreate},
		scenario{name: "observe-only", run: (*scenarioRun).observeOnly},
		scenario{name: "orphan", run: (*scenarioRun).orphan},
	)
	if k.class == Named {
		out = append(out, scenario{name: "removed", run: (*scenarioRun).removeExternally})
	}
	if _, ok := k.suite.Probe.(Drifter); ok {
		out = append(out, scenario{name: "drift", faults: true, run: (*scenarioRun).drifted})
	}
	if _, ok := k.suite.Probe.(UnownedMaker); ok {
		out = append(out, scenario{name: "adopt", faults: true, neverObserved: true, run: (*scenarioRun).adopt})
		if k.ledger.traits.Stamped {
			out = append(out, scenario{
				name: "stranger", faults: true, neverObserved: true, run: (*scenarioRun).conflictWithUnowned,
			})
		}
	}
	if _, ok := k.suite.Probe.(Breaker); ok {
		out = append(out, scenario{name: "outage", run: (*scenarioRun).outage})
	}
	if _, ok := k.suite.Probe.(Misrouter); ok {
		out = append(out, scenario{name: "misrouted", run: (*scenarioRun).misrouted})
	}
	if _, ok := k.suite.Probe.(Hider); ok {
		out = append(out, scenario{name: "missed", run: (*scenarioRun).missedRead})
	}
	if k.publishes() {
		_, logsIn := k.suite.Probe.(Authenticator)
		out = append(out, scenario{name: "secret-deleted", faults: logsIn, run: (*scenarioRun).deleteSecret},
			scenario{name: "secret-of-predecessor", run: (*scenarioRun).inheritSecret})
	}
	if len(k.suite.Samples) > 1 {
		out = append(out, scenario{name: "two", faults: true, run: (*scenarioRun).deleteOneOfTwo})
	}

	return out
}

// createObject creates the object of the sample.
func (t *scenarioRun) createObject() { t.uid = t.createFrom(t.sample, nil) }

// createFrom creates an object of a sample, after an optional change.
func (t *scenarioRun) createFrom(sample resource.Managed, change func(resource.Managed)) types.UID {
	mg := fresh(sample)
	if change != nil {
		change(mg)
	}
	uid := t.Create(mg)
	t.names[uid] = sample.GetName()
	t.ledger.wanted[uid] = t.wantedState(sample, nil)

	return uid
}

// applyMutation sets the spec of the object to the spec of the sample. If m is not nil, it then applies the mutation.
func (t *scenarioRun) applyMutation(m *Mutation) {
	t.Change(t.key, func(mg resource.Managed) { t.setSpecOf(mg, m) })
}

// setSpecOf sets the spec of mg to the spec of its sample. If m is not nil, it then applies the mutation.
func (t *scenarioRun) setSpecOf(mg resource.Managed, m *Mutation) {
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
	t.ledger.wanted[mg.GetUID()] = t.wantedState(want, m)
}

// applyEdit makes the change of a user that the fault Edit simulates.
func (t *scenarioRun) applyEdit(mg resource.Managed, n int) {
	for i := range t.suite.Mutations {
		if m := &t.suite.Mutations[i]; !m.Immutable {
			if n%2 == 0 {
				m = nil
			}
			t.setSpecOf(mg, m)

			return
		}
	}
}

// driftAll changes all resources that were created for an object. It does not use the client.
func (t *scenarioRun) driftAll() {
	d, ok := t.suite.Probe.(Drifter)
	if !ok {
		return
	}
	for id, of := range t.ledger.madeFor {
		if r, exists := t.ledger.existing[id]; !exists || of == noObject || r.Deleting {
			continue
		}
		err := t.host.callProbeOnce("Probe.Drift",
			func(ctx context.Context) error { return d.Drift(ctx, id) })
		if err != nil {
			_ = t.host.giveUpProbe(fmt.Sprintf("Probe.Drift of %q fails: %v", id, err), err)
		}
		t.ledger.lastMutation = t.host.lastReturn
	}
	t.ledger.refresh(t.ledger.creator)
}

// externalName returns the external name of the object.
func (t *scenarioRun) externalName() string {
	if mg := t.Get(t.key); mg != nil {
		return meta.GetExternalName(mg)
	}

	return ""
}

// waitForDelay waits until the delay of the external system is over, but at most for d.
func (t *scenarioRun) waitForDelay(d time.Duration) {
	if t.ledger.delay <= 0 || t.ledger.lastMutation.IsZero() {
		return
	}
	waited := false
	_ = t.host.callFor(context.Background(), t.host.limit+t.ledger.delay, "waiting", func(context.Context) error {
		if rest := min(d, t.ledger.delay-time.Since(t.ledger.lastMutation)); rest > 0 {
			waited = true
			<-time.After(rest)
		}

		return nil
	})
	if waited {
		t.ledger.refresh(t.ledger.creator)
	}
}

// waitWithinPatience waits for a short time. It returns false if the patience of the suite is used up. The passes
// between two waits use it up, too: the external system works meanwhile, and with a real one they take longer.
func (t *scenarioRun) waitWithinPatience() bool {
	const step = 10 * time.Millisecond
	if t.patienceUsed >= t.suite.Patience || t.host.stopped() {
		return false
	}
	_ = t.host.call(context.Background(), "waiting", func(context.Context) error { // outside of virtual time
		if !t.lastWait.IsZero() {
			t.patienceUsed += time.Since(t.lastWait)
		}
		t.patienceUsed += step
		<-time.After(step)
		t.lastWait = time.Now()

		return nil
	})
	t.ledger.refresh(t.ledger.creator)

	return true
}

// runScenario runs a scenario once, with a sample and a schedule of faults.
func (k *runner) runScenario(st scenario, sample resource.Managed, schedule sim.Schedule) sim.Result {
	before := k.resourceIDs()
	t := &scenarioRun{
		runner: k, scenario: st, sample: sample,
		key: types.NamespacedName{Namespace: fresh(sample).GetNamespace(), Name: sample.GetName()},
	}
	for _, other := range k.suite.Samples {
		if other.GetName() != sample.GetName() {
			t.second = other
		}
	}
	t.absenceReported = slices.ContainsFunc(schedule.Faults, func(f sim.Fault) bool { return f.Kind == sim.AbsentLive })
	k.schedulesRun++
	k.ledger.reset()
	k.ledger.wire.reset(k.cut)
	t.disturbs = len(schedule.Faults) > 0 || k.cut != nil
	k.ledger.afterMutationsOnly = t.disturbs // runs without faults check the reads
	var r sim.Result
	synctest.Test(k.t, func(*testing.T) { r = t.simulate(schedule) })
	k.reader.use(k.direct.client)
	k.ledger.violate, k.ledger.abort, k.ledger.afterMutationsOnly = k.addFinding, func() {}, false
	k.boundaries += r.Boundaries()
	if !k.host.stopped() {
		k.cleanUp(before)
	}

	return r
}

// simulate runs the scenario in the simulator.
func (t *scenarioRun) simulate(schedule sim.Schedule) (r sim.Result) {
	defer func() {
		if p := recover(); p != nil {
			_ = t.host.giveUp("calls-return", fmt.Sprintf("%s: the simulation panics: %v\n%s", schedule, p, stack()))
		}
	}()

	return t.simulator.Try(sim.Trial{
		Config: sim.Config{
			Kind: t.suite.Kind, Scheme: t.suite.Scheme, Options: t.options(), Lag: 5 * time.Millisecond,
			Dependents:   sim.Dependents{CollectsGarbage: garbageCollection, Publishes: t.publishes()},
			NewConnecter: func() managed.ExternalConnecter { return t.newRecorder() }, Behind: t.newServer(),
		},
		External: t.ledger, Schedule: schedule, Secrets: t.suite.allSecrets(), Salt: t.salt + uint32(t.schedulesRun),
		Edit: t.applyEdit, Drift: t.driftAll, Pace: t.waitForDelay, Patient: t.waitWithinPatience,
		Script: func(w *sim.World) {
			t.World, t.ledger.violate, t.ledger.abort = w, w.Violate, w.Abort
			t.reader.use(w.Client())
			t.scenario.run(t)
			t.searchSecrets()
		},
	}, t.suite.Replay != "")
}

// publishes reports whether a sample asks for a connection Secret.
func (k *runner) publishes() bool {
	return slices.ContainsFunc(k.suite.Samples, func(mg resource.Managed) bool { return secretOf(mg) != "" })
}

// searchSecrets reports secrets that the stored object contains.
func (t *scenarioRun) searchSecrets() {
	mg := t.Get(t.key)
	if mg == nil {
		return
	}
	data, err := json.Marshal(mg)
	if err != nil {
		return // an object that cannot be encoded cannot be stored
	}
	for _, secret := range t.suite.allSecrets() {
		if strings.Contains(string(data), secret) {
			t.Violate("secrets-are-kept", "the object "+mg.GetName()+" shows one, as it is stored")
		}
	}
}

package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Run runs the suite, with one subtest for each property. A failure says which property does not hold, what has
// happened, and how to replay it.
//
// Run first calls the client directly. Then it runs the reconciler in virtual time, without faults and with each fault
// at each boundary. The test also fails if the suite cannot be run, the probe returns wrong results, or the client
// panics or does not return. Run itself always returns.
func Run(t *testing.T, s Suite) {
	t.Helper()
	k := examine(t, s)
	t.Logf("schedules: %d\nboundaries: %d\nleft out: %d", k.schedulesRun, k.boundaries, k.skipped)
	for _, line := range k.notes {
		t.Log(line)
	}
	if gone := k.environment(); gone != "" {
		t.Errorf("the environment of the test failed, and no property was found to be broken by that: %s", gone)
	}
	for _, p := range properties {
		t.Run(p.name, func(t *testing.T) {
			for _, f := range k.findings.list {
				if f.property == p.name {
					t.Error(f.String())
				}
			}
		})
	}
}

// A runner runs one suite.
type runner struct {
	t         *testing.T
	suite     Suite
	class     Class
	simulator *sim.Simulator
	host      *host
	ledger    *ledger
	findings  findings
	log       *logLines

	connectionSecrets

	names        map[types.UID]string
	salt         uint32
	objects      int
	initialState map[string]wantedFields // by sample: the state after its creation
	schedule     string                  // that is being run
	cut          *cut                    // of the schedule, or nil
	faultsUntil  time.Time               // when no more schedules with faults are started

	schedulesRun, boundaries, skipped int
	notes                             []string
}

// examine runs a suite and returns the runner with its findings.
func examine(t *testing.T, s Suite) *runner {
	t.Helper()
	k := &runner{
		t: t, suite: s.withDefaults(), names: map[types.UID]string{}, salt: rand.Uint32(),
		initialState: map[string]wantedFields{}, simulator: sim.New(),
	}
	for _, problem := range s.problems() {
		k.addFinding("suite-is-complete", problem)
	}
	if len(k.findings.list) > 0 {
		return k
	}
	k.connectionSecrets = newConnectionSecrets(k.suite.Kind, k.suite.Scheme)
	k.host = newHost(k.suite.CallTimeout)
	defer k.host.close()
	lines, end := processLog().begin()
	defer end()
	if k.log = lines; !lines.works() {
		k.note("the log is not searched for secrets: log.SetLogger of controller-runtime was called before the suite")
	}
	k.ledger = &ledger{
		host: k.host, probe: k.suite.Probe, wire: newWire(k.suite.Probe, k.suite.Patience), delay: k.suite.Delay,
		violate: k.addFinding, later: k.laterFinding, warn: k.warnOnce, abort: func() {},
	}
	for _, step := range []func(){k.checkMutations, k.inspectBefore, k.timeDirectChecks, k.runScenarios} {
		if step(); k.stopped() {
			break
		}
	}
	if gone := k.host.stopReason.Load(); gone != nil && gone.property != environment {
		k.addFinding(gone.property, gone.text)
	}
	for _, f := range k.ledger.named.findings.list {
		k.findings.add(f)
	}

	return k
}

// environment returns why the environment of the test failed, or "".
func (k *runner) environment() string {
	if k.host == nil {
		return ""
	}
	if gone := k.host.stopReason.Load(); gone != nil && gone.property == environment {
		return k.replaceUIDs(gone.text)
	}

	return ""
}

// stopped reports whether the remaining steps are skipped.
func (k *runner) stopped() bool { return k.host.stopped() || len(k.findings.list) > 0 }

// addFinding records a violation of a property.
func (k *runner) addFinding(property, text string) {
	k.findings.add(finding{property: propertyOf(property), text: k.replaceUIDs(text), replay: k.schedule})
}

// note adds a line to the log of Run.
func (k *runner) note(format string, args ...any) {
	k.notes = append(k.notes, fmt.Sprintf(format, args...))
}

// noteTime adds a line to the log of Run that says how long a part of the suite took.
func (k *runner) noteTime(part string, began time.Time) {
	k.note("%s took %s", part, time.Since(began).Round(100*time.Millisecond))
}

// timeDirectChecks runs the direct checks, and notes how long they took.
func (k *runner) timeDirectChecks() {
	began := time.Now()
	defer func() { k.noteTime("direct checks", began) }()
	k.runDirectChecks()
}

// warnOnce adds a warning to the log of Run, unless it is there already. A warning fails no test.
func (k *runner) warnOnce(text string) {
	if text = "warning: " + text; !slices.Contains(k.notes, text) {
		k.notes = append(k.notes, text)
	}
}

// checkMutations checks that each mutation changes the spec of each sample.
func (k *runner) checkMutations() {
	for _, sample := range k.suite.Samples {
		for _, m := range k.suite.Mutations {
			var same bool
			err := k.host.call(context.Background(), "Mutation.Change of "+m.Name, func(context.Context) error {
				same = equalSpecs(sample, mutated(sample, m))

				return nil
			})
			if err == nil && same {
				k.addFinding(
					"suite-is-complete", fmt.Sprintf("the mutation %s changes nothing in the spec of %s", m.Name,
						sample.GetName()))
			}
		}
	}
}

// inspectBefore lists the resources that exist before the suite starts, and determines
// the class.
func (k *runner) inspectBefore() {
	k.class = k.suite.Class
	k.ledger.reset()
	k.ledger.refresh(noObject)
	if k.class == "" {
		k.class = Opaque
		tap := k.newRecorder()
		if k.host.stopped() {
			return
		}
		c, err := tap.Connect(context.Background(), k.stored(k.suite.Samples[0]))
		if _, finds := c.(managed.CreationRecoverer); finds && err == nil {
			k.class = Findable
		}
	}
	k.ledger.traits.Named, k.ledger.traits.Blocks = k.class == Named, k.class == Opaque
	if n := len(k.ledger.existing); n > 0 {
		k.note("%d resources existed before, and have to stay as they are", n)
	}
}

// newRecorder returns a connecter for a new process of the provider.
func (k *runner) newRecorder() *recorder {
	t := &recorder{ledger: k.ledger, suite: &k.suite, log: k.log}
	_ = k.host.call(context.Background(), "Suite.NewConnecter", func(context.Context) error {
		name := "NewConnecter"
		if k.suite.NewConnecterWithReader != nil {
			name, t.connecter = "NewConnecterWithReader", k.suite.NewConnecterWithReader(k.reader)
		} else {
			t.connecter = k.suite.NewConnecter()
		}
		if isNil(t.connecter) {
			return k.host.giveUp("suite-is-complete", "Suite."+name+" returns nil")
		}

		return nil
	})

	return t
}

// newServer returns a function that creates the API server for a schedule. It returns nil if the API server is
// simulated.
func (k *runner) newServer() func() ctrlclient.Client {
	if k.suite.Server == nil {
		return nil
	}

	return func() ctrlclient.Client {
		c, err := k.suite.Server()
		if err != nil {
			_ = k.host.giveUp("suite-is-complete", "Suite.Server fails: "+err.Error())

			return nil
		}
		if isNil(c) {
			_ = k.host.giveUp("suite-is-complete", "Suite.Server returns nil")

			return nil
		}

		return c
	}
}

// options returns the options that the class needs, and those of the suite.
func (k *runner) options() []managed.ReconcilerOption {
	var out []managed.ReconcilerOption
	switch k.class {
	case Named:
		out = append(out, managed.WithDeterministicExternalName(true))
	case Token:
		out = append(out, managed.WithCreationTokens())
	case Findable, Opaque:
	}

	return append(out, k.suite.Options...)
}

// cleanUp removes the resources that did not exist before the suite.
func (k *runner) cleanUp(before []string) {
	k.ledger.refresh(noObject)
	removed := false
	for id := range k.ledger.existing {
		if slices.Contains(before, id) {
			continue
		}
		removed = true
		err := k.host.callProbe("Probe.Remove", func(ctx context.Context) error {
			return k.suite.Probe.Remove(ctx, id)
		})
		if err != nil && !k.host.stopped() {
			_ = k.host.giveUpProbe(errors.Wrapf(err, "Probe.Remove of %q fails", id).Error(), err)
		}
	}
	if !removed {
		return
	}
	k.ledger.lastMutation = k.host.lastReturn
	gone := func() bool {
		k.ledger.refresh(noObject)
		for id := range k.ledger.existing {
			if !slices.Contains(before, id) {
				return false
			}
		}

		return true
	}
	if !k.eventually(gone) && !k.host.stopped() {
		_ = k.host.giveUp(
			"probe-tells-the-truth", "the probe goes on to list what it was told to remove: "+
				k.replaceUIDs(k.ledger.Summary()))
	}
}

// eventually reports whether the function is returns true within the patience of the suite.
func (k *runner) eventually(is func() bool) bool { return k.during(k.suite.Patience+k.suite.Delay, is) }

// during reports whether the function is returns true within a time.
func (k *runner) during(limit time.Duration, is func() bool) bool {
	began := time.Now()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 80*time.Millisecond) {
		if is() {
			return true
		}
		if k.host.stopped() || time.Since(began) > limit {
			return false
		}
		<-time.After(pause)
	}
}

// resourceIDs returns the IDs of the existing resources.
func (k *runner) resourceIDs() []string {
	var ids []string
	for id := range k.ledger.existing {
		ids = append(ids, id)
	}

	return ids
}

// mutableState returns the fields of a resource that mutations change.
func (k *runner) mutableState(r Resource) wantedFields {
	out := wantedFields{}
	for _, m := range k.suite.Mutations {
		for field := range m.Want {
			out[field] = r.State[field]
		}
	}

	return out
}

// wantedState returns the wanted fields of a sample's resource after a mutation.
func (k *runner) wantedState(sample resource.Managed, m *Mutation) wantedFields {
	out := wantedFields{}
	for field, value := range k.initialState[sample.GetName()] {
		out[field] = value
	}
	if m != nil {
		for field, value := range m.Want {
			out[field] = value
		}
	}

	return out
}

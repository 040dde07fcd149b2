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

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Run runs the suite, with one subtest for each property. A failure says which
// property does not hold and what happened, and how to see it again.
//
// The client is called first as it is, then by the reconciler in virtual time,
// without faults and with each fault at each boundary. A suite that cannot be run,
// a probe that does not tell the truth and a client that panics or does not return
// are failures, too; nothing makes Run hang.
func Run(t *testing.T, s Suite) {
	t.Helper()
	k := examine(t, s)
	t.Logf("schedules: %d\nboundaries: %d\nleft out: %d", k.ran, k.boundaries, k.skipped)
	for _, line := range k.notes {
		t.Log(line)
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

// A kit examines one suite.
type kit struct {
	t        *testing.T
	suite    Suite
	class    Class
	host     *host
	ledger   *ledger
	findings findings

	names    map[types.UID]string
	salt     uint32
	objects  int
	learned  map[string]wants // by sample: what is there when it was created
	schedule string           // that is run
	began    time.Time

	ran, boundaries, skipped int
	notes                    []string
}

func examine(t *testing.T, s Suite) *kit {
	t.Helper()
	k := &kit{t: t, suite: s.withDefaults(), names: map[types.UID]string{}, salt: rand.Uint32(), learned: map[string]wants{}, began: time.Now()}
	for _, problem := range s.problems() {
		k.found("suite-is-complete", problem)
	}
	if len(k.findings.list) > 0 {
		return k
	}
	k.host = newHost(k.suite.CallTimeout)
	defer k.host.close()
	k.ledger = &ledger{host: k.host, probe: k.suite.Probe, delay: k.suite.Delay, violate: k.found, abort: func() {}}
	for _, step := range []func(){k.checkMutations, k.begin, k.checkManners, k.tellStories} {
		if step(); k.stopped() {
			break
		}
	}
	if gone := k.host.gone.Load(); gone != nil {
		k.found(gone.property, gone.text)
	}

	return k
}

// stopped says whether to go on makes no sense.
func (k *kit) stopped() bool { return k.host.dead() || len(k.findings.list) > 0 }

func (k *kit) found(property, text string) {
	k.findings.add(finding{property: judgedBy(property), text: k.legible(text), replay: k.schedule})
}

func (k *kit) note(format string, args ...any) {
	k.notes = append(k.notes, fmt.Sprintf(format, args...))
}

// checkMutations checks what the author says of his mutations.
func (k *kit) checkMutations() {
	for _, sample := range k.suite.Samples {
		for _, m := range k.suite.Mutations {
			var same bool
			err := k.host.call(context.Background(), "Mutation.Change of "+m.Name, func(context.Context) error {
				same = equalSpecs(sample, mutated(sample, m))

				return nil
			})
			if err == nil && same {
				k.found("suite-is-complete", fmt.Sprintf("the mutation %s changes nothing in the spec of %s", m.Name, sample.GetName()))
			}
		}
	}
}

// begin looks at what there is before anything is done.
func (k *kit) begin() {
	k.class = k.suite.Class
	k.ledger.reset()
	k.ledger.look(nobody)
	if k.class == "" {
		k.class = Opaque
		tap := k.newTap()
		if k.host.dead() {
			return
		}
		c, err := tap.Connect(context.Background(), k.stored(k.suite.Samples[0]))
		if _, finds := c.(managed.CreationRecoverer); finds && err == nil {
			k.class = Findable
		}
	}
	k.ledger.traits.Named, k.ledger.traits.Blocks = k.class == Named, k.class == Opaque
	if n := len(k.ledger.have); n > 0 {
		k.note("%d resources existed before, and have to stay as they are", n)
	}
}

// newTap returns the connecter of a process.
func (k *kit) newTap() *tap {
	t := &tap{ledger: k.ledger, secrets: k.suite.Secrets}
	_ = k.host.call(context.Background(), "Suite.NewConnecter", func(context.Context) error {
		if t.to = k.suite.NewConnecter(); isNil(t.to) {
			return k.host.giveUp("suite-is-complete", "Suite.NewConnecter returns nil")
		}

		return nil
	})

	return t
}

// newServer returns what makes the server of a schedule, or nil if it is the simulated one.
func (k *kit) newServer() func() ctrlclient.Client {
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

// options are those of the class, and the author's.
func (k *kit) options() []managed.ReconcilerOption {
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

// clean removes what the last story has left.
func (k *kit) clean(before []string) {
	k.ledger.look(nobody)
	removed := false
	for id := range k.ledger.have {
		if slices.Contains(before, id) {
			continue
		}
		removed = true
		err := k.host.call(context.Background(), "Probe.Remove", func(ctx context.Context) error { return k.suite.Probe.Remove(ctx, id) })
		if err != nil && !k.host.dead() {
			_ = k.host.giveUp("probe-tells-the-truth", errors.Wrapf(err, "Probe.Remove of %q fails", id).Error())
		}
	}
	if !removed {
		return
	}
	k.ledger.acted = k.host.ended
	gone := func() bool {
		k.ledger.look(nobody)
		for id := range k.ledger.have {
			if !slices.Contains(before, id) {
				return false
			}
		}

		return true
	}
	if !k.eventually(gone) && !k.host.dead() {
		_ = k.host.giveUp("probe-tells-the-truth", "the probe goes on to list what it was told to remove: "+k.legible(k.ledger.Summary()))
	}
}

// eventually says whether something becomes true while patience lasts.
func (k *kit) eventually(is func() bool) bool {
	for began := time.Now(); ; <-time.After(5 * time.Millisecond) {
		if is() {
			return true
		}
		if k.host.dead() || time.Since(began) > k.suite.Patience+k.suite.Delay {
			return false
		}
	}
}

func (k *kit) known() []string {
	var ids []string
	for id := range k.ledger.have {
		ids = append(ids, id)
	}

	return ids
}

// fields that mutations change, as the probe shows them in a resource.
func (k *kit) fields(r Resource) wants {
	out := wants{}
	for _, m := range k.suite.Mutations {
		for field := range m.Want {
			out[field] = r.State[field]
		}
	}

	return out
}

// wants are what the resource of a sample should be like after a mutation.
func (k *kit) wants(sample resource.Managed, m *Mutation) wants {
	out := wants{}
	for field, value := range k.learned[sample.GetName()] {
		out[field] = value
	}
	if m != nil {
		for field, value := range m.Want {
			out[field] = value
		}
	}

	return out
}

package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/internal/sim/testdata/peers"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A subject is a runtime under test: the protocol of a peer, or ours.
type subject struct {
	*peers.Protocol

	// Boundaries are where the result of the first create is stored, and then the
	// status, and where a deleted object is first looked at.
	boundaries *strings.Replacer
}

var (
	crossplane = subject{peers.Crossplane,
		strings.NewReplacer("result:", "update#3:", "status:", "update/status#1:", "departure:", "Observe#5:")}
	krateo = subject{peers.Krateo,
		strings.NewReplacer("result:", "update#3:", "status:", "update/status#1:", "departure:", "Observe#5:")}
	ours = subject{nil, strings.NewReplacer("result:", "patch#2:", "status:", "patch/status#1:", "departure:",
		"Observe#5:")}
)

func (s subject) String() string {
	if s.Protocol == nil {
		return "moorage"
	}

	return s.Protocol.String()
}

// play runs a schedule with the subject. Live replaces the scenario's, and change
// makes the world another, unless they are nil. All faults must have happened.
func (s subject) play(t *testing.T, schedule Schedule, live, change func(*World)) Result {
	t.Helper()
	quietly()
	var r Result
	synctest.Test(t, func(t *testing.T) {
		w, of, err := prepare(schedule)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(w)
		}
		if s.Protocol != nil {
			s.takeOver(w)
		}
		w.start(stepped{}, 0)
		if live == nil {
			live = of.run
		}
		live(w)
		w.end()
		if w.fired != len(schedule.Faults)+len(of.faults) && len(w.violation) == 0 {
			w.violate("none", fmt.Sprintf("%d faults happened, of %v", w.fired, schedule.Faults))
		}
		r = w.result(schedule)
	})

	return r
}

// takeOver makes the processes of a world run the protocol.
func (s subject) takeOver(w *World) {
	w.config.replace = func(p *process, c client.Client) reconcile.Reconciler {
		p.runtime.watches = s.Watches()

		return peers.New(s.Protocol, peers.Config{
			Client: c, Connecter: &seam{of: upserting{w.config.Connecter, w.system}, process: p}, Clock: p.clock,
			New: func() resource.Managed { return &bucket.Bucket{} }, Named: w.system.class.named,
		})
	}
}

// Upserting is a connecter whose clients take it for a success when Create finds what
// was created before, as those of runtimes do that do not look again.
type upserting struct {
	managed.ExternalConnecter

	system *extSystem
}

func (u upserting) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	c, err := u.ExternalConnecter.Connect(ctx, mg)

	return upsert{c, u.system}, err
}

type upsert struct {
	managed.ExternalClient

	system *extSystem
}

func (u upsert) Create(ctx context.Context, mg resource.Managed) error {
	err := u.ExternalClient.Create(ctx, mg)
	if external.IsAlreadyExists(err) && len(u.system.live(mg.GetUID())) == 1 {
		return nil
	}

	return err
}

// Unhurried is a connecter whose clients take a while to create, as a request over a
// network does.
type unhurried struct {
	managed.ExternalConnecter

	takes time.Duration
}

func (u unhurried) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	c, err := u.ExternalConnecter.Connect(ctx, mg)

	return deliberate{c, u.takes}, err
}

type deliberate struct {
	managed.ExternalClient

	takes time.Duration
}

func (d deliberate) Create(ctx context.Context, mg resource.Managed) error {
	wait(d.takes)

	return d.ExternalClient.Create(ctx, mg)
}

// lagging is a world whose cache lags behind by so much, and whose external system
// takes 15 ms to create. The pending mark is written before that, so that a cache
// which lags by no more than those and the 40 ms of the tries shows it to the last.
func lagging(by time.Duration) func(*World) {
	return func(w *World) {
		w.config.Lag = by
		w.config.Connecter = unhurried{w.config.Connecter, 15 * time.Millisecond}
	}
}

// alone is the life of an object that is deleted soon, without any operator.
func alone(w *World) {
	w.users.create(newBucket("first"))
	w.run(w.now().Add(2 * time.Second))
	w.users.delete(firstKey)
	if !w.run(w.now().Add(patience), w.settled) {
		w.violate("L2", "it is deleted, and still there")
	}
}

// A flaw is what is known to be wrong with peers, and how many faults it takes.
type flaw struct {
	reason   string
	of       []subject
	scenario string // and class
	live     func(*World)
	world    func(*World)
	faults   string
	property string

	// Least is what Shrink makes of the faults. The default is all of them.
	least string

	// A world or faults in which the property is not broken.
	lesser   func(*World)
	harmless string
}

// The names are those of the table of violations that the models were written from.
var flaws = map[string]flaw{
	"V1": {
		reason: "an error after the effect counts as a failure, and Create is called again (crossplane-runtime#277)",
		of:     []subject{crossplane, krateo}, scenario: "create/opaque", property: "S1",
		faults: "Create#1:lost", harmless: "Create#1:refuse",
	},
	"V2": {
		reason: "a process that dies between intent and record leaves an object that is stuck, although the system would " +
			"tell (crossplane-runtime#340)",
		of: []subject{crossplane, krateo}, scenario: "create/token", property: "L3",
		faults: "Create#1:crash-after", harmless: "Observe#1:crash",
	},
	"V2 deleted": {
		reason: "and that cannot be deleted (crossplane#2843)",
		of:     []subject{crossplane, krateo}, scenario: "create/token", live: alone, property: "L2",
		faults: "Create#1:crash-after", harmless: "Observe#1:crash",
	},
	"V3": {
		reason: "a shutdown does the same, because it cancels the write of the name (crossplane-runtime#340)",
		of:     []subject{crossplane, krateo}, scenario: "create/opaque", property: "S2",
		faults: "Create#1:stop-after", harmless: "Observe#1:stop",
	},
	"V4": {
		reason: "an API server that is away for 50 ms takes the name away (crossplane-runtime#651)",
		of:     []subject{crossplane, krateo}, scenario: "create/opaque", property: "S2",
		faults: "result:outage(50ms)", harmless: "result:outage(30ms)",
	},
	"V5 always": {
		reason: "the name is put on what the cache shows, which is too old for 40 ms (crossplane-runtime#594)",
		of:     []subject{krateo}, scenario: "create/opaque", property: "S2",
		world: lagging(60 * time.Millisecond), lesser: lagging(50 * time.Millisecond),
	},
	"V5 conflict": {
		reason: "the same after another client has changed the object (crossplane-runtime#594)",
		of:     []subject{crossplane}, scenario: "create/opaque", property: "S2",
		world: lagging(60 * time.Millisecond), faults: "Create#1:edit", harmless: "Create#1:drift",
	},
	"V6": {
		reason: "times of one second do not tell a second attempt from the failure of the first; the last edit comes too " +
			"late to matter",
		of: []subject{crossplane}, scenario: "create/opaque", property: "S1",
		faults:   "Create#1:refuse status:edit Create#2:stop-after Create#2:edit",
		least:    "Create#1:refuse status:edit Create#2:stop-after",
		harmless: "Create#1:refuse Create#2:stop-after",
	},
	"V6 unasked": {
		reason: "who hears his own annotations needs no edit for a second attempt within the second",
		of:     []subject{krateo}, scenario: "create/opaque", property: "S1",
		faults: "Create#1:refuse Create#2:stop-after", harmless: "Create#1:refuse",
	},
	"V6 clock": {
		reason: "nor do times of a clock that is behind after a restart",
		of:     []subject{crossplane, krateo}, scenario: "create/opaque", property: "S8",
		faults: "Create#1:refuse status:clock-back Create#2:crash-after", harmless: "Create#1:refuse status:clock-back",
	},
	"V7": {
		reason: "what takes longer than 30 s to show is created again, without any fault (crossplane-runtime#283)",
		of:     []subject{crossplane, krateo}, scenario: "very-slow-create/opaque", property: "S1",
		world:  func(w *World) { w.config.Lag = 0 }, // every pass sees what the one before it wrote
		lesser: func(w *World) { w.config.Lag, w.system.shows = 0, 25*time.Second },
	},
	"V8": {
		reason: "the first answer that there is nothing lets a deleted object go (crossplane#6878)",
		of:     []subject{crossplane, krateo}, scenario: "delete/opaque", property: "S5",
		faults: "departure:absent", harmless: "departure:fail",
	},
	"V9": {
		reason: "whatever has the name is taken over, changed, and deleted with the object (crossplane#726)",
		of:     []subject{crossplane, krateo}, scenario: "foreign-owner/named", property: "S6",
	},
	"V14": {
		reason: "a conflict that Create returns leaves the intent as it is (crossplane-runtime#651)",
		of:     []subject{krateo}, scenario: "create/token", property: "L3",
		faults: "Create#1:conflict", harmless: "Create#1:refuse",
	},
}

// TestPeers checks that the simulator finds what is known to be wrong with the protocols of two other runtimes, with
// the faults that it takes there and no fewer, and the same faults do no harm here.
func TestPeers(t *testing.T) {
	for i := range 7 {
		if name := fmt.Sprintf("V%d", i+1); !slices.ContainsFunc(slices.Collect(maps.Keys(flaws)),
			func(of string) bool { return of == name || strings.HasPrefix(of, name+" ") }) {
			t.Errorf("nothing shows %s", name)
		}
	}
	for name, f := range flaws {
		t.Run(name, func(t *testing.T) {
			for _, s := range f.of {
				f.shows(t, s)
			}
			if r := ours.play(t, f.schedule(t, ours, f.faults), f.live, f.world); len(r.Violations) > 0 {
				t.Errorf("%s: that does harm here: %v", f.reason, r.Violations)
			}
		})
	}
}

func (f flaw) schedule(t *testing.T, s subject, faults string) Schedule {
	t.Helper()
	schedule, err := ParseSchedule(f.scenario + " " + s.boundaries.Replace(faults))
	if err != nil {
		t.Fatal(err)
	}

	return schedule
}

func (f flaw) shows(t *testing.T, s subject) {
	t.Helper()
	schedule := f.schedule(t, s, f.faults)
	breaks := func(s subject, of Schedule, world func(*World)) bool {
		return violated(s.play(t, of, f.live, world), f.property)
	}
	if !breaks(s, schedule, f.world) {
		t.Errorf("%s: %s did not break %s (%s) by %s", f.reason, s, f.property, Properties[f.property], schedule)

		return
	}
	least := Shrink(schedule, func(less Schedule) bool { return breaks(s, less, f.world) })
	if want := f.schedule(t, s, cmp.Or(f.least, f.faults)); least.String() != want.String() {
		t.Errorf("%s: %s breaks %s by %s, not only by %s", f.reason, s, f.property, least, want)
	}
	lesser := f.lesser
	if lesser == nil {
		lesser = f.world
	}
	if f.lesser != nil || f.harmless != "" {
		if harmless := f.schedule(t, s, f.harmless); breaks(s, harmless, lesser) {
			t.Errorf("%s: %s breaks %s already by %s", f.reason, s, f.property, harmless)
		}
	}
	t.Logf("%s breaks %s by %s: %s", s, f.property, least, f.reason)
}

func violated(r Result, property string) bool {
	return slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Property == property })
}

// The kinds of faults that a schedule of one is made of, in the measurement that the
// figures of the peers are known from.
var ten = []Kind{Crash, CrashAfter, Fail, Lost, Stop, StopAfter, Outage, Freeze, Stale, Edit}

// TestSingleFaults tries every single fault at every boundary in the life of an
// object, with each runtime, and prints how many of them break something. With ours
// none does. Names are assigned in one class, and of the caller's choice in the other.
func TestSingleFaults(t *testing.T) {
	for _, class := range []string{"token", "named"} {
		for _, s := range []subject{crossplane, krateo, ours} {
			t.Run(s.String()+"/"+class, func(t *testing.T) {
				few, all := s.singles(t, class, ten), s.singles(t, class, nil)
				fmt.Printf("single_faults_%s_%s: %s\nsingle_faults_of_all_kinds_%s_%s: %s\n", s, class, few, s,
					class, all)
				repeats := s == crossplane && class == "named"
				if harmless := s == ours || repeats; harmless != (few.broke == 0) || s == ours && all.broke > 0 {
					t.Errorf("%s breaks something by %s and %s", s, few, all)
				}
			})
		}
	}
}

// A tally is how many schedules broke something, and what.
type tally struct {
	ran, broke int
	properties map[string]int
}

func (c tally) String() string {
	return fmt.Sprintf("%d/%d %v", c.broke, c.ran, c.properties)
}

// singles tries every single fault of some kinds, or of all.
func (s subject) singles(t *testing.T, class string, some []Kind) tally {
	t.Helper()
	c := tally{properties: map[string]int{}}
	schedule := Schedule{Scenario: "delete", Class: class}
	for _, at := range s.play(t, schedule, nil, nil).steps {
		for _, v := range KindsAt(at.Op, false, true) {
			if some != nil && (v.For > 0 || !slices.Contains(some, v.Kind)) {
				continue
			}
			schedule.Faults = []Fault{{Op: at.Op.Name, N: at.N, Kind: v.Kind, For: v.For}}
			c.add(s.play(t, schedule, nil, nil))
		}
	}

	return c
}

// What counts as a duplicate, a leak or an object that is stuck.
var verdicts = []string{"S1", "S2", "S5", "S8", "S9", "L1", "L2", "L3"}

func (c *tally) add(r Result) {
	broke := 0
	for _, property := range verdicts {
		if violated(r, property) {
			c.properties[property]++
			broke = 1
		}
	}
	c.ran++
	c.broke += broke
}

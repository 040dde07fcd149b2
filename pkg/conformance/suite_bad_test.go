package conformance

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A liar is a probe with given results.
type liar struct {
	*diskService

	list   func(context.Context) ([]Resource, error)
	remove func(context.Context, string) error
	mend   bool
}

func (l liar) List(ctx context.Context) ([]Resource, error) {
	if l.list != nil {
		return l.list(ctx)
	}

	return l.diskService.List(ctx)
}

func (l liar) Remove(ctx context.Context, id string) error {
	if l.remove != nil {
		return l.remove(ctx, id)
	}

	return l.diskService.Remove(ctx, id)
}

func (l liar) Break(ctx context.Context) (func(context.Context) error, error) {
	if l.mend {
		return l.diskService.Break(ctx)
	}

	return nil, nil // that is the lie
}

// never blocks forever, without using a processor.
func never() { select {} }

func always(list ...Resource) func(context.Context) ([]Resource, error) {
	return func(context.Context) ([]Resource, error) { return list, nil }
}

var badSuites = map[string]struct {
	reason   string
	change   func(*Suite, *diskService)
	property string
	says     string
}{
	"NoSamples": {"there is nothing to create", func(s *Suite, _ *diskService) { s.Samples = nil }, "suite-is-complete",
		"Suite.Samples is empty"},
	"NilSample": {"there is nothing in the list",
		func(s *Suite, _ *diskService) { s.Samples = []resource.Managed{(*volume.Volume)(nil)} }, "suite-is-complete",
		"Samples[0] is nil"},
	"Nameless": {"an object has a name", func(s *Suite, _ *diskService) { s.Samples = []resource.Managed{sample("")} },
		"suite-is-complete", "has no name"},
	"SameName": {"names are different", func(s *Suite,
		_ *diskService) {
		s.Samples = []resource.Managed{sample("a"), sample("a")}
	}, "suite-is-complete", "of another"},
	"OtherKind": {"samples are of the kind",
		func(s *Suite, _ *diskService) { s.Samples = []resource.Managed{&volume.Snapshot{}} }, "suite-is-complete",
		"is a Snapshot and not a Volume"},
	"NoConnecter": {"there is nothing to try", func(s *Suite, _ *diskService) { s.Connecter = nil },
		"suite-is-complete",
		"Connecter"},
	"NilConnecter": {"nothing is made", func(s *Suite,
		_ *diskService) {
		s.NewConnecter = func() managed.ExternalConnecter { return nil }
	}, "suite-is-complete", "returns nil"},
	"NoProbe": {"nobody knows what exists", func(s *Suite, _ *diskService) { s.Probe = nil }, "suite-is-complete",
		"Suite.Probe is nil"},
	"NoScheme": {"nobody knows the kind", func(s *Suite, _ *diskService) { s.Scheme = nil }, "suite-is-complete",
		"Suite.Scheme is nil"},
	"UnknownKind": {"the scheme does not know the kind",
		func(s *Suite, _ *diskService) { s.Scheme = k8sruntime.NewScheme() }, "suite-is-complete",
		"does not know the kind"},
	"NoClass": {"there is no such class", func(s *Suite, _ *diskService) { s.Class = "precious" }, "suite-is-complete",
		"is no class"},
	"EmptySecret": {"nothing is everywhere", func(s *Suite, _ *diskService) { s.Secrets = []string{""} },
		"suite-is-complete", "empty text"},
	"NoReplay": {"there is no such scenario", func(s *Suite, _ *diskService) { s.Replay = "sink/vol" },
		"suite-is-complete", "no such scenario: sink/vol"},
	"BadReplay": {"a schedule that cannot be read",
		func(s *Suite, _ *diskService) { s.Replay = "create/vol Create:lost" }, "suite-is-complete",
		"operation#n:kind"},
	"MutationOfNothing": {
		"a mutation changes the spec", func(s *Suite,
			_ *diskService) {
			s.Mutations[0].Change = func(resource.Managed) {}
		},
		"suite-is-complete", "changes nothing in the spec",
	},
	"MutationOfNothingOutside": {
		"a mutation changes what exists", func(s *Suite,
			_ *diskService) {
			s.Mutations[0].Want = map[string]string{"size": "10"}
		},
		"suite-is-complete", "it changes nothing",
	},
	"MutationWithoutWant": {"nobody knows what a mutation does",
		func(s *Suite, _ *diskService) { s.Mutations[0].Want = nil }, "suite-is-complete", "Want is empty"},
	"MutationPanics": {
		"what an author wrote is called with care",
		func(s *Suite, _ *diskService) { s.Mutations[0].Change = func(resource.Managed) { panic("oops") } },
		"calls-return", "oops",
	},
	"MutationBlocks": {
		"and not for ever", func(s *Suite, _ *diskService) { s.Mutations[0].Change = func(resource.Managed) { never() } },
		"calls-return", "Mutation.Change of",
	},
	"NewConnecterBlocks": {
		"a process that never begins", func(s *Suite, _ *diskService) {
			s.NewConnecter = func() managed.ExternalConnecter { never(); return nil }
		}, "calls-return", "Suite.NewConnecter was called with a deadline",
	},
	"ServerIsNil": {
		"there is no server", func(s *Suite,
			_ *diskService) {
			s.Server = func() (ctrlclient.Client, error) { return nil, nil }
		},
		"suite-is-complete", "Suite.Server returns nil",
	},
	"ServerFails": {
		"there is none, and the author says why", func(s *Suite, _ *diskService) {
			s.Server = func() (ctrlclient.Client, error) { return nil, errors.New("no port is free") }
		}, "suite-is-complete", "Suite.Server fails: no port is free",
	},
	"ProbeSeesNothing": {
		"a probe that never lists anything",
		func(s *Suite, d *diskService) { s.Probe = liar{diskService: d, list: always()} },
		"probe-tells-the-truth", "the probe does not list it",
	},
	"ProbeSeesGhosts": {
		"a probe that always lists the same",
		func(s *Suite, d *diskService) { s.Probe = liar{diskService: d, list: always(Resource{ID: "vol"})} },
		"probe-tells-the-truth", "before it is created",
	},
	"ProbeSeesGhostsOfOthers": {
		"a probe that always lists something else",
		func(s *Suite, d *diskService) { s.Probe = liar{diskService: d, list: always(Resource{ID: "ghost"})} },
		"probe-tells-the-truth", "the probe does not list it",
	},
	"ProbeSeesTwins": {
		"an id is one resource's", func(s *Suite,
			d *diskService) {
			s.Probe = liar{diskService: d, list: always(Resource{ID: "a"}, Resource{ID: "a"})}
		},
		"probe-tells-the-truth", "two resources",
	},
	"ProbeSeesNoID": {
		"a resource has an id", func(s *Suite,
			d *diskService) {
			s.Probe = liar{diskService: d, list: always(Resource{})}
		},
		"probe-tells-the-truth", "without an ID",
	},
	"ProbeFails": {
		"a probe that cannot look", func(s *Suite, d *diskService) {
			s.Probe = liar{
				diskService: d,
				list:        func(context.Context) ([]Resource, error) { return nil, errors.New("unavailable") },
			}
		}, "probe-tells-the-truth", "unavailable",
	},
	"ProbeGivesUp": {
		"a probe that ends its goroutine, as t.Fatal does", func(s *Suite, d *diskService) {
			s.Probe = liar{
				diskService: d,
				list:        func(context.Context) ([]Resource, error) { runtime.Goexit(); return nil, nil },
			}
		}, "calls-return", "return an error instead",
	},
	"RemoveDoesNothing": {
		"nothing is cleaned up", func(s *Suite, d *diskService) {
			d.class = Opaque
			s.Class = Opaque
			s.Probe = liar{diskService: d, mend: true, remove: func(context.Context, string) error { return nil }}
		}, "probe-tells-the-truth", "told to remove",
	},
	"BreakWithoutMend": {
		"what breaks is to be mended", func(s *Suite, d *diskService) { s.Probe = liar{diskService: d} },
		"probe-tells-the-truth",
		"does not return how to mend",
	},
	"LeftOver": {
		"something of the last run exists still",
		func(_ *Suite, d *diskService) { d.put(disk{id: "vol", size: 10, tier: "fast"}) },
		"suite-is-complete", "exists before the suite begins",
	},
}

// TestBadSuites: each bad suite ends soon, with a sentence that explains how to fix it.
func TestBadSuites(t *testing.T) {
	for name, c := range badSuites {
		t.Run(name, func(t *testing.T) {
			d := newDiskService(Named)
			s := d.suite(&diskClient{d})
			if c.property == "calls-return" {
				s.CallTimeout = 500 * time.Millisecond
			}
			c.change(&s, d)
			k := examine(t, s)
			at := slices.IndexFunc(k.findings.list,
				func(f finding) bool { return f.property == c.property && strings.Contains(f.text, c.says) })
			if at < 0 {
				t.Errorf("%s: %s is not found to be broken with %q, but %v", c.reason, c.property, c.says,
					k.findings.list)
			}
			if k.schedulesRun > soon {
				t.Errorf("%s: it took %d schedules to find out", c.reason, k.schedulesRun)
			}
		})
	}
}

// A forgetful client keeps the created resources by token in memory only.
type forgetful struct {
	*diskClient

	mu   sync.Mutex
	made map[string]string
}

func (f *forgetful) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return f, nil
}

func (f *forgetful) Create(ctx context.Context, mg resource.Managed) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	token := managed.CreationToken(ctx)
	if id := f.made[token]; id != "" {
		meta.SetExternalName(mg, id)

		return nil
	}
	v := mg.(*volume.Volume) // of the kind

	err := f.change(ctx, func() {
		f.made[token] = f.put(disk{size: v.Spec.SizeGiB, tier: v.Spec.Tier})
		meta.SetExternalName(mg, f.made[token])
	})
	if errors.Is(err, errBroken) {
		return errors.New("cannot create")
	}

	return err
}

func forgetfulSuite() Suite {
	d := newDiskService(Token)
	s := d.suite(nil)
	s.Within = 10 * time.Minute // the expected finding ends it long before
	s.NewConnecter = func() managed.ExternalConnecter {
		return &forgetful{diskClient: &diskClient{d}, made: map[string]string{}}
	}

	return s
}

// TestReplay: a defect that shows only with a fault is found, and a replay of its schedule shows it
// again, with its trace.
func TestReplay(t *testing.T) {
	k := examine(t, forgetfulSuite())
	at := slices.IndexFunc(k.findings.list, func(f finding) bool { return f.property == "at-most-one" })
	if at < 0 {
		t.Fatalf("a client that forgets with its process is not found: %v", k.findings.list)
	}
	found := k.findings.list[at]
	if !strings.Contains(found.replay, "Create#1:crash-after") && !strings.Contains(found.replay, ":crash") {
		t.Errorf("the schedule %q has no crash", found.replay)
	}

	s := forgetfulSuite()
	s.Replay = found.replay
	again := examine(t, s)
	if !again.findings.has("at-most-one") || again.schedulesRun != 1 {
		t.Errorf("the replay of %q ran %d schedules and found %v", found.replay, again.schedulesRun,
			again.findings.list)
	}
	if story := strings.Join(again.notes, "\n"); !strings.Contains(story, "Create#1") ||
		!strings.Contains(story, "VIOLATION") {
		t.Errorf("the replay does not tell its story: %s", story)
	}
}

// TestSlow: a system with a delay for everything passes if the suite states that delay.
func TestSlow(t *testing.T) {
	d := newDiskService(Findable)
	d.stamped, d.shows = true, 20*time.Millisecond
	s := d.suite(&diskClient{d})
	s.Delay, s.Within = 25*time.Millisecond, time.Nanosecond
	k := examine(t, s)
	if len(k.findings.list) > 0 {
		t.Error(k.findings.list)
	}
	if k.skipped == 0 || k.schedulesRun == 0 {
		t.Errorf("%d schedules were run and %d left out, where there was no time for faults", k.schedulesRun, k.skipped)
	}
}

// TestOthers: resources that exist before the suite are kept and reported.
func TestOthers(t *testing.T) {
	d := newDiskService(Named)
	d.stamped = true
	d.put(disk{id: "theirs", size: 3, stamp: "them"})
	s := d.suite(&diskClient{d})
	s.Within = time.Nanosecond
	k := examine(t, s)
	if len(k.findings.list) > 0 || !strings.Contains(strings.Join(k.notes, "\n"), "1 resources existed before") {
		t.Errorf("findings %v, notes %v", k.findings.list, k.notes)
	}
	if x, err := d.get(t.Context(), "theirs"); err != nil || x.size != 3 || len(d.disks) != 1 {
		t.Errorf("of what was there, %v is left, and %d disks in all: %v", x, len(d.disks), err)
	}
}

const inner = "MOORAGE_TEST_INNER"

// TestInner is run by TestRun and TestPrinted in a separate process.
func TestInner(t *testing.T) {
	suites := map[string]func() Suite{
		"forgetful": forgetfulSuite,
		"blocked": func() Suite {
			d := newDiskService(Named)
			s := d.suite(&wreck{
				diskClient: &diskClient{d},
				connect:    func(context.Context, *diskClient) error { never(); return nil },
			})
			s.CallTimeout = 500 * time.Millisecond

			return s
		},
		"incomplete": func() Suite { return Suite{} },
		"misled":     misled["NotFoundOnPages"].suite,
		"unseen":     defects["UnseenOnceDeleted"].suite,
	}
	if make, ok := suites[os.Getenv(inner)]; ok {
		Run(t, make())
	}
}

// inside runs a suite in a separate process, in which it has to fail, and returns the output.
func inside(t *testing.T, suite string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInner$", "-test.timeout=15m", "-test.v=true")
	cmd.Env = append(os.Environ(), inner+"="+suite)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("it passes:\n%s", out)
	}

	return string(out)
}

// TestRun: a defect fails the subtest of its property, with a sentence, and nothing hangs.
func TestRun(t *testing.T) {
	cases := map[string]struct {
		fails string
		says  string
	}{
		"forgetful": {"at-most-one", `at-most-one: there is at most one resource for an object; but there are 2 ` +
			`resources for vol(.|\n)*Replay: "`},
		"blocked": {"calls-return", `has to end when its context does`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out := inside(t, name)
			for _, want := range []string{`--- FAIL: TestInner/` + c.fails, c.says, `--- PASS: TestInner/quiet`,
				`schedules: \d+`} {
				if !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
		})
	}
}

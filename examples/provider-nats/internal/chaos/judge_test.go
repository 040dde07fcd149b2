package chaos

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// A scene is a picture without findings, to be spoiled.
type scene struct {
	picture

	foreign map[key]asset
	born    map[types.UID]time.Time
}

func newScene() scene {
	day := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	orders, billing, sessions := key{stream: "orders"}, key{"orders", "billing"}, key{stream: "KV_sessions"}
	foreign := key{stream: "foreign"}
	settings := func() map[string]string { return map[string]string{description: "d", maxMsgs: "5"} }
	object := func(uid types.UID, asset key) object {
		return object{
			label: string(uid), uid: uid, stamp: "c/" + string(uid), asset: asset, want: settings(), settled: true,
			says: "all is well",
		}
	}
	asset := func(uid types.UID) asset {
		return asset{Stamp: "c/" + string(uid), UID: uid, Created: day, Settings: settings()}
	}

	return scene{
		picture: picture{
			objects: []object_{object("o", orders), object("b", billing), object("s", sessions)},
			assets: map[key]asset_{
				orders: asset("o"), billing: asset("b"), sessions: asset("s"), foreign: {Messages: 3, Created: day},
			},
		},
		foreign: map[key]asset_{foreign: {Messages: 3, Created: day}},
		born:    map[types.UID]time.Time{"o": day, "b": day},
	}
}

type (
	object_ = object
	asset_  = asset
)

func (s scene) change(k key, change func(*asset)) {
	a := s.assets[k]
	a.Settings = maps.Clone(a.Settings)
	change(&a)
	s.assets[k] = a
}

func TestJudge(t *testing.T) {
	orders, billing := key{stream: "orders"}, key{"orders", "billing"}

	cases := map[string]struct {
		reason string
		spoil  func(s *scene)
		want   map[flaw]int
	}{
		"Nothing": {"Nothing is spoilt.", func(*scene) {}, map[flaw]int{}},
		"Leaked": {"Its object is gone.", func(s *scene) {
			s.assets[key{stream: "old"}] = asset{Stamp: "c/gone", UID: "gone"}
		}, map[flaw]int{leaked: 1}},
		"Unstamped": {"It has no owner.", func(s *scene) { s.assets[key{stream: "x"}] = asset{} }, map[flaw]int{leaked: 1}},
		"LeakedConsumer": {"The object of a consumer is gone.", func(s *scene) {
			s.assets[key{"foreign", "x"}] = asset{Stamp: "c/gone", UID: "gone"}
		}, map[flaw]int{leaked: 1}},
		"Duplicated": {
			"One object has two streams.",
			func(s *scene) { s.assets[key{stream: "orders-2"}] = s.assets[orders] }, map[flaw]int{duplicated: 1},
		},
		"Elsewhere": {"An object has another stream than the desired one.", func(s *scene) {
			s.assets[key{stream: "orders-2"}] = s.assets[orders]
			delete(s.assets, orders)
		}, map[flaw]int{leaked: 1, missing: 1}},
		"Deleted": {"A deletion does not end.", func(s *scene) { s.objects[0].deleted = true }, map[flaw]int{stuck: 1}},
		"Unsettled": {
			"Its conditions report a failure.",
			func(s *scene) { s.objects[0].settled = false }, map[flaw]int{stuck: 1},
		},
		"Missing": {"Its conditions report success.", func(s *scene) { delete(s.assets, billing) }, map[flaw]int{missing: 1}},
		"Setting": {"It was not changed.", func(s *scene) {
			s.change(orders, func(a *asset) { a.Settings[maxMsgs] = "4" })
		}, map[flaw]int{different: 1}},
		"Stamp": {"Of the object, but wrong in the rest.", func(s *scene) {
			s.change(orders, func(a *asset) { a.Stamp = "other/o" })
		}, map[flaw]int{different: 1}},
		"Recreated": {"Its messages were lost.", func(s *scene) {
			s.change(orders, func(a *asset) { a.Created = a.Created.Add(1) })
		}, map[flaw]int{recreated: 1}},
		"RecreatedConsumer": {"A consumer is deleted with its stream.", func(s *scene) {
			s.change(billing, func(a *asset) { a.Created = a.Created.Add(1) })
		}, map[flaw]int{}},
		"Refused": {
			"A foreign resource is not taken over.",
			func(s *scene) { s.objects[0].refused = true }, map[flaw]int{leaked: 1},
		},
		"RefusedWell": {"An object that asks for a foreign resource has none.", func(s *scene) {
			s.objects[0].refused, s.objects[0].asset = true, key{stream: "foreign"}
			delete(s.assets, orders)
		}, map[flaw]int{}},
		"Touched": {"A foreign message is lost.", func(s *scene) {
			s.change(key{stream: "foreign"}, func(a *asset) { a.Messages = 2 })
		}, map[flaw]int{touched: 1}},
		"Taken": {
			"The whole foreign stream is lost.",
			func(s *scene) { delete(s.assets, key{stream: "foreign"}) }, map[flaw]int{touched: 1},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			tc.spoil(&s)

			v := judge(s.picture, s.foreign, s.born)
			got := map[flaw]int{}

			for f, what := range v {
				got[f] = len(what)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\njudge(...): -want, +got:\n%s\n%s", tc.reason, diff, v)
			}
		})
	}
}

// TestPlan: each round has every fault of its kind, in its time, and is the same each time.
func TestPlan(t *testing.T) {
	const window = 15 * time.Second

	both := map[string]bool{} // ways to observe, by replicas

	for seed := range uint64(200) {
		for round := 1; round <= 4; round++ {
			c := plan(seed, round, window)
			if diff := cmp.Diff(c, plan(seed, round, window), cmp.AllowUnexported(course{}, fault{})); diff != "" {
				t.Fatalf("seed %d: planned twice:\n%s", seed, diff)
			}

			got, before := map[faultKind]int{}, time.Duration(0)

			for _, f := range c.faults {
				got[f.kind]++

				if f.at < before || f.at >= window || f.lasts < shortestOutage || f.lasts >= longestOutage ||
					f.who < 0 || f.who > 1 {
					t.Errorf("seed %d, round %d: %+v", seed, round, f)
				}

				before = f.at
			}

			want := map[faultKind]int{outage: 1, silence: 1, pages: 1, kill: 5}
			if c.pair {
				want = map[faultKind]int{outage: 1, silence: 1, pages: 1, kill: 1, restart: 1, suspend: 1}
			}

			both[fmt.Sprintf("pair %t, notified %t", c.pair, c.notified)] = true

			if before := plan(seed, round-1, window); round%2 == 0 && !c.notified && !before.notified {
				t.Errorf("seed %d: JetStream notifies neither in round %d nor in the one before", seed, round)
			}

			if diff := cmp.Diff(want, got); diff != "" || c.pair != (round%2 == 1) {
				t.Errorf("seed %d, round %d: -want, +got:\n%s", seed, round, diff)
			}
		}
	}

	if len(both) != 4 {
		t.Errorf("want two replicas and a single provider, each with and without notifications, got %v", both)
	}
}

// TestSlots: there are objects of every kind, and each consumer has its stream.
func TestSlots(t *testing.T) {
	for _, n := range []int{10, 20, 23, 200} {
		all := slots(n)
		kinds, refused, names := map[string]int{}, map[string]int{}, map[string]bool{}

		for _, s := range all {
			kinds[s.kind]++
			names[s.name] = true

			if s.refused {
				refused[s.external]++
			}
		}

		for _, s := range all {
			if s.stream != "" && !names[s.stream] {
				t.Errorf("of %d: %s is for %s, which does not exist", n, s.name, s.stream)
			}
		}

		if len(names) != n || len(kinds) != 4 || len(refused) != 2 {
			t.Errorf("of %d: %d names, %v, refused %v", n, len(names), kinds, refused)
		}
	}
}

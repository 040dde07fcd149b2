package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/internal/berth"
)

// The classes of external systems.
var classes = map[string]class{
	"named": {
		name: "named", named: true, stamped: true,
		options: []managed.ReconcilerOption{managed.WithDeterministicExternalName(true)},
	},
	"token":    {name: "token", token: true, options: []managed.ReconcilerOption{managed.WithCreationTokens()}},
	"findable": {name: "findable", finds: 10 * time.Second, stamped: true},
	"opaque":   {name: "opaque", blocks: true, options: []managed.ReconcilerOption{managed.WithStrictCreateErrors()}},
	untold:     {name: untold, blocks: true},
}

// A scenario is the life of an object or two without faults.
type scenario struct {
	name   string
	only   []string       // classes; none are all
	loose  bool           // whether something was created before the end is a matter of luck
	calm   bool           // nothing goes wrong in it
	single bool           // two faults of it are combined at random only
	long   bool           // another does the same in less time
	apart  bool           // two faults of it are combined where there is time for it
	doubts bool           // or where one of them is a doubt
	harbor func(*harbour) // how the external system behaves
	faults []Fault        // that belong to it
	lag    time.Duration  // of the cache
	config func(*World)   // what else is different in it
	expect func(*World) func(resource.Managed) (string, bool)
	live   func(*World)

	begins string // the scenario that it is until everything is as asked for; empty if there is none
}

var firstKey = types.NamespacedName{Namespace: "default", Name: "first"}

func newBerth(name string, annotations ...string) *berth.Berth {
	b := &berth.Berth{ObjectMeta: metav1.ObjectMeta{Namespace: firstKey.Namespace, Name: name}, Spec: berth.Spec{Length: 10, AccessToken: canaryField}}
	for i := 0; i+1 < len(annotations); i += 2 {
		annotate(b, annotations[i], annotations[i+1])
	}

	return b
}

func lengthen(by int64) func(resource.Managed) {
	return func(mg resource.Managed) {
		if b, err := berthOf(mg); err == nil {
			b.Spec.Length += by
		}
	}
}

var scenarios = slices.Concat(lives, slow, longer, accesses, crowds, rolls, news, remade, keyed, succession)

var lives = []scenario{
	{name: "create", begins: "create", lag: 5 * time.Millisecond, live: func(w *World) {
		w.users.create(newBerth("first"))
		w.settle()
		w.quiet()
	}},
	{name: "update", begins: "create", lag: 5 * time.Millisecond, live: func(w *World) {
		w.users.create(newBerth("first"))
		w.settle()
		w.users.change(firstKey, lengthen(5))
		w.settle()
		w.users.change(firstKey, lengthen(-5))
		w.settle()
		w.quiet()
	}},
	{name: "delete", begins: "create", lag: 5 * time.Millisecond, live: func(w *World) {
		w.users.create(newBerth("first"))
		w.settle()
		w.run(w.now().Add(90 * time.Second)) // nothing of the creation is in doubt any more
		w.users.delete(firstKey)
		w.settle()
	}},
	{name: "adopt", lag: 5 * time.Millisecond, live: adopt},
	{
		name: "recover", loose: true, lag: 5 * time.Millisecond, faults: []Fault{{Op: "Create", N: 1, Kind: CrashAfter}},
		live: func(w *World) {
			w.users.create(newBerth("first"))
			w.settle()
			w.users.delete(firstKey)
			w.settle()
		},
	},
	{name: "pause", begins: "create", lag: 5 * time.Millisecond, live: func(w *World) {
		w.users.create(newBerth("first"))
		w.settle()
		w.users.annotate(firstKey, keyPaused, "true")
		w.run(w.now().Add(3 * time.Minute))
		w.users.change(firstKey, lengthen(5))
		w.untouched("while the object is paused")
		w.users.annotate(firstKey, keyPaused, "")
		w.settle()
		w.quiet()
	}},
	{name: "rename", begins: "create", lag: 5 * time.Millisecond, live: rename},
	{name: "recreate", lag: 200 * time.Millisecond, live: func(w *World) {
		w.users.create(newBerth("first"))
		w.settle()
		w.users.delete(firstKey)
		w.run(w.now().Add(patience), func() bool { return w.users.see(firstKey) == nil })
		if w.users.see(firstKey) == nil {
			w.users.create(newBerth("first"))
		}
		w.settle()
		w.quiet()
	}},
	{name: "replace", loose: true, lag: 20 * time.Millisecond, live: replace},
	{name: "policy", begins: "create", lag: 5 * time.Millisecond, live: policies},
	{
		name: "lost-lease", lag: 5 * time.Millisecond, faults: []Fault{{Op: "Observe", N: 1, Kind: Usurp}},
		live: func(w *World) {
			w.users.create(newBerth("first"))
			w.settle()
			w.users.change(firstKey, lengthen(5))
			w.settle()
		},
	},
	{
		name: "alone", lag: 5 * time.Millisecond, single: true, only: []string{"named", "opaque"}, config: func(w *World) { w.config.alone = true },
		live: func(w *World) {
			w.users.create(newBerth("first"))
			w.settle()
			w.users.change(firstKey, lengthen(5))
			w.settle()
			w.quiet()
			w.users.delete(firstKey)
			w.settle()
		},
	},
	{name: "drift", apart: true, lag: 5 * time.Millisecond, live: func(w *World) {
		w.users.create(newBerth("first"))
		w.settle()
		w.users.drift()
		w.run(w.now().Add(2 * pollInterval))
		w.settle()
		w.quiet()
	}},
	{name: "stranger", lag: 5 * time.Millisecond, expect: disowned, live: stranger},
	{
		name: "publish", apart: true, lag: 5 * time.Millisecond, harbor: func(h *harbour) { h.details = "first" }, config: recorded, expect: published,
		live: func(w *World) {
			b := newBerth("first")
			b.Spec.WriteConnectionSecretToRef = &commonv1.LocalSecretReference{Name: "details"}
			w.users.create(b)
			w.settle()
			w.run(w.now().Add(2 * pollInterval)) // a process that begins may publish once more, and note it
			w.settle()
			w.quiet()
			w.harbour.details = "rotated"
			w.settle()
			w.run(w.now().Add(4 * pollInterval)) // what was published may have to be noted
			w.settle()
			w.quiet()
		},
	},
	{
		name: "publish-taken", apart: true, loose: true, lag: 5 * time.Millisecond, harbor: func(h *harbour) { h.details = "first" },
		expect: unpublished, live: func(w *World) {
			w.users.must(w.users.client.Create(context.Background(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: firstKey.Namespace, Name: "details"},
			}))
			b := newBerth("first")
			b.Spec.WriteConnectionSecretToRef = &commonv1.LocalSecretReference{Name: "details"}
			w.users.create(b)
			w.run(w.now().Add(5 * time.Minute))
			w.settle()
			w.users.delete(firstKey)
			w.settle()
		},
	},
	{name: "unclaimed", apart: true, lag: 5 * time.Millisecond, live: unclaimed},
	{name: "two", apart: true, lag: 20 * time.Millisecond, live: func(w *World) {
		w.users.create(newBerth("first"))
		w.users.create(newBerth("second"))
		w.settle()
		w.users.delete(firstKey)
		w.settle()
		w.quiet()
	}},
}

// recorded: every change is told to a log of changes.
func recorded(w *World) { w.config.recorded = true }

// unclaimed: objects bear a finalizer from the beginning, so that nothing takes them
// away at once. One is deleted before anybody claims it.
func unclaimed(w *World) {
	for _, name := range []string{"first", "second"} {
		b := newBerth(name)
		b.Finalizers = []string{unclaimedFinalizer}
		w.users.create(b)
	}
	w.users.delete(types.NamespacedName{Namespace: firstKey.Namespace, Name: "second"})
	w.settle()
	w.users.delete(firstKey)
	w.settle()
}

// adopt: there is a resource already, and the object is to take it over.
func adopt(w *World) {
	w.harbour.put(place{ID: "old", Length: 3})
	uid := w.users.create(newBerth("first", keyExternalName, "old", keyAdoptionPolicy, "if-unowned"))
	w.users.adopted[uid] = true
	w.settle()
	if n := w.harbour.created[uid]; n > 0 && !w.lostName(uid) && !w.undeleted.excuses(uid, whatever) {
		w.violate("S6", fmt.Sprintf("%d resources were created beside the one that was to be adopted", n))
	}
	w.users.delete(firstKey)
	w.settle()
}

// rename: the object is to stand for another resource from now on.
func rename(w *World) {
	uid := w.users.create(newBerth("first"))
	w.settle()
	w.harbour.put(place{ID: "other", Length: 3})
	w.users.left[uid], w.users.adopted[uid] = true, true
	w.users.change(firstKey, func(mg resource.Managed) {
		annotate(mg, keyExternalName, "other")
		annotate(mg, keyAdoptionPolicy, "if-unowned")
	})
	w.settle()
	if n := w.tooMany(uid); n > 0 {
		w.violate("S1", fmt.Sprintf("%d resources after the object was given another", n))
	}
	w.users.change(firstKey, lengthen(5))
	w.settle()
	w.quiet()
}

// replace: another object takes the name while a pass may still be under way.
func replace(w *World) {
	var again func()
	again = func() {
		if w.users.see(firstKey) != nil {
			w.in(5*time.Second, again)

			return
		}
		w.users.create(newBerth("first"))
	}
	w.users.create(newBerth("first"))
	w.in(time.Second, func() {
		w.users.delete(firstKey)
		again()
	})
	w.settle()
	w.quiet()
}

// policies: what is only observed is left as it is, and what is orphaned stays.
func policies(w *World) {
	w.users.create(newBerth("first"))
	w.settle()
	w.users.annotate(firstKey, keyManagementPolicy, "observe")
	w.run(w.now().Add(3 * time.Minute))
	w.users.drift()
	w.untouched("although the object is only observed")
	w.users.annotate(firstKey, keyManagementPolicy, "")
	w.settle()
	w.users.annotate(firstKey, keyDeletionPolicy, "orphan")
	w.users.delete(firstKey)
	w.untouched("although the resource is to be orphaned")
	w.settle()
}

// stranger: the name is taken by somebody else's resource.
func stranger(w *World) {
	w.harbour.put(place{ID: "taken", Stamp: somebody, For: somebody, Length: 3})
	w.users.create(newBerth("first", keyExternalName, "taken"))
	if !w.harbour.class.stamped {
		return // whatever has the name is taken for ours where owners cannot be told
	}
	w.untouched("although it is somebody else's")
	w.settle()
	w.users.delete(firstKey)
	w.settle()
	if w.harbour.at("taken") == nil {
		w.violate("S6", "somebody else's resource is gone")
	}
}

func disowned(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		if !w.harbour.class.stamped {
			return "", true
		}
		if isDeleted(mg) || isPaused(mg) {
			return "", false
		}
		if c := conditionOf(mg, "Synced"); c.Reason != "ExternalResourceNotOwned" {
			return "it does not say that the resource is somebody else's", true
		}

		return "", true
	}
}

// published: the Secret has what there is to know now.
func published(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		if isDeleted(mg) || isPaused(mg) {
			return "", false
		}
		s, ok := w.server.Stored(corev1.SchemeGroupVersion.WithKind("Secret"), types.NamespacedName{Namespace: firstKey.Namespace, Name: "details"}).(*corev1.Secret)
		if !ok && w.unpublished {
			return "", false // that its Secret is there is known from its status alone
		}
		if !ok || string(s.Data["password"]) != canaryDetail+w.harbour.details {
			return "its connection details are not published", true
		}

		return "", false
	}
}

// unpublished: the Secret is somebody else's, so that the object cannot be ready.
func unpublished(*World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		if isDeleted(mg) || isPaused(mg) {
			return "", false
		}
		if conditionOf(mg, "Synced").Status != "False" {
			return "it does not say that its connection details are not published", true
		}

		return "", true
	}
}

func scenarioOf(name string) (scenario, bool) {
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
	if i < 0 {
		return scenario{}, false
	}

	return scenarios[i], true
}

// Has says whether a scenario is one of a class.
func Has(of, class string) bool {
	s, found := scenarioOf(of)
	_, known := classes[class]
	lives := class != untold || slices.Contains(untoldIn, of)

	return known && found && lives && (len(s.only) == 0 || slices.Contains(s.only, class))
}

// Long says whether a scenario is one that another does in less time, so that it need
// not be tried as often.
func Long(of string) bool {
	s, _ := scenarioOf(of)

	return s.long
}

// Begins returns the scenario that one is for a while, until everything is as asked for
// the first time, or nothing if there is none. See Explorer.After.
func Begins(of string) string {
	s, _ := scenarioOf(of)

	return s.begins
}

// Scenarios returns the names of all scenarios.
func Scenarios() []string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}

	return names
}

// Classes returns the names of all classes.
func Classes() []string { return slices.Sorted(maps.Keys(classes)) }

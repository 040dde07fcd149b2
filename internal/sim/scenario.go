package sim

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A scenario is the life of one or two objects without faults.
type scenario struct {
	name         string
	only         []string         // classes; empty: all
	looseEnding  bool             // whether something was created before the end may differ
	faultless    bool             // no faults are injected
	singleFaults bool             // two faults are combined at random only
	long         bool             // another does the same in less time
	onlyApart    bool             // two faults are combined only if all scenarios are tried
	doubts       bool             // or if doubts are tried
	system       func(*extSystem) // configures the external system
	faults       []Fault          // that belong to it
	lag          time.Duration    // of the cache
	config       func(*World)     // configures the world
	expect       func(*World) func(resource.Managed) (string, bool)
	run          func(*World)

	begins string // the scenario that it is identical to until everything is in the desired state; empty if none
}

var basicScenarios = []scenario{
	{name: "create", begins: "create", lag: 5 * time.Millisecond, run: func(w *World) {
		w.users.create(newBucket("first"))
		w.settle()
		w.quiet()
	}},
	{name: "update", begins: "create", lag: 5 * time.Millisecond, run: func(w *World) {
		w.users.create(newBucket("first"))
		w.settle()
		w.users.change(firstKey, resize(5))
		w.settle()
		w.users.change(firstKey, resize(-5))
		w.settle()
		w.quiet()
	}},
	{name: "delete", begins: "create", lag: 5 * time.Millisecond, run: func(w *World) {
		w.users.create(newBucket("first"))
		w.settle()
		w.run(w.now().Add(90 * time.Second)) // nothing of the creation is in doubt any more
		w.users.delete(firstKey)
		w.settle()
	}},
	{name: "adopt", lag: 5 * time.Millisecond, run: adopt},
	{
		name: "recover", looseEnding: true, lag: 5 * time.Millisecond,
		faults: []Fault{{Op: "Create", N: 1, Kind: CrashAfter}},
		run: func(w *World) {
			w.users.create(newBucket("first"))
			w.settle()
			w.users.delete(firstKey)
			w.settle()
		},
	},
	{name: "pause", begins: "create", lag: 5 * time.Millisecond, run: func(w *World) {
		w.users.create(newBucket("first"))
		w.settle()
		w.users.annotate(firstKey, keyPaused, "true")
		w.run(w.now().Add(3 * time.Minute))
		w.users.change(firstKey, resize(5))
		w.untouched("while the object is paused")
		w.users.annotate(firstKey, keyPaused, "")
		w.settle()
		w.quiet()
	}},
	{name: "rename", begins: "create", lag: 5 * time.Millisecond, run: rename},
	{name: "recreate", lag: 200 * time.Millisecond, run: func(w *World) {
		w.users.create(newBucket("first"))
		w.settle()
		w.users.delete(firstKey)
		w.run(w.now().Add(patience), func() bool { return w.users.see(firstKey) == nil })
		if w.users.see(firstKey) == nil {
			w.users.create(newBucket("first"))
		}
		w.settle()
		w.quiet()
	}},
	{name: "replace", looseEnding: true, lag: 20 * time.Millisecond, run: replace},
	{name: "policy", begins: "create", lag: 5 * time.Millisecond, run: policies},
	{
		name: "lost-lease", lag: 5 * time.Millisecond, faults: []Fault{{Op: "Observe", N: 1, Kind: LeaseLost}},
		run: func(w *World) {
			w.users.create(newBucket("first"))
			w.settle()
			w.users.change(firstKey, resize(5))
			w.settle()
		},
	},
	{
		name: "alone", lag: 5 * time.Millisecond, singleFaults: true, only: []string{"named", "opaque"},
		config: func(w *World) { w.config.alone = true },
		run: func(w *World) {
			w.users.create(newBucket("first"))
			w.settle()
			w.users.change(firstKey, resize(5))
			w.settle()
			w.quiet()
			w.users.delete(firstKey)
			w.settle()
		},
	},
	{name: "drift", onlyApart: true, lag: 5 * time.Millisecond, run: func(w *World) {
		w.users.create(newBucket("first"))
		w.settle()
		w.users.drift()
		w.run(w.now().Add(2 * pollInterval))
		w.settle()
		w.quiet()
	}},
	{name: "foreign-owner", lag: 5 * time.Millisecond, expect: disowned, run: foreignOwner},
	{
		name: "publish", onlyApart: true, lag: 5 * time.Millisecond, system: func(h *extSystem) { h.details = "first" },
		config: recorded, expect: published,
		run: func(w *World) {
			b := newBucket("first")
			b.Spec.WriteConnectionSecretToRef = &commonv1.LocalSecretReference{Name: "details"}
			w.users.create(b)
			w.settle()
			w.run(w.now().Add(2 * pollInterval)) // a process that begins may publish once more, and note it
			w.settle()
			w.quiet()
			w.system.details = "rotated"
			w.settle()
			w.run(w.now().Add(4 * pollInterval)) // what was published may have to be noted
			w.settle()
			w.quiet()
		},
	},
	{
		name: "publish-taken", onlyApart: true, looseEnding: true, lag: 5 * time.Millisecond,
		system: func(h *extSystem) { h.details = "first" },
		expect: unpublished, run: func(w *World) {
			w.users.must(w.users.client.Create(context.Background(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: firstKey.Namespace, Name: "details"},
			}))
			b := newBucket("first")
			b.Spec.WriteConnectionSecretToRef = &commonv1.LocalSecretReference{Name: "details"}
			w.users.create(b)
			w.run(w.now().Add(5 * time.Minute))
			w.settle()
			w.users.delete(firstKey)
			w.settle()
		},
	},
	{name: "unclaimed", onlyApart: true, lag: 5 * time.Millisecond, run: unclaimed},
	{name: "two", onlyApart: true, lag: 20 * time.Millisecond, run: func(w *World) {
		w.users.create(newBucket("first"))
		w.users.create(newBucket("second"))
		w.settle()
		w.users.delete(firstKey)
		w.settle()
		w.quiet()
	}},
}

// adopt is a scenario in which the object adopts an existing resource.
func adopt(w *World) {
	w.system.add(extResource{ID: "old", Size: 3})
	uid := w.users.create(newBucket("first", keyExternalName, "old", keyAdoptionPolicy, "if-unowned"))
	w.users.adopted[uid] = true
	w.settle()
	if n := w.system.created[uid]; n > 0 && !w.lostName(uid) && !w.exempt.undeleted.excuses(uid, anyExemption) {
		w.violate("S6", fmt.Sprintf("%d resources were created beside the one that was to be adopted", n))
	}
	w.users.delete(firstKey)
	w.settle()
}

// rename is a scenario in which the object gets the name of another resource.
func rename(w *World) {
	uid := w.users.create(newBucket("first"))
	w.settle()
	w.system.add(extResource{ID: "other", Size: 3})
	w.users.left[uid], w.users.adopted[uid] = true, true
	w.users.change(firstKey, func(mg resource.Managed) {
		annotate(mg, keyExternalName, "other")
		annotate(mg, keyAdoptionPolicy, "if-unowned")
	})
	w.settle()
	if n := w.tooMany(uid); n > 0 {
		w.violate("S1", fmt.Sprintf("%d resources after the object was given another", n))
	}
	w.users.change(firstKey, resize(5))
	w.settle()
	w.quiet()
}

func resize(by int64) func(resource.Managed) {
	return func(mg resource.Managed) {
		if b, err := bucketOf(mg); err == nil {
			b.Spec.Size += by
		}
	}
}

// replace is a scenario in which another object is created with the name while a pass may still be in progress.
func replace(w *World) {
	var again func()
	again = func() {
		if w.users.see(firstKey) != nil {
			w.in(5*time.Second, again)

			return
		}
		w.users.create(newBucket("first"))
	}
	w.users.create(newBucket("first"))
	w.in(time.Second, func() {
		w.users.delete(firstKey)
		again()
	})
	w.settle()
	w.quiet()
}

// policies is a scenario about objects that are only observed and whose resource is orphaned.
func policies(w *World) {
	w.users.create(newBucket("first"))
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

func disowned(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		if !w.system.class.stamped {
			return "", true
		}
		if isDeleted(mg) || isPaused(mg) {
			return "", false
		}
		if c := conditionOf(mg, "Synced"); c.Reason != "ExternalResourceNotOwned" {
			return "it does not say that the resource has another owner", true
		}

		return "", true
	}
}

// foreignOwner is a scenario in which the resource with the name has another owner.
func foreignOwner(w *World) {
	w.system.add(extResource{ID: "taken", Stamp: otherOwner, For: otherOwner, Size: 3})
	w.users.create(newBucket("first", keyExternalName, "taken"))
	if !w.system.class.stamped {
		return // without owners any resource of the name counts as ours
	}
	w.untouched("although it has another owner")
	w.settle()
	w.users.delete(firstKey)
	w.settle()
	if w.system.find("taken") == nil {
		w.violate("S6", "the resource of another owner is gone")
	}
}

// recorded adds a change log.
func recorded(w *World) { w.config.logsChanges = true }

// published expects that the Secret has the current connection details.
func published(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		if isDeleted(mg) || isPaused(mg) {
			return "", false
		}
		s, ok := w.server.Stored(corev1.SchemeGroupVersion.WithKind("Secret"),
			types.NamespacedName{Namespace: firstKey.Namespace, Name: "details"}).(*corev1.Secret)
		if !ok && w.undone.unpublished {
			return "", false // that its Secret is there is known from its status alone
		}
		if !ok || string(s.Data["password"]) != canaryDetail+w.system.details {
			return "its connection details are not published", true
		}

		return "", false
	}
}

// unpublished expects that the object is not ready because the Secret has another owner.
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

// unclaimed is a scenario in which objects are created with another finalizer, so that they are never removed
// immediately. One object is deleted before the provider has added its own finalizer.
func unclaimed(w *World) {
	for _, name := range []string{"first", "second"} {
		b := newBucket(name)
		b.Finalizers = []string{unclaimedFinalizer}
		w.users.create(b)
	}
	w.users.delete(types.NamespacedName{Namespace: firstKey.Namespace, Name: "second"})
	w.settle()
	w.users.delete(firstKey)
	w.settle()
}

func newBucket(name string, annotations ...string) *bucket.Bucket {
	b := &bucket.Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: firstKey.Namespace, Name: name},
		Spec: bucket.Spec{Size: 10, AccessToken: canaryField}}
	for i := 0; i+1 < len(annotations); i += 2 {
		annotate(b, annotations[i], annotations[i+1])
	}

	return b
}

var firstKey = types.NamespacedName{Namespace: "default", Name: "first"}

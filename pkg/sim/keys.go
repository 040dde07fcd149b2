package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Scenarios about connection details that only Create tells: each resource has a key, which nobody can ask for.
var keyed = []scenario{
	{
		name: "create-tells", lag: 5 * time.Millisecond, single: true, only: []string{"named", "opaque"},
		harbor: keys, config: toldByCreate, expect: delivered, live: func(w *World) {
			w.users.create(withSecret("details"))
			w.settle()
			w.run(w.now().Add(2 * pollInterval)) // a process that begins may publish once more, and note it
			w.settle()
			w.quiet()
			w.users.change(firstKey, lengthen(5))
			w.settle()
			w.users.delete(firstKey)
			w.settle()
		},
	},
	{
		name: "create-tells-taken", lag: 5 * time.Millisecond, single: true, loose: true, only: []string{"named", "opaque"},
		harbor: keys, config: toldByCreate, expect: delivered, live: func(w *World) {
			theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: firstKey.Namespace, Name: "details"}}
			w.users.must(w.users.client.Create(context.Background(), theirs))
			w.users.create(withSecret("details"))
			w.run(w.now().Add(time.Minute))
			if !w.replays() {
				w.users.must(client.IgnoreNotFound(w.users.client.Delete(context.Background(), theirs)))
			}
			w.settle()
			w.users.delete(firstKey)
			w.settle()
		},
	},
}

// What the observation tells is published beside what Create told.
func keys(h *harbour) { h.keys, h.details = true, "first" }

func toldByCreate(w *World) {
	w.config.Options = append(w.config.Options, managed.WithCreationConnectionDetails())
}

func withSecret(name string) resource.Managed {
	b := newBerth("first")
	b.Spec.WriteConnectionSecretToRef = &commonv1.LocalSecretReference{Name: name}

	return b
}

// hearing returns the call of Create that tells the key of what it made, unless its answer is lost: then nobody hears
// it.
func (p *process) hearing(call func(context.Context, resource.Managed) error) func(context.Context, resource.Managed) error {
	w := p.world
	if w.harbour == nil || !w.harbour.keys {
		return call
	}

	return func(ctx context.Context, mg resource.Managed) error {
		before := w.harbour.changes
		err := call(ctx, mg)
		if w.harbour.changes == before || w.unanswered(boundary{"Create", w.counts["Create"]}) {
			return err
		}
		made := w.harbour.places[len(w.harbour.places)-1]
		managed.TellConnectionDetails(ctx, managed.ConnectionDetails{"key": []byte(made.Key)})
		w.heard[made.Key] = p.number
		p.unstored, p.asksSecret = made.Key, false

		return err
	}
}

// unanswered says whether the answer of an operation is lost.
func (w *World) unanswered(at boundary) bool {
	return slices.ContainsFunc(w.faults[at], func(f Fault) bool { return f.Kind == Lost || f.Kind == HangAfter })
}

// theSecret is that of the object as it is stored, or nil.
func (w *World) theSecret() *corev1.Secret {
	s, _ := w.server.Stored(corev1.SchemeGroupVersion.WithKind("Secret"), types.NamespacedName{Namespace: firstKey.Namespace, Name: "details"}).(*corev1.Secret)

	return s
}

// judgeKey judges what a process does that has heard a key: it asks for nothing else of its object before it has
// tried to store it. And no Create begins while the Secret is somebody else's.
func (w *World) judgeKey(p *process, o operation) {
	if w.harbour == nil || !w.harbour.keys {
		return
	}
	p.asksSecret = p.asksSecret || strings.HasSuffix(o.name, ":Secret")
	if !o.external || o.mg == nil {
		return
	}
	s, now := w.theSecret(), w.stored(o.mg)
	switch {
	case o.name == "Connect" || now == nil:
	case p.unstored != "" && !p.asksSecret && !isDeleted(now):
		w.violate("S25", o.name+" before what Create told is stored, or that was tried")
	}
	if o.name == "Create" && s != nil && !metav1.IsControlledBy(s, o.mg) && len(w.rewinds) == 0 {
		w.violate("S25", "Create, which tells what nobody can ask for, while the Secret for it is somebody else's")
	}
}

// storesKey notes that the key which a process has heard is in the Secret.
func (w *World) storesKey(p *process) {
	if p.unstored == "" {
		return
	}
	if s := w.theSecret(); s != nil && string(s.Data["key"]) == p.unstored {
		p.unstored = ""
	}
}

// delivered: the Secret has the key, or the object says that it is lost, because nobody has heard it who lives.
func delivered(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		s, made := w.theSecret(), w.harbour.at(externalName(mg))
		if s != nil && !metav1.IsControlledBy(s, mg) && !isDeleted(mg) && !isPaused(mg) {
			if conditionOf(mg, "Synced").Status != "False" {
				return "it does not say that its connection details cannot be published", true
			}

			return "", true
		}
		_, rewound := w.rewinds[mg.GetUID()]
		if isDeleted(mg) || isPaused(mg) || made == nil || made.For != mg.GetUID() || w.unpublished || rewound {
			return "", false
		}
		// The annotation is stored before the event is told: a process may end in between.
		said := w.keyLost[mg.GetUID()] || mg.GetAnnotations()[keyCreationDetails] == "lost"
		if said && w.hearerLives(made) {
			w.violate("S25", "what Create told is said to be lost, and the process lives that has heard it")
		}
		if !said && (s == nil || string(s.Data["key"]) != made.Key) {
			return "what Create told is neither published nor said to be lost", true
		}

		return "", false
	}
}

// hearerLives says whether the process is alive, and may write, that has heard the key of a place.
func (w *World) hearerLives(made *place) bool {
	by := w.heard[made.Key]

	return by > 0 && !w.processes[by-1].dead && !w.processes[by-1].deposed
}

// keyStands is how the key of a place stands: who has heard it, and whether the Secret has it.
func (w *World) keyStands(made *place) uint64 {
	if made.Key == "" {
		return 0
	}
	s, sum := w.theSecret(), uint64(1)
	for _, is := range []bool{s != nil, s != nil && string(s.Data["key"]) == made.Key, w.heard[made.Key] > 0, w.hearerLives(made), w.keyLost[made.For]} {
		sum = mixed(sum, bit(is))
	}

	return sum
}

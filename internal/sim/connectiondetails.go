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

// detailsScenarios are the scenarios about connection details that only Create returns. Each resource has a key that
// cannot be read later.
var detailsScenarios = []scenario{
	{
		name: "create-tells", lag: 5 * time.Millisecond, singleFaults: true, only: []string{"named", "opaque"},
		system: keysByCreate, config: detailsByCreate, expect: delivered, run: func(w *World) {
			w.users.create(withSecret("details"))
			w.settle()
			w.run(w.now().Add(2 * pollInterval)) // a process that begins may publish once more, and note it
			w.settle()
			w.quiet()
			w.users.change(firstKey, resize(5))
			w.settle()
			w.users.delete(firstKey)
			w.settle()
		},
	},
	{
		name: "create-tells-taken", lag: 5 * time.Millisecond, singleFaults: true, looseEnding: true,
		only:   []string{"named", "opaque"},
		system: keysByCreate, config: detailsByCreate, expect: delivered, run: func(w *World) {
			theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: firstKey.Namespace, Name: "details"}}
			w.users.must(w.users.client.Create(context.Background(), theirs))
			w.users.create(withSecret("details"))
			w.run(w.now().Add(time.Minute))
			if !w.replaying() {
				w.users.must(client.IgnoreNotFound(w.users.client.Delete(context.Background(), theirs)))
			}
			w.settle()
			w.users.delete(firstKey)
			w.settle()
		},
	},
}

// keysByCreate makes the system return a key from Create, and a password from Observe.
func keysByCreate(h *extSystem) { h.keys, h.details = true, "first" }

func detailsByCreate(w *World) {
	w.config.Options = append(w.config.Options, managed.WithCreationConnectionDetails())
}

// delivered expects that the Secret has the key. If no running process has the key, it expects that the object reports
// the loss.
func delivered(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		s, made := w.theSecret(), w.system.find(externalName(mg))
		if s != nil && !metav1.IsControlledBy(s, mg) && !isDeleted(mg) && !isPaused(mg) {
			if conditionOf(mg, "Synced").Status != "False" {
				return "it does not say that its connection details cannot be published", true
			}

			return "", true
		}
		_, rewound := w.undone.rewinds[mg.GetUID()]
		if isDeleted(mg) || isPaused(mg) || made == nil || made.For != mg.GetUID() || w.undone.unpublished || rewound {
			return "", false
		}
		// The annotation is stored before the event is emitted: a process may end in between.
		said := w.keys.lost[mg.GetUID()] || mg.GetAnnotations()[keyCreationDetails] == "lost"
		if said && w.keyHolderAlive(made) {
			w.violate("S25", "the details of Create are reported as lost, although a running process has them")
		}
		if !said && (s == nil || string(s.Data["key"]) != made.Key) {
			return "the details of Create are neither published nor reported as lost", true
		}

		return "", false
	}
}

func withSecret(name string) resource.Managed {
	b := newBucket("first")
	b.Spec.WriteConnectionSecretToRef = &commonv1.LocalSecretReference{Name: name}

	return b
}

// recordingKey wraps a call of Create. The call returns the key of the created resource, unless its answer is lost.
func (p *process) recordingKey(call func(context.Context, resource.Managed) error) func(context.Context,
	resource.Managed) error {
	w := p.world
	if w.system == nil || !w.system.keys {
		return call
	}

	return func(ctx context.Context, mg resource.Managed) error {
		before := w.system.changes
		err := call(ctx, mg)
		if w.system.changes == before || w.unanswered(Boundary{"Create", w.counts["Create"]}) {
			return err
		}
		made := w.system.resources[len(w.system.resources)-1]
		managed.TellConnectionDetails(ctx, managed.ConnectionDetails{"key": []byte(made.Key)})
		w.keys.holder[made.Key] = p.number
		p.known.unstored, p.inPass.asksSecret = made.Key, false

		return err
	}
}

// unanswered returns whether the answer of an operation is lost.
func (w *World) unanswered(at Boundary) bool {
	return slices.ContainsFunc(w.plan.faults[at], func(f Fault) bool { return f.Kind == Lost || f.Kind == HangAfter })
}

// judgeKey checks that a process with a key tries to store the key before any other request for the object. It also
// checks that no Create begins while the Secret has another owner.
func (w *World) judgeKey(p *process, o Operation) {
	if w.system == nil || !w.system.keys {
		return
	}
	p.inPass.asksSecret = p.inPass.asksSecret || strings.HasSuffix(o.Name, ":Secret")
	if !o.External || o.mg == nil {
		return
	}
	s, now := w.theSecret(), w.stored(o.mg)
	switch {
	case o.Name == "Connect" || now == nil:
	case p.known.unstored != "" && !p.inPass.asksSecret && !isDeleted(now):
		w.violate("S25", o.Name+" before the details of Create are stored, or a write of them was tried")
	}
	if o.Name == "Create" && s != nil && !metav1.IsControlledBy(s, o.mg) && len(w.undone.rewinds) == 0 {
		w.violate("S25", "Create, which returns details that cannot be read later, while their Secret has another owner")
	}
}

// storesKey records that the Secret has the key that a process got.
func (w *World) storesKey(p *process) {
	if p.known.unstored == "" {
		return
	}
	if s := w.theSecret(); s != nil && string(s.Data["key"]) == p.known.unstored {
		p.known.unstored = ""
	}
}

// keyHash hashes whether a process has the key of a resource, and whether the Secret has it.
func (w *World) keyHash(made *extResource) uint64 {
	if made.Key == "" {
		return 0
	}
	s, sum := w.theSecret(), uint64(1)
	for _, is := range []bool{s != nil, s != nil && string(s.Data["key"]) == made.Key, w.keys.holder[made.Key] > 0,
		w.keyHolderAlive(made), w.keys.lost[made.For]} {
		sum = mixed(sum, bit(is))
	}

	return sum
}

// theSecret returns the stored connection Secret, or nil.
func (w *World) theSecret() *corev1.Secret {
	s, _ := w.server.Stored(corev1.SchemeGroupVersion.WithKind("Secret"),
		types.NamespacedName{Namespace: firstKey.Namespace, Name: "details"}).(*corev1.Secret)

	return s
}

// keyHolderAlive returns whether the process that got the key of a resource is alive and may write.
func (w *World) keyHolderAlive(made *extResource) bool {
	by := w.keys.holder[made.Key]

	return by > 0 && !w.processes[by-1].dead && !w.processes[by-1].leadership.deposed
}

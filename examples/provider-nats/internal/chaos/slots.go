package chaos

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// A slot is a name under which objects exist, one after the other.
type slot struct {
	kind string
	name string

	// external is the name in NATS, if it is not that of the object.
	external string

	// stream is the Stream of a Consumer, and streamRef whether it refers to the object, rather than to its
	// name in NATS.
	stream    string
	streamRef bool

	// refused reports whether it asks for a foreign resource.
	refused bool
}

// family is how many slots belong together: streams of which the first has two consumers, buckets, an
// object store, and one for a foreign stream.
const family = 10

// slots returns n slots.
func slots(n int) []slot {
	out := make([]slot, 0, n)

	for i := range n {
		s := slot{name: fmt.Sprintf("n%04d", i)}
		first := fmt.Sprintf("n%04d", i-i%family)

		switch i % family {
		case 0, 1, 2, 3:
			s.kind = v1alpha1.StreamKind
		case 4, 5:
			s.kind = v1alpha1.KeyValueKind
		case 6:
			s.kind = v1alpha1.ObjectStoreKind
		case 7, 8:
			s.kind, s.stream, s.streamRef = v1alpha1.ConsumerKind, first, i%family == 7
		default:
			s.kind, s.external = v1alpha1.StreamKind, fmt.Sprintf("NAMED_%d", i)
		}

		out = append(out, s)
	}

	// Two of the last family, which no consumer needs.
	last := n - n%family - family
	for i, name := range map[int]string{last + 3: unowned, last + 9: owned} {
		out[i].external, out[i].refused = name, true
	}

	return out
}

// isNeeded reports whether a consumer needs the stream of the slot.
func (s slot) isNeeded(all []slot) bool {
	for _, other := range all {
		if other.stream == s.name {
			return true
		}
	}

	return false
}

func (s slot) meta() metav1.ObjectMeta {
	out := metav1.ObjectMeta{Namespace: devenv.Namespace, Name: s.name}
	if s.external != "" {
		out.Annotations = map[string]string{meta.AnnotationKeyExternalName: s.external}
	}

	return out
}

// object returns the object of the slot, as of a revision.
func (s slot) object(revision int) client.Object {
	description, n := describe(revision), number(revision)

	switch s.kind {
	case v1alpha1.KeyValueKind:
		return &v1alpha1.KeyValue{ObjectMeta: s.meta(), Spec: v1alpha1.KeyValueSpec{
			ForProvider: v1alpha1.KeyValueParameters{Description: &description, History: new(int32(n))},
		}}
	case v1alpha1.ObjectStoreKind:
		return &v1alpha1.ObjectStore{ObjectMeta: s.meta(), Spec: v1alpha1.ObjectStoreSpec{
			ForProvider: v1alpha1.ObjectStoreParameters{Description: &description, TTL: hours(n)},
		}}
	case v1alpha1.ConsumerKind:
		p := v1alpha1.ConsumerParameters{Description: &description, MaxDeliver: new(int32(n))}
		if s.streamRef {
			p.StreamRef = &commonv1.NamespacedReference{Name: s.stream}
		} else {
			p.Stream = &s.stream
		}

		return &v1alpha1.Consumer{ObjectMeta: s.meta(), Spec: v1alpha1.ConsumerSpec{ForProvider: p}}
	default:
		return &v1alpha1.Stream{ObjectMeta: s.meta(), Spec: v1alpha1.StreamSpec{
			ForProvider: v1alpha1.StreamParameters{Description: &description, MaxMsgs: new(int64(n))},
		}}
	}
}

// change returns a merge patch that changes it to another revision.
func (s slot) change(revision int) string {
	n := number(revision)

	field := map[string]string{
		v1alpha1.StreamKind:      fmt.Sprintf(`"maxMsgs":%d`, n),
		v1alpha1.KeyValueKind:    fmt.Sprintf(`"history":%d`, n),
		v1alpha1.ObjectStoreKind: fmt.Sprintf(`"ttl":"%dh"`, n),
		v1alpha1.ConsumerKind:    fmt.Sprintf(`"maxDeliver":%d`, n),
	}[s.kind]

	return fmt.Sprintf(`{"spec":{"forProvider":{"description":%q,%s}}}`, describe(revision), field)
}

func describe(revision int) string { return fmt.Sprintf("revision %d", revision) }

// number is a number that every kind accepts, and another one each time.
func number(revision int) int { return 1 + revision%60 }

func hours(n int) *v1alpha1.Duration {
	return &v1alpha1.Duration{Duration: metav1.Duration{Duration: time.Duration(n) * time.Hour}}
}

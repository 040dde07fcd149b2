package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go/jetstream"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	kubefake "github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A hoard is a JetStream in memory that accepts every configuration, and asks the API server about the
// object before each change.
type hoard struct {
	*testing.T

	api   kube.Client
	mg    resource.Managed
	given resource.Managed // as it was before the first pass

	streams   map[string]*jetstream.StreamInfo
	consumers map[string]*jetstream.ConsumerInfo
	changes   int // in this pass
}

// change checks that the change was recorded before, and is allowed.
func (h *hoard) change(what string) {
	stored, _ := h.mg.DeepCopyObject().(resource.Managed) // A copy has the type of its original.

	switch err := h.api.Get(h.Context(), kube.ObjectKeyFromObject(h.mg), stored); {
	case err != nil:
		h.Errorf("%s for an object that is not there: %v", what, err)
	case !meta.FinalizerExists(stored, managed.FinalizerName):
		h.Errorf("%s without a finalizer", what)
	case meta.IsPaused(stored) || meta.ValidatePolicies(stored) != nil || !meta.IsActionAllowed(stored, what):
		h.Errorf("%s is not permitted: %v", what, stored.GetAnnotations())
	}

	if h.changes++; h.changes > 1 {
		h.Errorf("%s is the %d. change in a pass", what, h.changes)
	}
}

func (h *hoard) Identity(context.Context) (string, error) { return "", nil }

func (h *hoard) Address() natsconn.Address {
	return natsconn.Address{Servers: []string{"nats://a:4222"}}
}

func (h *hoard) Info(_ context.Context, name string) (*jetstream.StreamInfo, error) {
	if info := h.streams[name]; info != nil {
		return info, nil
	}

	return nil, jetstream.ErrStreamNotFound
}

func (h *hoard) Create(_ context.Context, cfg jetstream.StreamConfig) error {
	h.change(meta.ActionCreate)
	h.streams[cfg.Name] = &jetstream.StreamInfo{Config: cfg, Created: time.Unix(1, 0)}

	return nil
}

func (h *hoard) Update(_ context.Context, cfg jetstream.StreamConfig) error {
	h.change(meta.ActionUpdate)
	h.streams[cfg.Name].Config = cfg

	return nil
}

func (h *hoard) Delete(_ context.Context, name string) error {
	h.change(meta.ActionDelete)
	delete(h.streams, name)

	return nil
}

func (h *hoard) ConsumerInfo(_ context.Context, stream, name string) (*jetstream.ConsumerInfo, error) {
	if info := h.consumers[stream+"."+name]; info != nil {
		return info, nil
	}

	return nil, jetstream.ErrConsumerNotFound
}

func (h *hoard) CreateConsumer(_ context.Context, stream string, cfg jetstream.ConsumerConfig) error {
	h.change(meta.ActionCreate)
	h.consumers[stream+"."+cfg.Name] = &jetstream.ConsumerInfo{
		Stream: stream, Name: cfg.Name, Config: cfg, Created: time.Unix(1, 0),
	}

	return nil
}

func (h *hoard) UpdateConsumer(_ context.Context, stream string, cfg jetstream.ConsumerConfig) error {
	h.change(meta.ActionUpdate)
	h.consumers[stream+"."+cfg.Name].Config = cfg

	return nil
}

func (h *hoard) PauseConsumer(_ context.Context, stream, name string, until time.Time) error {
	h.change(meta.ActionUpdate)
	h.consumers[stream+"."+name].Config.PauseUntil = &until

	return nil
}

func (h *hoard) DeleteConsumer(_ context.Context, stream, name string) error {
	h.change(meta.ActionDelete)
	delete(h.consumers, stream+"."+name)

	return nil
}

// Acquire connects every object to the hoard.
func (h *hoard) Acquire(context.Context, resource.Managed) (*controller.Link, error) {
	return &controller.Link{JetStream: h, Release: func() {}}, nil
}

// How long the texts for a user may be: a message, and the whole status besides what it repeats of the
// spec.
const (
	longestMessage = 1024
	longestStatus  = 16 << 10
)

// check checks the results of a pass.
func (h *hoard) check(size int, err error) {
	h.Helper()

	if err != nil && len(err.Error()) > longestMessage {
		h.Errorf("an error of %d bytes", len(err.Error()))
	}

	after, _ := h.mg.DeepCopyObject().(resource.Managed) // As above.
	if h.api.Get(h.Context(), kube.ObjectKeyFromObject(h.mg), after) != nil {
		return // it is gone
	}

	for _, kind := range []commonv1.ConditionType{commonv1.TypeReady, commonv1.TypeSynced} {
		text := after.GetCondition(kind).Message
		if text != h.given.GetCondition(kind).Message && (len(text) > longestMessage || !utf8.ValidString(text)) {
			h.Errorf("%s with a message of %d bytes", kind, len(text))
		}
	}

	image, err := json.Marshal(after)
	if err != nil {
		h.Errorf("cannot be written any more: %v", err)
	}

	if limit := longestStatus + 8*size; len(image) > limit {
		h.Errorf("the object is %d bytes, and may be %d", len(image), limit)
	}
}

// hostile returns objects that are wrong on purpose.
func hostile() []string {
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }

	return []string{
		`{}`, `{"spec":null,"metadata":null}`, `{"spec":{"forProvider":{"stream":"s"}}}`,
		`{"metadata":{"annotations":{"krateo.io/external-name":"a.b"}}}`,
		`{"metadata":{"annotations":{"krateo.io/external-name":"\ud800\u0000"}}}`,
		"{\"metadata\":{\"annotations\":{\"krateo.io/external-name\":\"\xff\xfe\"}}," +
			"\"spec\":{\"forProvider\":{\"description\":\"\xc3\x28\",\"stream\":\"\xff\"}}}",
		`{"metadata":{"annotations":{"krateo.io/external-name":"` + strings.Repeat("x", 200<<10) + `"}}}`,
		`{"spec":{"forProvider":{"description":"` + strings.Repeat("ö", 300<<10) + `","stream":"` +
			strings.Repeat("s", 1000) + `"}}}`,
		`{"spec":{"forProvider":{"subjects":[` + many(20000, `"a"`) + `],"filterSubjects":[` +
			many(20000, `"f"`) + `],"stream":"s"}}}`,
		`{"spec":{"forProvider":{"metadata":{"moorage.dev/owner":"me","_nats.x":"y"},"stream":"s"}}}`,
		`{"spec":{"managementPolicies":[` + many(5000, `"Create"`) + `]}}`,
		`{"spec":{"managementPolicies":["` + strings.Repeat("P", 100<<10) + `"]}}`,
		`{"metadata":{"annotations":{"krateo.io/management-policy":"` + strings.Repeat("p", 100<<10) + `"}}}`,
		`{"spec":{"forProvider":` + strings.Repeat(`{"mirror":`, 9000) + `{}` + strings.Repeat(`}`, 9000) + `}}`,
		`{"metadata":{"finalizers":["finalizer.managedresource.krateo.io","` +
			strings.Repeat("f", 5000) + `/x"]},"spec":{"forProvider":{"stream":"s"}}}`,
		`{"metadata":{"finalizers":["moorage.dev/unclaimed","example.org/x"]},"spec":{"forProvider":{"stream":"s"}}}`,
		`{"metadata":{"annotations":{"krateo.io/external-create-succeeded":"9999-12-31T23:59:59-23:59",` +
			`"moorage.dev/poll-interval":"9h9h9h9h"}},` +
			`"spec":{"forProvider":{"stream":"s","optStartTime":"0000-01-01T00:00:00Z"}}}`,
		`{"status":{"atProvider":{"created":"x","stream":"other"},"conditions":[{"type":"Ready","status":"True","message":"` +
			strings.Repeat("m", 3000) + `"}]},"spec":{"forProvider":{"stream":"s"}}}`,
		`{"spec":{"forProvider":{"streamRef":{"name":"","namespace":"\u0000"},"streamSelector":{"matchLabels":{"":"` +
			strings.Repeat("l", 5000) + `"}}}}}`,
	}
}

// FuzzObject takes an object of each kind, as JSON that an API server may have stored before its definition
// had validation rules, and runs passes over it, while it lives and when it is deleted. No pass may panic
// or change something in NATS that was not recorded before or is not allowed, and messages are short.
func FuzzObject(f *testing.F) {
	for _, object := range hostile() {
		for kind := range controller.Kinds() {
			f.Add([]byte(object), uint8(kind))
		}
	}

	// Once for all inputs: to make it takes longer than one input.
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		f.Fatal(err)
	}

	f.Fuzz(func(t *testing.T, object []byte, which uint8) {
		kind := controller.Kinds()[int(which)%len(controller.Kinds())]

		empty, err := scheme.New(kind.GroupVersionKind())
		if err != nil {
			t.Fatal(err)
		}

		mg, _ := empty.(resource.Managed) // All kinds are managed.
		if json.Unmarshal(object, mg) != nil {
			return // no API server has such an object
		}

		live(t, scheme, kind, mg, len(object))
	})
}

// live runs passes over an object until a further one would repeat.
func live(t *testing.T, scheme *runtime.Scheme, kind controller.Kind, mg resource.Managed, size int) {
	t.Helper()

	api := apiserver.New(scheme, clock.RealClock{}).Client()
	h := &hoard{
		T: t, api: api, mg: mg, streams: map[string]*jetstream.StreamInfo{}, consumers: map[string]*jetstream.ConsumerInfo{},
	}

	finalizers := slices.DeleteFunc(mg.GetFinalizers(), func(name string) bool { return name == "" })
	mg.SetName("data")
	mg.SetNamespace("apps")
	mg.SetGenerateName("")
	mg.SetUID("")
	mg.SetResourceVersion("")
	mg.SetDeletionTimestamp(nil)
	mg.SetFinalizers(finalizers)

	status, _ := mg.DeepCopyObject().(resource.Managed) // A copy has the type of its original.
	if api.Create(t.Context(), mg) != nil {
		return // nor such a one
	}

	h.given, _ = status.DeepCopyObject().(resource.Managed)

	status.SetResourceVersion(mg.GetResourceVersion())
	status.SetUID(mg.GetUID())

	if err := api.Status().Update(t.Context(), status); err != nil {
		return
	}

	r := managed.NewReconciler(&kubefake.Manager{Client: api, Scheme: scheme},
		resource.ManagedKind(kind.GroupVersionKind()),
		managed.WithExternalConnecter(controller.NewConnecter(h, kind, types.UID("cluster"))),
		managed.WithDeterministicExternalName(true), managed.WithCreationGracePeriod(0),
		managed.WithVolatileStatus(controller.VolatileStatus()...))

	for range 2 {
		for range 3 {
			h.changes = 0
			_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: kube.ObjectKeyFromObject(mg)})
			h.check(size, err)
		}

		_ = api.Delete(t.Context(), mg) // it may be gone
	}
}

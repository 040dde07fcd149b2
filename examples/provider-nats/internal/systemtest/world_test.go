package systemtest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

const (
	// token is the token of the NATS servers of these tests.
	token = canary + "-token"

	// login is the name of its Secret.
	login = "login"
)

// runProvider runs the provider until the test and its subtests are over. It keeps a change log, which must
// not contain a credential.
func runProvider(t *testing.T, poll time.Duration, ledgers ...*test.Ledger) *record {
	t.Helper()

	return runProviderWith(t, func(o *provider.Options) { o.PollInterval = poll }, ledgers...)
}

// runProviderWith is runProvider with other options.
func runProviderWith(t *testing.T, change func(*provider.Options), ledgers ...*test.Ledger) *record {
	t.Helper()

	changes := &record{}

	o := provider.DefaultOptions()
	o.MaxReconcileRate = 200
	o.PollWhenNotified = 0 // tests count observations of single streams
	o.HealthAddress, o.MetricsAddress = "0", "0"
	o.Logger, o.ChangeLog = logged.logger(), changes
	change(&o)

	cfg, logger := rest.CopyConfig(access), logging.NewLogrLogger(o.Logger)
	for _, l := range ledgers {
		cfg.Wrap(l.Wrap)

		logger = l.Logger(logger)
	}

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)

	go func() { stopped <- provider.Run(ctx, cfg, o, managed.WithLogger(logger)) }()

	t.Cleanup(func() {
		cancel()

		if err := <-stopped; err != nil {
			t.Errorf("the provider failed: %v", err)
		}

		for _, line := range logged.leaked() {
			t.Errorf("the log contains a credential: %s", line)
		}

		for _, line := range changes.leaked() {
			t.Errorf("the change log contains a credential: %s", line)
		}
	})

	return changes
}

// A world is a namespace with a NATS server of its own that requires a token, and a valid ProviderConfig
// and Secret.
type world struct {
	*testing.T

	ns   string
	nats *server.Server
	nc   *nats.Conn
	js   jetstream.JetStream
}

func newWorld(t *testing.T, change ...func(*server.Options)) *world {
	t.Helper()

	return newWorldAt(t, "", change...)
}

// newWorldAt is newWorld with a ProviderConfig that names another server from its beginning, unless url is
// empty: an object that was up to date does not report an outage.
func newWorldAt(t *testing.T, url string, change ...func(*server.Options)) *world {
	t.Helper()

	w := &world{T: t, ns: namespace(t)}
	w.nats = natstest.Start(t, append(change, func(o *server.Options) { o.Authorization = token })...)
	w.nc = natstest.Connect(t, w.nats, nats.Token(token))

	var err error
	w.js, err = jetstream.New(w.nc, jetstream.WithDefaultTimeout(wait.Patience()))
	must(t, err)

	w.create(w.secret(token), w.providerConfig(cmp.Or(url, w.nats.ClientURL())))
	t.Cleanup(w.close)

	return w
}

// close removes everything that the next provider would reconcile, and looks for credentials in the events.
func (w *world) close() {
	ctx := context.Background()

	for _, obj := range w.objects(ctx) {
		release(ctx, obj)
	}

	for _, obj := range w.objects(ctx) {
		w.Errorf("%T %s is left", obj, obj.GetName())
	}

	list := &eventsv1.EventList{}
	if err := kube.List(ctx, list, client.InNamespace(w.ns)); err != nil {
		w.Error(err)
	}

	w.guard("events", list)
}

// objects returns the objects that a provider reconciles, users before the objects that they need.
func (w *world) objects(ctx context.Context) []client.Object {
	var out []client.Object

	for _, list := range []client.ObjectList{
		&v1alpha1.StreamList{}, &v1alpha1.KeyValueList{}, &v1alpha1.ObjectStoreList{}, &v1alpha1.ConsumerList{},
		&v1alpha1.ProviderConfigList{},
	} {
		if err := kube.List(ctx, list, client.InNamespace(w.ns)); err != nil {
			w.Error(err)
		}

		// The items of these lists are always objects.
		_ = apimeta.EachListItem(list, func(obj runtime.Object) error {
			out = append(out, obj.(client.Object))

			return nil
		})
	}

	return out
}

// release deletes an object without its finalizers. It may be gone already. A running provider restores its
// finalizer when a client removes it, but the API server refuses new finalizers for an object that is being
// deleted.
func release(ctx context.Context, obj client.Object) {
	_ = kube.Delete(ctx, obj)
	_ = kube.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
}

// guard fails if something that other users may read contains a credential.
func (w *world) guard(what string, content any) {
	w.Helper()

	image, err := json.Marshal(content)
	if err != nil {
		w.Errorf("cannot read %s: %v", what, err)
	}

	if strings.Contains(string(image), canary) {
		w.Errorf("%s contain a credential: %s", what, image)
	}
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.ns, Name: name}
}

// secret returns the Secret of the ProviderConfig, with that token.
func (w *world) secret(token string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: w.meta(login), StringData: map[string]string{"token": token}}
}

func (w *world) providerConfig(url string) *v1alpha1.ProviderConfig {
	return &v1alpha1.ProviderConfig{
		ObjectMeta: w.meta(v1alpha1.DefaultProviderConfig),
		Spec: v1alpha1.ProviderConfigSpec{
			Servers: []string{url},
			Credentials: v1alpha1.Credentials{
				Source: v1alpha1.CredentialsSecret, Type: v1alpha1.CredentialsTypeToken,
				SecretRef: &v1alpha1.SecretKeyReference{Name: login},
			},
		},
	}
}

func (w *world) create(objects ...client.Object) {
	w.Helper()

	for _, obj := range objects {
		must(w.T, kube.Create(w.Context(), obj))
	}
}

func (w *world) delete(obj client.Object) {
	w.Helper()
	must(w.T, kube.Delete(w.Context(), obj))
}

// remove deletes an object without users, and waits until it is gone.
func (w *world) remove(obj client.Object) {
	w.Helper()
	w.delete(obj)
	wait.Until(w.T, obj.GetName()+" is gone", func() bool {
		return apierrors.IsNotFound(kube.Get(w.Context(), client.ObjectKeyFromObject(obj), obj))
	})
}

// patch changes an object as a user does, who knows no other fields.
func (w *world) patch(obj client.Object, change func()) {
	w.Helper()

	must(w.T, kube.Get(w.Context(), client.ObjectKeyFromObject(obj), obj))
	before := client.MergeFrom(obj.DeepCopyObject().(client.Object)) // A copy has the type of its original.

	change()
	must(w.T, kube.Patch(w.Context(), obj, before))
}

func (w *world) annotate(mg client.Object, key, value string) {
	w.Helper()
	w.patch(mg, func() {
		all := mg.GetAnnotations()
		if all == nil {
			all = map[string]string{}
		}

		all[key] = value
		mg.SetAnnotations(all)
	})
}

// paused creates an object that is not reconciled, because its uid is needed first.
func (w *world) paused(mg resource.Managed) {
	w.Helper()
	mg.SetAnnotations(map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
	w.create(mg)
	w.awaitSynced(mg, "False/ReconcilePaused")
}

func (w *world) resume(mg resource.Managed) {
	w.Helper()
	w.patch(mg, func() { mg.SetAnnotations(without(mg.GetAnnotations(), meta.AnnotationKeyReconciliationPaused)) })
}

func without(m map[string]string, key string) map[string]string {
	delete(m, key)

	return m
}

// read reads an object, and reports whether it exists.
func (w *world) read(mg resource.Managed) bool {
	w.Helper()

	err := kube.Get(w.Context(), client.ObjectKeyFromObject(mg), mg)
	if apierrors.IsNotFound(err) {
		return false
	}

	must(w.T, err)
	w.guard("objects", mg)

	return true
}

func (w *world) await(mg resource.Managed, what string, holds func() bool) {
	w.Helper()

	came := false

	defer func() {
		if !came {
			w.Logf("Ready: %+v\nSynced: %+v", mg.GetCondition(commonv1.TypeReady), mg.GetCondition(commonv1.TypeSynced))
		}
	}()

	wait.Until(w.T, mg.GetName()+" "+what, func() bool {
		came = w.read(mg) && holds()

		return came
	})
}

func (w *world) awaitReady(mg resource.Managed) {
	w.Helper()
	w.await(mg, "is ready", func() bool { return ready(mg) })
}

func (w *world) awaitSynced(mg resource.Managed, want string) {
	w.Helper()
	w.await(mg, "is synced: "+want, func() bool { return synced(mg) == want })
}

func (w *world) awaitGone(mg resource.Managed) {
	w.Helper()
	wait.Until(w.T, mg.GetName()+" is gone", func() bool { return !w.read(mg) })
}

// ready reports whether an object is Ready and Synced for its latest generation.
func ready(mg resource.Managed) bool {
	c := mg.GetCondition(commonv1.TypeReady)

	return c.Status == metav1.ConditionTrue && c.ObservedGeneration == mg.GetGeneration() &&
		strings.HasPrefix(synced(mg), "True/")
}

func synced(mg resource.Managed) string {
	c := mg.GetCondition(commonv1.TypeSynced)

	return string(c.Status) + "/" + string(c.Reason)
}

// streams returns the names of all streams in NATS.
func (w *world) streams() []string {
	w.Helper()

	names := w.js.StreamNames(w.Context())
	out := []string{}

	for name := range names.Name() {
		out = append(out, name)
	}

	must(w.T, names.Err())
	slices.Sort(out)

	return out
}

func (w *world) info(name string) *jetstream.StreamInfo {
	w.Helper()

	s, err := w.js.Stream(w.Context(), name)
	must(w.T, err)

	return s.CachedInfo()
}

// store creates a stream as another client, with a message in it.
func (w *world) store(cfg jetstream.StreamConfig) {
	w.Helper()

	if len(cfg.Subjects) == 0 {
		cfg.Subjects = []string{cfg.Name + ".x"}
	}

	_, err := w.js.CreateStream(w.Context(), cfg)
	must(w.T, err)
	_, err = w.js.Publish(w.Context(), cfg.Subjects[0], []byte("keep me"))
	must(w.T, err)
}

// warnings returns the warnings about an object.
func (w *world) warnings(about client.Object) []eventsv1.Event {
	w.Helper()

	list := &eventsv1.EventList{}
	must(w.T, kube.List(w.Context(), list, client.InNamespace(w.ns)))

	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool {
		return e.Type != corev1.EventTypeWarning || e.Regarding.UID != about.GetUID()
	})
}

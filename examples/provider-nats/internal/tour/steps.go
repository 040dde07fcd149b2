package tour

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A step is an action, the check of its result, and the limit of requests that the provider may send for
// it.
type step struct {
	name     string
	title    string
	act      func(*Tour, context.Context) error
	check    func(*Tour, context.Context) (happened string, err error)
	requests int
	within   time.Duration // on an idle machine
	shows    command       // after the check
}

// goodbyeCost is the limit of requests when everything is deleted: one request each, and two more for a
// consumer whose stream is deleted first.
const goodbyeCost = jobs + 5 + 2*2

// jobs is how many streams are being created when the provider is killed.
const jobs = 20

// underway is the number of objects with a pass under way when the provider is killed: as many as it has
// workers for a kind. It may have created a stream for each without a record, so the next provider reads
// each object once from the API server, and not from the cache, before it creates a stream under a name
// that the user has set.
const underway = 10

func steps() []step {
	return []step{
		{
			"ready", "A user applies two consumers, and then their streams, a key-value bucket and an object store.",
			(*Tour).applySamples, (*Tour).samplesReady, samplesCost, 20 * time.Second,
			command{line: "wait stream/orders --for applied"},
		},
		{
			"steady", "Nothing is changed; messages are stored.", (*Tour).publish, (*Tour).staysQuiet, 0, 20 * time.Second,
			command{line: "drift"},
		},
		{
			"change", "The user lets the orders stay for 48 hours instead of 24.", (*Tour).changeAge, (*Tour).ageChanged, 1,
			10 * time.Second, command{},
		},
		{
			"drift", "Another client changes the stream in NATS.", (*Tour).tamper, (*Tour).corrected, 1, 15 * time.Second,
			command{line: "history stream/orders"},
		},
		{
			"foreign", "The user asks for a stream that exists and belongs to accounting, in another cluster.",
			(*Tour).claimForeign, (*Tour).foreignUntouched, 1, 20 * time.Second, command{},
		},
		{
			"killed",
			fmt.Sprintf("The user applies %d streams, and the provider is killed half way; the user continues, changes a "+
				"stream and deletes the bucket.", jobs),
			(*Tour).killInTheMiddle, (*Tour).recovered, 2*jobs + 2 + underway, 40 * time.Second,
			command{line: "drift"},
		},
		{
			"deleted", "The user deletes everything.", (*Tour).deleteAll, (*Tour).allGone, goodbyeCost, 20 * time.Second,
			command{line: "wait stream/orders --for gone"},
		},
	}
}

// messages is how many messages are stored while nothing else happens.
const messages = 100

func (t *Tour) publish(ctx context.Context) error {
	for i := range messages {
		if _, err := t.js.Publish(ctx, "orders.new", fmt.Appendf(nil, "order %d", i)); err != nil {
			return errors.Wrap(err, "cannot store a message")
		}
	}

	return nil
}

func (t *Tour) staysQuiet(ctx context.Context) (string, error) {
	const looks = 3

	before := t.looks.of("orders")
	if err := t.until(ctx, "the provider observes the stream", func(context.Context) error {
		if n := t.looks.of("orders") - before; n < looks {
			return errors.Errorf("it observed it %d times", n)
		}

		return nil
	}); err != nil {
		return "", err
	}

	info, err := t.info(ctx, "orders")
	if err != nil {
		return "", err
	}

	if info.State.Msgs < messages {
		return "", errors.Errorf("the stream holds %d messages, want %d", info.State.Msgs, messages)
	}

	return fmt.Sprintf("the stream holds %d messages; the provider observed it %d times, found no difference and wrote "+
		"nothing", info.State.Msgs, looks), nil
}

func (t *Tour) changeAge(ctx context.Context) error {
	return t.patch(ctx, t.stream("orders"), `{"spec":{"forProvider":{"maxAge":"48h"}}}`)
}

func (t *Tour) ageChanged(ctx context.Context) (string, error) {
	if err := t.configured(ctx, "orders", "messages stay 48 hours", func(c jetstream.StreamConfig) bool {
		return c.MaxAge == 48*time.Hour
	}); err != nil {
		return "", err
	}

	if err := t.ready(ctx, t.stream("orders")); err != nil {
		return "", err
	}

	return "NATS keeps messages of orders for 48h0m0s now, and the object is Ready and Synced for its new generation", nil
}

func (t *Tour) tamper(ctx context.Context) error {
	info, err := t.info(ctx, "orders")
	if err != nil {
		return err
	}

	if t.eventsBefore, err = t.versions(ctx, "orders"); err != nil {
		return err
	}

	cfg := info.Config
	cfg.MaxAge, cfg.Description = time.Hour, "changed by hand"
	_, err = t.js.UpdateStream(ctx, cfg)

	return errors.Wrap(err, "cannot change the stream by hand")
}

func (t *Tour) corrected(ctx context.Context) (string, error) {
	if err := t.configured(ctx, "orders", "the change is undone", func(c jetstream.StreamConfig) bool {
		return c.MaxAge == 48*time.Hour && c.Description == "What customers ordered"
	}); err != nil {
		return "", err
	}

	event, err := t.newEvent(ctx, "orders", "UpdatedExternalResource", t.eventsBefore)
	if err != nil {
		return "", err
	}

	return "its age and description were changed, and are as in the spec again\nevent: " + event, nil
}

func (t *Tour) killInTheMiddle(ctx context.Context) error {
	all := t.jobs()
	if err := t.create(ctx, all[:jobs/2]); err != nil {
		return err
	}

	if err := t.until(ctx, "the first stream is created", func(ctx context.Context) error {
		n, err := t.made(ctx, all)
		if err == nil && n == 0 {
			err = errors.New("there is none")
		}

		return err
	}); err != nil {
		return err
	}

	if err := t.provider.Kill(); err != nil {
		return errors.Wrap(err, "cannot kill the provider")
	}

	var err error
	if t.madeAtKill, err = t.made(ctx, all); err != nil {
		return err
	}

	if err := t.create(ctx, all[jobs/2:]); err != nil {
		return err
	}

	if err := t.patch(ctx, t.stream("orders"), `{"spec":{"forProvider":{"maxMsgs":1000}}}`); err != nil {
		return err
	}

	if err := t.env.Client.Delete(ctx, t.bucket("sessions")); err != nil {
		return errors.Wrap(err, "cannot delete the bucket")
	}

	p, err := startProvider(t.o.Provider, t.env.ProviderKubeconfig, t.o.Poll, &t.page)
	if err == nil {
		t.provider = p
	}

	return err
}

func (t *Tour) create(ctx context.Context, streams []*v1alpha1.Stream) error {
	for _, s := range streams {
		if err := t.env.Client.Create(ctx, s); err != nil {
			return errors.Wrap(err, "cannot apply a stream")
		}
	}

	return nil
}

// made returns how many of the streams exist in NATS.
func (t *Tour) made(ctx context.Context, streams []*v1alpha1.Stream) (int, error) {
	names, err := t.streams(ctx)
	n := 0

	for _, s := range streams {
		if slices.Contains(names, s.GetName()) {
			n++
		}
	}

	return n, err
}

func (t *Tour) recovered(ctx context.Context) (string, error) {
	want := []string{"AUDIT_LOG", "OBJ_invoices", foreign, "orders"}

	for _, s := range t.jobs() {
		if err := t.ready(ctx, s); err != nil {
			return "", err
		}

		if _, err := t.owned(ctx, s.GetName(), s); err != nil {
			return "", err
		}

		want = append(want, s.GetName())
	}

	if err := t.configured(ctx, "orders", "at most 1000 messages", func(c jetstream.StreamConfig) bool {
		return c.MaxMsgs == 1000
	}); err != nil {
		return "", err
	}

	if err := t.ready(ctx, t.stream("orders")); err != nil {
		return "", err
	}

	if err := t.gone(ctx, t.bucket("sessions")); err != nil {
		return "", err
	}

	names, err := t.streams(ctx)
	if err != nil {
		return "", err
	}

	slices.Sort(want)
	if !slices.Equal(names, want) {
		return "", errors.Errorf("NATS has the streams %v, want %v", names, want)
	}

	return fmt.Sprintf("when the provider was killed, by SIGKILL, %d of the streams existed in NATS; it was started "+
		"again\n"+
		"all %d are Ready, each exists once and has the mark of its object; the change arrived, and the bucket is gone",
		t.madeAtKill, jobs), nil
}

func (t *Tour) deleteAll(ctx context.Context) error {
	for _, kind := range []client.Object{
		&v1alpha1.Consumer{}, &v1alpha1.Stream{}, &v1alpha1.KeyValue{}, &v1alpha1.ObjectStore{},
	} {
		if err := t.env.Client.DeleteAllOf(ctx, kind, client.InNamespace(t.o.Namespace)); err != nil {
			return errors.Wrap(err, "cannot delete everything")
		}
	}

	return nil
}

func (t *Tour) allGone(ctx context.Context) (string, error) {
	objects := []object{
		t.stream("orders"), t.stream("audit"), t.objects("invoices"), t.consumer("billing"), t.consumer("dashboard"),
	}
	for _, s := range t.jobs() {
		objects = append(objects, s)
	}

	for _, obj := range objects {
		if err := t.gone(ctx, obj); err != nil {
			return "", err
		}
	}

	names, err := t.streams(ctx)
	if err != nil {
		return "", err
	}

	if !slices.Equal(names, []string{foreign}) {
		return "", errors.Errorf("NATS has the streams %v, want only that of accounting", names)
	}

	return fmt.Sprintf("%d objects are gone, and their streams and consumers with them; that of accounting is still there",
		len(objects)), t.accountingUnharmed(ctx)
}

func (t *Tour) patch(ctx context.Context, obj client.Object, patch string) error {
	return errors.Wrapf(t.env.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch))),
		"cannot change %s", obj.GetName())
}

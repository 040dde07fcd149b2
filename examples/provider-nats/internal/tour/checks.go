package tour

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/tour"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An object is an object of a kind of this provider.
type object interface {
	client.Object
	resource.Conditioned
}

// checkEvery is the interval at which a check is repeated until it holds.
const checkEvery = 50 * time.Millisecond

// until repeats a check until it holds. When time is up, it returns the last failure.
func (t *Tour) until(ctx context.Context, what string, check func(context.Context) error) error {
	if most := t.o.Patience(what); most > 0 {
		var cancel context.CancelFunc

		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}

	for {
		err := check(ctx)
		if err == nil {
			return nil
		}

		if pause(ctx, checkEvery) != nil {
			return &tour.Missed{Want: what, Saw: err}
		}
	}
}

func (t *Tour) stream(name string) *v1alpha1.Stream {
	return &v1alpha1.Stream{ObjectMeta: t.meta(name)}
}

func (t *Tour) bucket(name string) *v1alpha1.KeyValue {
	return &v1alpha1.KeyValue{ObjectMeta: t.meta(name)}
}

func (t *Tour) objects(name string) *v1alpha1.ObjectStore {
	return &v1alpha1.ObjectStore{ObjectMeta: t.meta(name)}
}

func (t *Tour) consumer(name string) *v1alpha1.Consumer {
	return &v1alpha1.Consumer{ObjectMeta: t.meta(name)}
}

func (t *Tour) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.o.Namespace, Name: name}
}

func (t *Tour) jobs() []*v1alpha1.Stream {
	var all []*v1alpha1.Stream
	for i := range jobs {
		all = append(all, t.stream(fmt.Sprintf("job-%02d", i+1)))
	}

	return all
}

// ready waits until an object is Ready and Synced for its generation, and reads it.
func (t *Tour) ready(ctx context.Context, obj object) error {
	return t.until(ctx, obj.GetName()+" is Ready", func(ctx context.Context) error {
		if err := t.env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}

		for _, kind := range []commonv1.ConditionType{commonv1.TypeReady, commonv1.TypeSynced} {
			c := obj.GetCondition(kind)
			if c.Status != metav1.ConditionTrue || c.ObservedGeneration != obj.GetGeneration() {
				return errors.Errorf("%s is %s for generation %d of %d: %s %s", kind, c.Status, c.ObservedGeneration,
					obj.GetGeneration(), c.Reason, c.Message)
			}
		}

		return nil
	})
}

// condition waits until an object has a condition, and returns its message.
func (t *Tour) condition(
	ctx context.Context, obj object, kind commonv1.ConditionType, status metav1.ConditionStatus,
	reason commonv1.ConditionReason,
) (string, error) {
	var message string

	err := t.until(ctx, fmt.Sprintf("%s is %s %s", obj.GetName(), status, kind), func(ctx context.Context) error {
		if err := t.env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}

		c := obj.GetCondition(kind)
		message = c.Message

		if c.Status != status || c.Reason != reason {
			return errors.Errorf("%s is %s: %s %s", kind, c.Status, c.Reason, c.Message)
		}

		return nil
	})

	return message, err
}

// gone waits until an object does not exist.
func (t *Tour) gone(ctx context.Context, obj object) error {
	return t.until(ctx, obj.GetName()+" is gone", func(ctx context.Context) error {
		err := t.env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)

		switch {
		case resource.IsNotFound(err):
			return nil
		case err != nil:
			return err
		default:
			c := obj.GetCondition(commonv1.TypeSynced)

			return errors.Errorf("it exists, with the finalizers %v: %s %s", obj.GetFinalizers(), c.Reason, c.Message)
		}
	})
}

// newEvent waits for an event about an object that is not one of those before, and returns its text. A
// repeated event is another version of itself.
func (t *Tour) newEvent(ctx context.Context, name, reason string, before map[string]bool) (string, error) {
	var message string

	err := t.until(ctx, "a new event "+reason, func(ctx context.Context) error {
		events, err := t.events(ctx, name)
		if err != nil {
			return err
		}

		for _, e := range events {
			if e.Reason == reason && !before[e.ResourceVersion] {
				message = fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message)

				return nil
			}
		}

		return errors.New("there is none")
	})

	return message, err
}

// versions returns the resource versions of the events about an object.
func (t *Tour) versions(ctx context.Context, name string) (map[string]bool, error) {
	events, err := t.events(ctx, name)
	known := map[string]bool{}

	for _, e := range events {
		known[e.ResourceVersion] = true
	}

	return known, err
}

func (t *Tour) events(ctx context.Context, name string) ([]corev1.Event, error) {
	events := &corev1.EventList{}
	if err := t.env.Client.List(ctx, events, client.InNamespace(t.o.Namespace)); err != nil {
		return nil, errors.Wrap(err, "cannot list events")
	}

	return slices.DeleteFunc(events.Items, func(e corev1.Event) bool { return e.InvolvedObject.Name != name }), nil
}

func (t *Tour) info(ctx context.Context, stream string) (*jetstream.StreamInfo, error) {
	s, err := t.js.Stream(ctx, stream)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read stream %q in NATS", stream)
	}

	return s.CachedInfo(), nil
}

// configured waits until NATS has a stream with the desired configuration.
func (t *Tour) configured(ctx context.Context, stream, what string, holds func(jetstream.StreamConfig) bool) error {
	return t.until(ctx, what, func(ctx context.Context) error {
		info, err := t.info(ctx, stream)
		if err != nil {
			return err
		}

		if !holds(info.Config) {
			return errors.Errorf("NATS keeps %d messages for %s, and calls it %q", info.Config.MaxMsgs, info.Config.MaxAge,
				info.Config.Description)
		}

		return nil
	})
}

// owned returns a stream, which must have the mark of the object.
func (t *Tour) owned(ctx context.Context, stream string, obj object) (*jetstream.StreamInfo, error) {
	info, err := t.info(ctx, stream)
	if err != nil {
		return nil, err
	}

	return info, marked(fmt.Sprintf("stream %q", stream), info.Config.Metadata, obj)
}

func marked(what string, metadata map[string]string, obj object) error {
	if mark := metadata[managed.StampKey]; !strings.Contains(mark, string(obj.GetUID())) || obj.GetUID() == "" {
		return errors.Errorf("%s has the mark %q, which is not that of %s", what, mark, obj.GetName())
	}

	return nil
}

// consumes returns an error if the object has no consumer of that stream.
func (t *Tour) consumes(ctx context.Context, stream string, obj object) error {
	s, err := t.js.Stream(ctx, stream)
	if err != nil {
		return errors.Wrapf(err, "cannot read stream %q in NATS", stream)
	}

	consumers := s.ListConsumers(ctx)
	for info := range consumers.Info() {
		if info.Name == obj.GetName() {
			return marked(fmt.Sprintf("consumer %q", info.Name), info.Config.Metadata, obj)
		}
	}

	return errors.Errorf("stream %q has no consumer %q (%v)", stream, obj.GetName(), consumers.Err())
}

// connection returns one value of the connection Secret of an object.
func (t *Tour) connection(ctx context.Context, name, key string) (string, error) {
	secret := &corev1.Secret{}
	if err := t.env.Client.Get(ctx, client.ObjectKey{Namespace: t.o.Namespace, Name: name}, secret); err != nil {
		return "", errors.Wrapf(err, "cannot read the Secret %s", name)
	}

	return string(secret.Data[key]), nil
}

// streams returns the names of all streams in NATS, sorted.
func (t *Tour) streams(ctx context.Context) ([]string, error) {
	var names []string

	lister := t.js.StreamNames(ctx)
	for name := range lister.Name() {
		names = append(names, name)
	}

	slices.Sort(names)

	return names, errors.Wrap(lister.Err(), "cannot list the streams of NATS")
}

func kindOf(obj object) string {
	switch obj.(type) {
	case *v1alpha1.KeyValue:
		return v1alpha1.KeyValueKind
	case *v1alpha1.ObjectStore:
		return v1alpha1.ObjectStoreKind
	case *v1alpha1.Consumer:
		return v1alpha1.ConsumerKind
	default:
		return v1alpha1.StreamKind
	}
}

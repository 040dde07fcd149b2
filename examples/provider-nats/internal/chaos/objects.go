package chaos

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A translation maps objects of a kind to NATS. It is written independently of the provider, so that a
// mistake there is not repeated.
type translation struct {
	kind string
	list client.ObjectList

	// asset returns the asset of an object of that name.
	asset func(name string, spec map[string]any) key

	// field is the one that users change, and setting its name in NATS.
	field, setting string

	// subjects are those of the stream.
	subjects func(name string) string
}

func translations() []translation {
	stream := func(prefix string) func(string, map[string]any) key {
		return func(name string, _ map[string]any) key { return key{stream: prefix + name} }
	}

	return []translation{
		{
			v1alpha1.StreamKind, &v1alpha1.StreamList{}, stream(""), "maxMsgs", maxMsgs,
			func(name string) string { return name },
		},
		{
			v1alpha1.KeyValueKind, &v1alpha1.KeyValueList{}, stream("KV_"), "history", maxMsgsPerSubject,
			func(name string) string { return "$KV." + name + ".>" },
		},
		{
			v1alpha1.ObjectStoreKind, &v1alpha1.ObjectStoreList{}, stream("OBJ_"), "ttl", maxAge,
			func(name string) string { return "$O." + name + ".C.> $O." + name + ".M.>" },
		},
		{v1alpha1.ConsumerKind, &v1alpha1.ConsumerList{}, consumer, "maxDeliver", maxDeliver, nil},
	}
}

// consumer returns the asset of a Consumer: the streams have the names of their objects.
func consumer(name string, spec map[string]any) key {
	stream, found, _ := unstructured.NestedString(spec, "streamRef", "name")
	if !found {
		stream, _, _ = unstructured.NestedString(spec, "stream")
	}

	return key{stream: stream, consumer: name}
}

// objects returns all objects in the API server.
func (w *world) objects(ctx context.Context) ([]object, error) {
	var out []object

	for _, t := range translations() {
		if err := w.env.Client.List(ctx, t.list, client.InNamespace(devenv.Namespace)); err != nil {
			return nil, errors.Wrapf(err, "cannot list objects of the kind %s", t.kind)
		}

		if err := apimeta.EachListItem(t.list, func(item runtime.Object) error {
			mg, ok := item.(resource.Managed)
			if !ok {
				return errors.Errorf("a %T is no managed resource", item)
			}

			o, err := t.read(mg)
			// A stamp contains the cluster and the object.
			o.stamp = fmt.Sprintf("%s/%s/%s/%s/%s/%s", w.cluster, v1alpha1.Group, t.kind,
				mg.GetNamespace(), mg.GetName(), mg.GetUID())
			out = append(out, o)

			return err
		}); err != nil {
			return nil, err
		}
	}

	return out, nil
}

func (t translation) read(mg resource.Managed) (object, error) {
	image, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mg)
	if err != nil {
		return object{}, errors.Wrapf(err, "cannot read %s %s", t.kind, mg.GetName())
	}

	spec, _, err := unstructured.NestedMap(image, "spec", "forProvider")
	if err != nil {
		return object{}, errors.Wrapf(err, "cannot read %s %s", t.kind, mg.GetName())
	}

	name := meta.GetExternalName(mg)
	if name == "" {
		name = mg.GetName()
	}

	o := object{
		label: t.kind + " " + mg.GetName(), uid: mg.GetUID(), asset: t.asset(name, spec),
		want:    map[string]string{description: fmt.Sprint(spec["description"]), t.setting: canonical(spec[t.field])},
		deleted: meta.WasDeleted(mg), refused: name == unowned || name == owned,
	}

	if t.subjects != nil {
		o.want[subjects] = t.subjects(name)
	}

	o.says, o.settled = says(mg, o.refused)

	return o, nil
}

// canonical formats durations uniformly.
func canonical(value any) string {
	text := fmt.Sprint(value)
	if d, err := time.ParseDuration(text); err == nil {
		return d.String()
	}

	return text
}

// says returns the status of an object, and whether it is of the current generation, and the desired one.
func says(mg resource.Managed, refused bool) (string, bool) {
	ready, synced := mg.GetCondition(commonv1.TypeReady), mg.GetCondition(commonv1.TypeSynced)
	text := fmt.Sprintf("generation %d, finalizers %v", mg.GetGeneration(), mg.GetFinalizers())

	for _, c := range []commonv1.Condition{ready, synced} {
		text += fmt.Sprintf("; %s %s %s of generation %d: %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
	}

	if refused {
		return text, synced.Reason == commonv1.ReasonExternalResourceNotOwned
	}

	return text, ready.Status == metav1.ConditionTrue && synced.Status == metav1.ConditionTrue &&
		ready.ObservedGeneration == mg.GetGeneration()
}

// deleteAll deletes all objects.
func (w *world) deleteAll(ctx context.Context) error {
	for _, obj := range []client.Object{
		&v1alpha1.Consumer{}, &v1alpha1.Stream{}, &v1alpha1.KeyValue{}, &v1alpha1.ObjectStore{},
	} {
		if err := w.env.Client.DeleteAllOf(ctx, obj, client.InNamespace(devenv.Namespace)); err != nil {
			return errors.Wrap(err, "cannot delete all objects")
		}
	}

	return nil
}

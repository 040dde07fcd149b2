package bridge

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// content returns an object as JSON has it, to be changed as one likes.
func content(obj client.Object) (map[string]any, error) {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, errors.Wrap(err, "cannot convert an object")
	}
	return runtime.DeepCopyJSON(out), nil
}

func unstructuredOf(object map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object}
}

// setContent replaces what is in a map that others hold.
func setContent(into, from map[string]any) {
	clear(into)
	maps.Copy(into, from)
}

// patched returns what a merge patch of obj makes of an object.
func patched(now, obj client.Object, patch client.Patch) (map[string]any, error) {
	data, err := patch.Data(obj)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make the patch")
	}
	changes := map[string]any{}
	if err := json.Unmarshal(data, &changes); err != nil {
		return nil, errors.Wrap(err, "cannot read the patch")
	}
	is, err := content(now)
	return merge(is, changes), err
}

// merge changes an object as a merge patch says (RFC 7386).
func merge(object, patch map[string]any) map[string]any {
	if object == nil {
		object = map[string]any{}
	}
	for name, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(object, name)
		case map[string]any:
			below, _ := object[name].(map[string]any)
			object[name] = merge(below, v)
		default:
			object[name] = value
		}
	}
	return object
}

// metadata that only an API server sets.
var servers = []string{"metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp", "metadata.managedFields", "apiVersion", "kind"}

// differing returns the paths at which two objects differ, in order. Values are left
// out: some are secret.
func differing(path string, a, b map[string]any) []string {
	names := maps.Clone(a)
	maps.Copy(names, b)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		x, isObject := a[name].(map[string]any)
		y, areObjects := b[name].(map[string]any)
		switch {
		case slices.Contains(servers, at):
		case isObject && areObjects || isObject && b[name] == nil || areObjects && a[name] == nil:
			out = append(out, differing(at, x, y)...)
		case !same(a[name], b[name]):
			out = append(out, at)
		}
	}
	return out
}

// same compares values as JSON does, which has one kind of number.
func same(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && string(x) == string(y)
}

func setStatus(obj client.Object, status any) error {
	object, err := content(obj)
	if err != nil {
		return err
	}
	object["status"] = status
	if status == nil {
		delete(object, "status")
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(object, obj)
	return errors.Wrap(err, "cannot take over the status of the host object")
}

// What the reconciler says of the object on this side; the host object may have the
// same types.
var reconcilers = []commonv1.ConditionType{commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeUpToDate, commonv1.TypeCreated}

// show takes over into the managed resource what the syncer brought up. Conditions
// are merged by their types, but for those of the reconciler. Generations are those of
// the host, which mean nothing here.
func (c *carrier) show(mg resource.Managed) error {
	if c.status == nil {
		return nil
	}
	before, err := content(mg)
	if err != nil {
		return err
	}
	old, _ := before["status"].(map[string]any)
	status, _ := runtime.DeepCopyJSONValue(*c.status).(map[string]any)
	carried := conditionsIn(status)
	for _, field := range []string{"conditions", "observedGeneration"} {
		delete(status, field)
		if value, there := old[field]; there {
			if status == nil {
				status = map[string]any{}
			}
			status[field] = value
		}
	}
	var all any
	if status != nil {
		all = status
	}
	if err := setStatus(mg, all); err != nil {
		return err
	}
	for _, t := range slices.Sorted(maps.Keys(carried)) {
		if !slices.Contains(reconcilers, t) {
			carried[t].ObservedGeneration = 0
			mg.SetConditions(*carried[t])
		}
	}
	return nil
}

// conditionsOf returns the conditions of an object by their types.
func conditionsOf(obj client.Object) map[commonv1.ConditionType]*commonv1.Condition {
	object, err := content(obj)
	if err != nil {
		return nil
	}
	status, _ := object["status"].(map[string]any)
	return conditionsIn(status)
}

func conditionsIn(status map[string]any) map[commonv1.ConditionType]*commonv1.Condition {
	out := map[commonv1.ConditionType]*commonv1.Condition{}
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		object, ok := item.(map[string]any)
		c := &commonv1.Condition{}
		if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(object, c) == nil && c.Type != "" {
			out[c.Type] = c
		}
	}
	return out
}

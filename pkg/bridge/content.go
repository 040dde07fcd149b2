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
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// content returns a copy of the content of an object.
func content(obj client.Object) (map[string]any, error) {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, errors.Wrap(err, "cannot convert an object")
	}
	return runtime.DeepCopyJSON(out), nil
}

// unstructuredOf returns an unstructured object with the given content.
func unstructuredOf(object map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object}
}

// replaceContent replaces the entries of a map in place.
func replaceContent(into, from map[string]any) {
	clear(into)
	maps.Copy(into, from)
}

// applyMergePatch returns the content that the object now has after the merge patch. obj is the
// object that the patch was created for.
func applyMergePatch(now, obj client.Object, patch client.Patch) (map[string]any, error) {
	data, err := patch.Data(obj)
	if err != nil {
		return nil, errors.Wrap(err, "cannot create the patch")
	}
	changes := map[string]any{}
	if err := json.Unmarshal(data, &changes); err != nil {
		return nil, errors.Wrap(err, "cannot read the patch")
	}
	is, err := content(now)
	return mergepatch.Apply(is, changes), err
}

// serverFields are metadata that only an API server sets.
var serverFields = []string{
	"metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp",
	"metadata.managedFields", "apiVersion", "kind",
}

// differingPaths returns the sorted paths at which two objects differ. It omits the
// values, which may be secret.
func differingPaths(path string, a, b map[string]any) []string {
	names := maps.Clone(a)
	maps.Copy(names, b)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		x, isObject := a[name].(map[string]any)
		y, areObjects := b[name].(map[string]any)
		switch {
		case slices.Contains(serverFields, at):
		case isObject && areObjects || isObject && b[name] == nil || areObjects && a[name] == nil:
			out = append(out, differingPaths(at, x, y)...)
		case !same(a[name], b[name]):
			out = append(out, at)
		}
	}
	return out
}

// same compares values as JSON, in which all numbers have one type.
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

// setStatus sets the status of an object.
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
	return errors.Wrap(err, "cannot copy the status of the host object")
}

// reconcilerConditions are the condition types of the managed resource that the reconciler sets.
// Conditions of these types are not copied from the status that the syncer writes.
var reconcilerConditions = []commonv1.ConditionType{
	commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeUpToDate, commonv1.TypeCreated,
}

// updateStatus copies the status that the syncer has written into the managed resource. It merges
// conditions by type, and omits the types in reconcilerConditions. It drops observed generations,
// because they are generations of the host object.
func (c *externalClient) updateStatus(mg resource.Managed) error {
	if c.status == nil {
		return nil
	}
	before, err := content(mg)
	if err != nil {
		return err
	}
	old, _ := before["status"].(map[string]any)
	status, _ := runtime.DeepCopyJSONValue(*c.status).(map[string]any)
	syncedConditions := conditionsIn(status)
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
	for _, t := range slices.Sorted(maps.Keys(syncedConditions)) {
		if !slices.Contains(reconcilerConditions, t) {
			syncedConditions[t].ObservedGeneration = 0
			mg.SetConditions(*syncedConditions[t])
		}
	}
	return nil
}

// conditionsOf returns the conditions of an object by type.
func conditionsOf(obj client.Object) map[commonv1.ConditionType]*commonv1.Condition {
	object, err := content(obj)
	if err != nil {
		return nil
	}
	status, _ := object["status"].(map[string]any)
	return conditionsIn(status)
}

// conditionsIn returns the conditions in a status by type.
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

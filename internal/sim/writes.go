package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// whyNotReady describes the conditions of an object that is not ready.
func whyNotReady(ready, synced commonv1.Condition) string {
	why := ""
	if ready.Message != "" {
		why = ": " + ready.Message
	}
	if synced.Status == "False" {
		why += fmt.Sprintf(". Synced is False, %s: %s", synced.Reason, synced.Message)
	}

	return why
}

// explainCondition returns the reason and the message of a condition.
func explainCondition(c commonv1.Condition) string {
	why := ", with the reason " + string(c.Reason)
	if c.Message != "" {
		why += ": " + c.Message
	}

	return why
}

// describeWrites describes the fields that the writes of objects changed after the first changes of the server, with
// both values. It returns "" if no object was changed.
func (w *World) describeWrites(first int) string {
	changes := w.server.Changes(first)
	for i, c := range changes {
		if c.Type != apiserver.Modified || c.Kind != w.config.gvk() || c.Old == nil {
			continue
		}
		before, err1 := fieldsOf(c.Old)
		after, err2 := fieldsOf(c.Object)
		if err1 != nil || err2 != nil {
			return ""
		}
		for _, path := range slices.Sorted(maps.Keys(after)) {
			if is := after[path]; path != ".metadata.resourceVersion" && before[path] != is {
				return w.hide(fmt.Sprintf(": one of %d changed %s of %s from %s to %s", len(changes)-i, path[1:], c.Key.Name,
					orNothing(before[path]), is))
			}
		}
	}

	return ""
}

// orNothing returns a value, or a text if there is none.
func orNothing(value string) string {
	if value == "" {
		return "nothing"
	}

	return value
}

// fieldsOf returns the JSON values of all fields of an object by their paths.
func fieldsOf(o any) (map[string]string, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, err
	}
	out := map[string]string{}

	return out, addFields(out, "", value)
}

// addFields adds the fields of a JSON value to out.
func addFields(out map[string]string, path string, value any) error {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if err := addFields(out, path+"."+key, inner); err != nil {
				return err
			}
		}
	case []any:
		for i, inner := range value {
			if err := addFields(out, fmt.Sprintf("%s[%d]", path, i), inner); err != nil {
				return err
			}
		}
	default:
		data, err := json.Marshal(value)
		if err != nil {
			return err
		}
		out[path] = string(data)
	}

	return nil
}

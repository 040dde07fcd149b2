package jsonpatch

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// An operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  string          `json:"from"`
	Value json.RawMessage `json:"value"`
}

// Apply returns what a JSON patch makes of a copy of an image. As on a real server, replace
// adds a member that an object does not have.
func Apply(image map[string]any, data []byte) (map[string]any, error) {
	var operations []operation
	if err := json.Unmarshal(data, &operations); err != nil {
		return nil, errors.Wrap(err, "cannot decode patch")
	}
	encoded, err := json.Marshal(image)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode")
	}
	var document any
	if err := kjson.Unmarshal(encoded, &document); err != nil {
		return nil, errors.Wrap(err, "cannot decode")
	}
	for _, o := range operations {
		if document, err = o.apply(document); err != nil {
			return nil, errors.Wrapf(err, "cannot %s %s", o.Op, o.Path)
		}
	}
	out, ok := document.(map[string]any)
	if !ok {
		return nil, errors.New("the result is no object")
	}

	return out, nil
}

func (o operation) apply(document any) (any, error) {
	var value any
	if len(o.Value) > 0 {
		if err := kjson.Unmarshal(o.Value, &value); err != nil {
			return nil, err
		}
	}
	switch o.Op {
	case "add":
		return edit(document, pointer(o.Path), func(any, bool) (any, action, error) { return value, insert, nil })
	case "replace":
		return edit(document, pointer(o.Path), func(any, bool) (any, action, error) { return value, replace, nil })
	case "remove":
		return edit(document, pointer(o.Path), func(_ any, had bool) (any, action, error) { return nil, remove, missing(had) })
	case "test":
		return edit(document, pointer(o.Path), func(have any, had bool) (any, action, error) {
			if !had || !reflect.DeepEqual(have, value) {
				return nil, nothing, errors.New("the value differs")
			}

			return nil, nothing, nil
		})
	case "copy", "move":
		return o.carry(document)
	default:
		return nil, errors.New("unknown operation")
	}
}

// carry copies or moves a value.
func (o operation) carry(document any) (any, error) {
	var value any
	then := nothing
	if o.Op == "move" {
		then = remove
	}
	document, err := edit(document, pointer(o.From), func(have any, had bool) (any, action, error) {
		value = have
		if o.Op == "copy" {
			return nil, nothing, nil // of what is not there it makes null
		}

		return nil, then, missing(had)
	})
	if err != nil {
		return nil, err
	}

	return edit(document, pointer(o.Path), func(any, bool) (any, action, error) { return value, insert, nil })
}

func missing(had bool) error {
	if had {
		return nil
	}

	return errors.New("there is no such value")
}

// An action is what becomes of the value at a path.
type action int

const (
	nothing action = iota
	insert
	replace
	remove
)

// edit changes what is at a path below node, and returns the node that takes its
// place.
func edit(node any, path []string, change func(have any, had bool) (any, action, error)) (any, error) {
	if len(path) == 0 {
		value, a, err := change(node, true)
		if a == nothing || err != nil {
			return node, err
		}

		return value, nil
	}
	switch parent := node.(type) {
	case map[string]any:
		return editMap(parent, path, change)
	case []any:
		return editList(parent, path, change)
	default:
		return nil, errors.New("the path leads into a value without members")
	}
}

func editMap(parent map[string]any, path []string, change func(any, bool) (any, action, error)) (any, error) {
	child, had := parent[path[0]]
	if len(path) > 1 {
		if !had {
			return nil, missing(false)
		}
		inner, err := edit(child, path[1:], change)
		if err != nil {
			return nil, err
		}
		parent[path[0]] = inner

		return parent, nil
	}
	value, a, err := change(child, had)
	switch {
	case err != nil:
		return nil, err
	case a == remove:
		delete(parent, path[0])
	case a != nothing:
		parent[path[0]] = value
	}

	return parent, nil
}

func editList(parent []any, path []string, change func(any, bool) (any, action, error)) (any, error) {
	i := len(parent)
	if path[0] != "-" {
		var err error
		if i, err = strconv.Atoi(path[0]); err != nil || i < 0 || i > len(parent) {
			return nil, errors.New("the index is outside of the list")
		}
	}
	had := i < len(parent)
	if len(path) > 1 {
		if !had {
			return nil, missing(false)
		}
		inner, err := edit(parent[i], path[1:], change)
		if err != nil {
			return nil, err
		}
		parent[i] = inner

		return parent, nil
	}
	var have any
	if had {
		have = parent[i]
	}
	value, a, err := change(have, had)
	switch {
	case err != nil:
		return nil, err
	case a == insert:
		return slices.Insert(parent, i, value), nil
	case a == remove:
		return slices.Delete(parent, i, i+1), nil
	case a == replace && !had:
		return nil, missing(false)
	case a == replace:
		parent[i] = value
	}

	return parent, nil
}

// pointer splits a JSON pointer (RFC 6901).
func pointer(path string) []string {
	if path == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}

	return parts
}

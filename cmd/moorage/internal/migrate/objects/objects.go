package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Kubectl runs kubectl with arguments and returns what it prints. Its error holds what
// kubectl says.
type Kubectl func(ctx context.Context, args ...string) ([]byte, error)

// Plan reads the objects of a kind, in all namespaces, and returns what is to be done with
// those with which there is something, or with which there will be.
func Plan(ctx context.Context, kubectl Kubectl, resource string, role Role) ([]Change, error) {
	out, err := kubectl(ctx, "get", resource, "--all-namespaces", "--output=json")
	if err != nil {
		return nil, fmt.Errorf("cannot read the objects of %s: %w", resource, err)
	}

	var list struct {
		Items []Object `json:"items"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("cannot read the objects of %s: %w", resource, err)
	}

	var changes []Change

	for _, o := range list.Items {
		if c := decide(resource, role, o); !c.Empty() || len(c.Waits) > 0 || len(c.Conflicts) > 0 {
			changes = append(changes, c)
		}
	}

	return changes, nil
}

// Apply makes a change. It fails if the object is not the one that was read any more: plan
// again, and apply what is left.
func Apply(ctx context.Context, kubectl Kubectl, c Change) error {
	_, err := kubectl(ctx, c.Args()...)

	return err
}

// Args are the arguments of kubectl that make the change. The patch has the version of the
// object that was read, so that it changes no other.
func (c Change) Args() []string {
	metadata := map[string]any{"resourceVersion": c.ResourceVersion}
	if len(c.Annotations) > 0 {
		metadata["annotations"] = c.Annotations
	}

	if len(c.Take) > 0 {
		metadata["finalizers"] = c.Finalizers
	}

	patch, _ := json.Marshal(map[string]any{"metadata": metadata}) // maps of texts alone

	args := []string{"patch", c.Resource, c.Name}
	if c.Namespace != "" {
		args = append(args, "--namespace="+c.Namespace)
	}

	return append(args, "--type=merge", "--patch="+string(patch))
}

// Command is the change as a line for a shell.
func (c Change) Command() string {
	words := []string{"kubectl"}

	for _, arg := range c.Args() {
		if strings.ContainsAny(arg, "{}\"' $&|;<>()*?`\\") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}

		words = append(words, arg)
	}

	return strings.Join(words, " ")
}

// What says what the change does.
func (c Change) What() string {
	var out []string

	for _, key := range slices.Sorted(maps.Keys(c.Annotations)) {
		out = append(out, "set "+key)
	}

	for _, f := range c.Take {
		out = append(out, "take "+f+" off")
	}

	return strings.Join(out, ", ")
}

// Key says which object is meant.
func (c Change) Key() string {
	return c.Resource + " " + strings.TrimPrefix(c.Namespace+"/"+c.Name, "/")
}

package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Kubectl runs kubectl with arguments and returns what it prints. Its error holds what
// kubectl says.
type Kubectl func(ctx context.Context, args ...string) ([]byte, error)

// Plan reads the objects of a kind, in all namespaces, and returns what is to be done with
// those with which there is something, or with which there will be.
func Plan(ctx context.Context, kubectl Kubectl, resource string, role Role) ([]Change, error) {
	return plan(ctx, kubectl, resource, role, decide)
}

// PlanBack returns what is to be done with objects before a predecessor keeps them again. The
// provider on Moorage has to be stopped.
func PlanBack(ctx context.Context, kubectl Kubectl, resource string, role Role, to Predecessor) ([]Change, error) {
	return plan(ctx, kubectl, resource, role, func(resource string, role Role, o Object) Change {
		return decideBack(to, resource, role, o)
	})
}

func plan(ctx context.Context, kubectl Kubectl, resource string, role Role,
	decide func(string, Role, Object) Change) ([]Change, error) {
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
		if c := decide(resource, role, o); !c.Empty() || len(c.Pending)+len(c.Conflicts)+len(c.Notes) > 0 {
			changes = append(changes, c)
		}
	}

	return changes, nil
}

// Apply makes a change. It fails if the object is not the one that was read any more: plan
// again, and apply what is left.
func Apply(ctx context.Context, kubectl Kubectl, c Change) error {
	for _, args := range c.Args() {
		if _, err := kubectl(ctx, args...); err != nil {
			return err
		}
	}

	return nil
}

// Args are the arguments of kubectl that make the change, for one call or for two. The first fails if the object is
// not the one that was read any more; the second is to be made only after the first has succeeded.
func (c Change) Args() (calls [][]string) {
	if c.changesObject() {
		calls = append(calls, c.patch(c.object(), "--type=merge"))
	}

	if len(c.Conditions) > 0 {
		calls = append(calls, c.patch(c.status(), "--subresource=status", "--type=json"))
	}

	return calls
}

func (c Change) patch(content any, options ...string) []string {
	args := []string{"patch", c.Resource, c.Name}
	if c.Namespace != "" {
		args = append(args, "--namespace="+c.Namespace)
	}

	patch, _ := json.Marshal(content) // maps of texts alone

	return append(append(args, options...), "--patch="+string(patch))
}

// object is a patch with the version of the object that was read, so that it changes no other.
func (c Change) object() map[string]any {
	metadata := map[string]any{"resourceVersion": c.ResourceVersion}

	set := map[string]any{}
	for key, value := range c.Annotations {
		set[key] = value
	}

	for _, key := range c.Drop {
		set[key] = nil
	}

	if len(set) > 0 {
		metadata["annotations"] = set
	}

	if len(c.Take) > 0 {
		metadata["finalizers"] = append([]string{}, c.Finalizers...)
	}

	patch := map[string]any{"metadata": metadata}
	if c.Orphan {
		patch["spec"] = map[string]any{"deletionPolicy": "Orphan"}
	}

	return patch
}

// status is a patch that removes conditions if they are still where they were read, and, if the status is all that is
// changed, the object is the one that was read.
func (c Change) status() (patch []map[string]any) {
	if !c.changesObject() { // otherwise the version is the one that the first call has made
		patch = append(patch,
			map[string]any{"op": "test", "path": "/metadata/resourceVersion", "value": c.ResourceVersion})
	}

	for _, condition := range c.Conditions {
		path := fmt.Sprintf("/status/conditions/%d", condition.Index)
		patch = append(patch,
			map[string]any{"op": "test", "path": path + "/type", "value": condition.Type},
			map[string]any{"op": "remove", "path": path})
	}

	return patch
}

// Command is the change as a line for a shell, with the options of kubectl that are given. A second call runs only if
// the first has succeeded.
func (c Change) Command(options ...string) string {
	var calls []string

	for _, args := range c.Args() {
		words := []string{"kubectl"}

		for _, arg := range append(args, options...) {
			words = append(words, quote(arg))
		}

		calls = append(calls, strings.Join(words, " "))
	}

	return strings.Join(calls, " && ")
}

// bare are words that no shell reads as anything else.
var bare = regexp.MustCompile(`^[A-Za-z0-9_./:=@,+-]+$`)

func quote(word string) string {
	if bare.MatchString(word) {
		return word
	}

	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// What says what the change does.
func (c Change) What() string {
	var out []string

	for _, key := range slices.Sorted(maps.Keys(c.Annotations)) {
		out = append(out, "set "+key)
	}

	for _, key := range c.Drop {
		out = append(out, "remove "+key)
	}

	if c.Orphan {
		out = append(out, "set spec.deletionPolicy")
	}

	for _, f := range c.Put {
		out = append(out, "put "+f+" on")
	}

	for _, f := range c.Take {
		out = append(out, "take "+f+" off")
	}

	for _, condition := range c.Conditions {
		out = append(out, "remove the condition "+condition.Type)
	}

	return strings.Join(out, ", ")
}

// Key says which object is meant.
func (c Change) Key() string {
	return c.Resource + " " + strings.TrimPrefix(c.Namespace+"/"+c.Name, "/")
}

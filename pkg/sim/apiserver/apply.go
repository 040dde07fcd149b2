package apiserver

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/internal/apicore"
)

// An owners has the field paths of an object (joined by NULs) that each field manager owns. A path is a leaf, a member
// of a set, or a map or set that the manager first filled or applied empty. The key of a manager also records whether
// it applied, because only an applied path is removed when it is no longer applied.
type owners map[manager]map[string]bool

type manager struct {
	name    string
	applied bool
	sub     string
}

// owners returns the owners of the fields of a version. The first call computes them, because few versions need them.
func (v *version) owners() owners {
	if owned := v.owned.Load(); owned != nil {
		return *owned
	}
	had, image := owners{}, map[string]any{}
	if v.before != nil {
		had, image = v.before.owners(), v.before.image
	}
	owned := had.written(v.by, image, v.image)
	v.owned.Store(&owned)

	return owned
}

// clone returns a copy of the map and of the sets in it.
func (o owners) clone() owners {
	out := owners{}
	for m, leaves := range o {
		out[m] = maps.Clone(leaves)
	}

	return out
}

// written returns the owners after a write. The manager that wrote is the only owner of the paths that it changed.
func (o owners) written(by manager, before, now map[string]any) owners {
	changed, removed := compare(before, now)
	out := o.clone()
	for path := range changed {
		for _, paths := range out {
			delete(paths, path)
		}
		if out[by] == nil {
			out[by] = map[string]bool{}
		}
		out[by][path] = true
	}
	out.lose(removed)

	return out
}

// lose removes paths from all owners.
func (o owners) lose(removed map[string]bool) {
	for m, paths := range o {
		maps.DeleteFunc(paths, func(path string, _ bool) bool { return removed[path] })
		if len(paths) == 0 {
			delete(o, m)
		}
	}
}

// compare returns the paths that were added or changed, and the paths that were removed.
func compare(before, now map[string]any) (changed, removed map[string]bool) {
	had, has := pathsOf(before), pathsOf(now)
	changed, removed = map[string]bool{}, map[string]bool{}
	for path, value := range has {
		if old, ok := had[path]; !ok || !reflect.DeepEqual(old, value) {
			changed[path] = true
		}
	}
	for path := range had {
		if _, ok := has[path]; !ok {
			removed[path] = true
		}
	}

	return changed, removed
}

// A holder is the value of a path that leads to a map or a set, regardless of its content.
type holder struct{}

// pathsOf returns the values of a JSON object by their paths. It omits the paths that no manager can own.
func pathsOf(image map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range image {
		switch key {
		case "apiVersion", "kind":
		case "metadata":
			m, _ := value.(map[string]any)
			for _, owned := range []string{"annotations", "labels", "finalizers", "ownerReferences"} {
				if v, ok := m[owned]; ok {
					collect(out, "metadata\x00"+owned, v)
				}
			}
		default:
			collect(out, key, value)
		}
	}

	return out
}

func collect(out map[string]any, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		out[path] = holder{}
		for key, inner := range v {
			collect(out, path+"\x00"+key, inner)
		}
	case []any:
		if path != "metadata\x00finalizers" {
			out[path] = value

			return
		}
		out[path] = holder{}
		for _, name := range v { // a set, whose members are owned one by one
			out[fmt.Sprintf("%s\x00=%v", path, name)] = name
		}
	default:
		out[path] = value
	}
}

// asked returns the paths that a manager owns after it has applied a JSON object. They do not include maps and sets,
// except empty maps.
func asked(config map[string]any) map[string]any {
	all := pathsOf(config)
	out := maps.Clone(all)
	for path, value := range all {
		_, holds := value.(holder)
		full := false
		for other := range all {
			full = full || strings.HasPrefix(other, path+"\x00")
		}
		if holds && (full || path == "metadata\x00finalizers") {
			delete(out, path)
		}
	}

	return out
}

func setOf(paths map[string]any) map[string]bool {
	out := map[string]bool{}
	for path := range paths {
		out[path] = true
	}

	return out
}

// applied returns the result of a server-side apply by a manager, and the new owners. It sets the applied values. It
// removes the values that the manager applied before and does not apply now, unless another manager owns them. It
// returns a conflict if it changes a value that another manager owns, unless force is set.
func applied(image map[string]any, o owners, by manager, config map[string]any, force bool) (map[string]any, owners,
	error) {
	want := asked(config)
	next := o.clone()
	mine := next[by]
	next[by] = setOf(want)
	out := image
	for _, path := range slices.Sorted(maps.Keys(want)) {
		steps := strings.Split(path, "\x00")
		if _, empty := want[path].(holder); empty {
			if !exists(out, steps) {
				out = put(out, steps, map[string]any{}, false)
			}

			continue
		}
		out = put(out, steps, want[path], false)
	}
	out = next.prune(out, mine)
	changed, removed := compare(image, out)
	if conflicts := next.conflicts(by, changed); len(conflicts) > 0 && !force {
		return nil, nil, kerrors.NewApplyConflict(conflicts, fmt.Sprintf("Apply failed with %d conflict(s)", len(conflicts)))
	}
	for m, paths := range next {
		if m != by {
			maps.DeleteFunc(paths, func(path string, _ bool) bool { return changed[path] })
		}
	}
	next.lose(removed)

	return out, next, nil
}

// conflicts returns the changed paths that other managers own.
func (o owners) conflicts(by manager, changed map[string]bool) []metav1.StatusCause {
	var out []metav1.StatusCause
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		for other, paths := range o {
			if other != by && paths[path] {
				out = append(out, metav1.StatusCause{
					Type: metav1.CauseTypeFieldManagerConflict, Field: "." + strings.ReplaceAll(path, "\x00", "."),
					Message: fmt.Sprintf("conflict with %q", other.name),
				})
			}
		}
	}

	return out
}

// prune removes the values at the paths in mine that have no owner any more, and the maps and sets that are empty then.
func (o owners) prune(image map[string]any, mine map[string]bool) map[string]any {
	gone := map[string]bool{}
	for path := range mine {
		for at := path; at != "" && at != "metadata"; {
			gone[at] = true
			if i := strings.LastIndexByte(at, 0); i >= 0 {
				at = at[:i]
			} else {
				at = ""
			}
		}
	}
	paths := slices.Sorted(maps.Keys(gone))
	slices.Reverse(paths) // what is inside goes first
	for _, path := range paths {
		if o.owned(path) || !strings.Contains(path, "\x00") && exists(image, []string{path}) {
			continue
		}
		_, has := pathsOf(image)[path]
		if has && !full(image, path) {
			image = put(image, strings.Split(path, "\x00"), nil, true)
		}
	}

	return image
}

// full returns whether a map or a set has any content.
func full(image map[string]any, path string) bool {
	for other := range pathsOf(image) {
		if strings.HasPrefix(other, path+"\x00") {
			return true
		}
	}

	return false
}

func (o owners) owned(path string) bool {
	for _, paths := range o {
		if paths[path] {
			return true
		}
	}

	return false
}

func exists(image map[string]any, path []string) bool {
	value, ok := image[path[0]]
	if !ok || len(path) == 1 {
		return ok
	}
	inner, _ := value.(map[string]any)

	return exists(inner, path[1:])
}

// put returns the JSON object with a value set at a path, or with the path removed.
func put(image map[string]any, path []string, value any, gone bool) map[string]any {
	image = apicore.Clone(image)
	if len(path) == 2 && strings.HasPrefix(path[1], "=") {
		image[path[0]] = member(image[path[0]], strings.TrimPrefix(path[1], "="), gone)

		return image
	}
	if len(path) == 1 {
		if gone {
			delete(image, path[0])
		} else {
			image[path[0]] = value
		}

		return image
	}
	inner, _ := image[path[0]].(map[string]any)
	image[path[0]] = put(inner, path[1:], value, gone)

	return image
}

// member returns a set with a member added or removed.
func member(set any, name string, gone bool) []any {
	list, _ := set.([]any)
	list = slices.DeleteFunc(slices.Clone(list), func(have any) bool { return gone && have == name })
	if !gone && !slices.Contains(list, any(name)) {
		list = append(list, name)
	}

	return list
}

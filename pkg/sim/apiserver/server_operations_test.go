package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
)

// never is the index of a version that no object has any more.
const never = 1 << 10

// A step is one random operation. It names versions and UIDs by when they were
// seen, so that it means the same on both sides.
type step struct {
	verb    string
	sub     bool
	version int // -1: none
	uid     int // -1: none
	owner   string
	force   bool
	body    map[string]any
	ops     []map[string]any
}

func (s step) String() string {
	body, _ := json.Marshal(s.body)
	if s.ops != nil {
		body, _ = json.Marshal(s.ops)
	}

	return fmt.Sprintf("%s sub=%v version=%d uid=%d %s force=%v %s", s.verb, s.sub, s.version, s.uid, s.owner, s.force,
		body)
}

var verbs = []string{"create", "get", "update", "update", "merge", "merge", "merge", "merge", "json", "delete", "list",
	"apply", "apply", "apply"}

func randomOperation(r *rand.Rand, likely string, applies bool) step {
	verb := verbs[r.IntN(len(verbs)-3)]
	if applies {
		verb = verbs[r.IntN(len(verbs))]
	}
	if applies && verb == "json" {
		verb = "merge"
	}
	if likely != "" && r.IntN(4) > 0 {
		verb = likely
	}
	s := step{verb: verb, sub: r.IntN(3) == 0, version: -1, uid: -1, owner: []string{"anna", "ben"}[r.IntN(2)],
		force: r.IntN(3) == 0}
	if r.IntN(3) == 0 {
		s.version = r.IntN(3) / 2 * r.IntN(3)
	}
	if applies && s.version > 0 {
		s.version = never // those between the last and none are other ones on each side
	}
	if r.IntN(4) == 0 {
		s.uid = r.IntN(5) / 3
	}
	s.body = map[string]any{}
	if s.verb == "json" {
		s.ops = randomJSONPatch(r)

		return s
	}
	nulls := s.verb == "merge" && !applies // null for all metadata is null for who owns what
	meta := map[string]any{}
	put := func(m map[string]any, key string, value any) {
		if nulls && r.IntN(4) == 0 {
			value = nil
		}
		if r.IntN(2) == 0 {
			m[key] = value
		}
	}
	annotations := map[string]any{}
	put(annotations, "a", fmt.Sprint(r.IntN(3)))
	put(annotations, "b", fmt.Sprint(r.IntN(3)))
	if r.IntN(40) == 0 {
		annotations["big"] = strings.Repeat("x", 256<<10)
	}
	put(meta, "annotations", annotations)
	put(meta, "labels", map[string]any{"l": fmt.Sprint(r.IntN(2))})
	finalizers := [][]any{{}, {"example.com/x"}, {"example.com/x", "example.com/y"}}[r.IntN(3)]
	put(meta, "finalizers", finalizers)
	put(s.body, "metadata", meta)
	spec := map[string]any{"size": r.IntN(2)}
	put(spec, "parent", []string{"", "north", "south"}[r.IntN(3)])
	if s.verb == "merge" && !s.sub && r.IntN(10) == 0 {
		spec["size"] = "long"
	}
	if r.IntN(2) == 0 || s.verb == "apply" {
		s.body["spec"] = spec
	}
	status := map[string]any{}
	put(status, "id", fmt.Sprint(r.IntN(2)))
	put(status, "size", r.IntN(2))
	if r.IntN(2) == 0 {
		s.body["status"] = status
	}

	return s
}

func randomJSONPatch(r *rand.Rand) []map[string]any {
	all := []map[string]any{
		{"op": "add", "path": "/metadata/annotations", "value": map[string]any{"a": "1"}},
		{"op": "replace", "path": "/metadata/annotations/a", "value": "2"},
		{"op": "remove", "path": "/metadata/annotations/b"},
		{"op": "test", "path": "/spec/size", "value": 1},
		{"op": "replace", "path": "/spec/size", "value": r.IntN(3)},
		{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/z"},
		{"op": "remove", "path": "/metadata/finalizers/0"},
		{"op": "copy", "from": "/spec/parent", "path": "/metadata/annotations/c"},
		{"op": "move", "from": "/metadata/annotations/a", "path": "/metadata/annotations/b"},
		{"op": "replace", "path": "/status/id", "value": "9"},
	}
	var out []map[string]any
	for range 1 + r.IntN(2) {
		out = append(out, all[r.IntN(len(all))])
	}

	return out
}

func (s step) do(ctx context.Context, on *side) answer {
	o := on.object()
	switch s.verb {
	case "get":
		return on.answer(o, on.c.Get(ctx, client.ObjectKeyFromObject(o), o))
	case "list":
		return s.list(ctx, on)
	case "delete":
		return on.answer(nil, on.c.Delete(ctx, o, s.preconditions(on)))
	case "create", "update":
		return s.put(ctx, on)
	}
	patch := client.RawPatch(map[string]types.PatchType{
		"merge": types.MergePatchType, "json": types.JSONPatchType, "apply": types.ApplyPatchType,
	}[s.verb], s.data(on))
	options := client.PatchOptions{FieldManager: s.owner}
	if s.verb == "apply" {
		options.Force = &s.force
	}
	if s.sub {
		return on.answer(o, on.c.Status().Patch(ctx, o, patch, &client.SubResourcePatchOptions{PatchOptions: options}))
	}

	return on.answer(o, on.c.Patch(ctx, o, patch, &options))
}

// data is the body of a patch.
func (s step) data(on *side) []byte {
	var body any = s.ops
	if s.verb != "json" {
		body = s.whole(on)
	}
	data, _ := json.Marshal(body)

	return data
}

// whole returns the body with the metadata of this side.
func (s step) whole(on *side) map[string]any {
	data, _ := json.Marshal(s.body)
	body := map[string]any{}
	_ = json.Unmarshal(data, &body)
	meta, _ := body["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	if s.version >= 0 {
		meta["resourceVersion"] = pick(on.versions, s.version, "1")
	}
	if s.uid >= 0 {
		meta["uid"] = pick(on.uids, s.uid, "11111111-1111-4111-8111-111111111111")
	}
	if s.verb == "apply" || s.verb == "create" || s.verb == "update" {
		meta["name"], meta["namespace"] = on.name, on.ns
		body["apiVersion"], body["kind"] = bucket.GroupVersion.String(), "Bucket"
	}
	if len(meta) > 0 {
		body["metadata"] = meta
	}

	return body
}

// list answers with the object of this side if it is among those that are selected. Others
// have theirs beside it.
func (s step) list(ctx context.Context, on *side) answer {
	var all bucket.List
	options := []client.ListOption{client.InNamespace(on.ns)}
	if s.force {
		options = append(options, client.MatchingLabels{"l": "1"})
	}
	if err := on.c.List(ctx, &all, options...); err != nil {
		return on.answer(nil, err)
	}
	for _, o := range all.Items {
		if o.Name == on.name {
			return on.answer(&o, nil)
		}
	}

	return answer{}
}

func (s step) put(ctx context.Context, on *side) answer {
	data, _ := json.Marshal(s.whole(on))
	o := &bucket.Bucket{}
	if err := json.Unmarshal(data, o); err != nil {
		return answer{Reason: metav1.StatusReason(err.Error())}
	}
	switch {
	case s.verb == "create":
		return on.answer(o, on.c.Create(ctx, o, client.FieldOwner(s.owner)))
	case s.sub:
		return on.answer(o, on.c.Status().Update(ctx, o, client.FieldOwner(s.owner)))
	default:
		return on.answer(o, on.c.Update(ctx, o, client.FieldOwner(s.owner)))
	}
}

func (s step) preconditions(on *side) client.Preconditions {
	p := client.Preconditions{}
	if s.uid >= 0 {
		uid := types.UID(pick(on.uids, s.uid, "11111111-1111-4111-8111-111111111111"))
		p.UID = &uid
	}
	if s.version >= 0 {
		version := pick(on.versions, s.version, "1")
		p.ResourceVersion = &version
	}

	return p
}

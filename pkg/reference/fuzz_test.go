package reference

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// canary is in every value of an object that errors must not reveal.
const canary = "canary"

// A die derives choices from bytes.
type die []byte

func (d *die) next() int {
	if len(*d) == 0 {
		return 0
	}
	out := int((*d)[0])
	*d = (*d)[1:]

	return out
}

func pick[T any](d *die, of ...T) T { return of[d.next()%len(of)] }

func (d *die) yes() bool { return d.next()%2 == 1 }

// object returns the i-th object of a world: a disk or a network whose value identifies it.
func (d *die) object(i int) client.Object {
	s := []setting{
		granted(pick(d, "", "a", "*", "z, a", " a ", "b", ",", "a*", "aa")),
		labelled("zone", pick(d, "east", "west")), labelled("note", canary),
	}
	if !d.yes() {
		s = append(s, external(fmt.Sprint(canary, "-", i)))
	}
	if d.next()%5 == 1 {
		s = append(s, deleting)
	}
	if d.yes() {
		s = append(s, controlledBy("cluster"))
	}
	if d.next()%11 == 1 {
		s = append(s, uid("self"))
	}
	if d.next()%4 == 1 {
		return network(pick(d, "x", "y", "z"), s...)
	}

	return disk(pick(d, "a", "b", "c"), pick(d, "x", "y", "z"), s...)
}

func (d *die) policy() *commonv1.ReferencePolicy {
	if d.yes() {
		return nil
	}

	return &commonv1.ReferencePolicy{
		Resolve: pick(d, nil, new(commonv1.ResolvePolicyAlways), new(commonv1.ResolvePolicyIfNotPresent),
			new(commonv1.ResolvePolicy("Whenever"))),
		Resolution: pick(d, nil, new(commonv1.ResolutionPolicyOptional), new(commonv1.ResolutionPolicyRequired)),
	}
}

func (d *die) request(name, namespace, label string) ResolutionRequest {
	req := ResolutionRequest{CurrentValue: pick(d, "", "", "held", canary+"-0"), To: pick(d, toDisk, toNetwork)}
	if d.yes() {
		req.Reference = &commonv1.NamespacedReference{
			Name: pick(d, "x", "y", "z", name), Namespace: pick(d, "", "a", "b", namespace),
			Policy: d.policy(),
		}
	}
	if d.yes() {
		req.Selector = &commonv1.NamespacedSelector{
			Namespace: pick(d, "", "a", "b", namespace), Policy: d.policy(),
			MatchControllerRef: pick(d, nil, new(true), new(false)),
		}
		if d.yes() {
			req.Selector.MatchLabels = map[string]string{pick(d, "zone", label): pick(d, "east", "west", label)}
		}
	}

	return req
}

// mayUse implements the rule of namespaces independently.
func mayUse(from, o client.Object) bool {
	if o.GetNamespace() == "" || from.GetNamespace() != "" && o.GetNamespace() == from.GetNamespace() {
		return true
	}
	grants := strings.Split(strings.ReplaceAll(o.GetAnnotations()[meta.AnnotationKeyAllowReferencesFrom], " ", ""), ",")

	return slices.Contains(grants, "*") || from.GetNamespace() != "" && slices.Contains(grants, from.GetNamespace())
}

// checkValue fails if a value is one that the object must not have.
func checkValue(t *testing.T, from client.Object, objects []client.Object, value string) {
	t.Helper()
	var i int
	if _, err := fmt.Sscanf(value, canary+"-%d", &i); err != nil || i >= len(objects) {
		t.Fatalf("the value %q is nobody's", value)
	}
	if o := objects[i]; !mayUse(from, o) || o.GetUID() == "self" {
		t.Errorf("%s/%s has the value of %s/%s, which does not grant it or is itself", from.GetNamespace(),
			from.GetName(), o.GetNamespace(), o.GetName())
	}
}

// FuzzResolve tries arbitrary references and selectors in arbitrary worlds. Nothing
// panics, no value crosses a namespace without a grant, the response does not depend on the order of a list or on being
// recorded, errors are bounded and reveal no values, and references that are resolved already are not read.
func FuzzResolve(f *testing.F) {
	f.Add([]byte{}, "x", "a", "zone")
	f.Add([]byte{3, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1}, "../x", "b/c", "not a label")
	f.Add([]byte("\x05a grant for b, and a star for everybody\x01\x01\x01\x00\x01\x02"), "", "..", "")
	f.Add([]byte("\x06\x02\x01\x01\x01\x01\x01\x01\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x01\x01"),
		strings.Repeat("n", 400), "\xff", "a/b/c")
	f.Fuzz(checkWorld)
}

// checkAnswer checks the invariants of a response.
func checkAnswer(t *testing.T, req ResolutionRequest, got ResolutionResponse, err error) {
	t.Helper()
	optionally := req.Reference != nil && req.Reference.Policy.IsOptional() ||
		req.Selector != nil && req.Selector.Policy.IsOptional()
	switch {
	case req.IsNoOp() && err != nil && ReasonOf(err) != ReasonMalformed:
		t.Errorf("there was nothing to do, and yet: %v", err)
	case err != nil && got.ResolvedValue != req.CurrentValue:
		t.Errorf("beside the error %v is another value: %q, not %q", err, got.ResolvedValue, req.CurrentValue)
	case err == nil && !req.IsNoOp() && !optionally && got.ResolvedValue == "":
		t.Error("a required reference has neither value nor error")
	}
	if err == nil {
		return
	}
	if !IsWaiting(err) && !IsRefused(err) {
		t.Errorf("the API did not fail, and yet: %v", err)
	}
	if text := err.Error(); len(text) > maxErrorLength || !utf8.ValidString(text) || strings.Contains(text, canary) {
		t.Errorf("a text of %d bytes: %q", len(text), text)
	}
}

// checkWorld makes a world and a request of the choices, and resolves it in several ways.
func checkWorld(t *testing.T, choices []byte, name, namespace, label string) {
	d := die(choices)
	objects := make([]client.Object, d.next()%7)
	seen := map[string]bool{}
	for i := range objects {
		o := d.object(i)
		if id := fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName()); seen[id] {
			o.SetName(fmt.Sprint("copy-", i))
		} else {
			seen[id] = true
		}
		objects[i] = o
	}
	from := pick[client.Object](&d, instance("a", "x", uid("self"), controlledBy("cluster")), disk("a", "x", uid("self")),
		network("x", uid("self")))
	req := d.request(name, namespace, label)
	w := newWorld(objects...)

	got, err := NewAPIResolver(w, from).Resolve(context.Background(), req)
	checkAnswer(t, req, got, err)
	if req.IsNoOp() && len(w.reads) > 0 {
		t.Errorf("there was nothing to do, and yet: %v", w.reads)
	}
	if err == nil && !req.IsNoOp() && got.ResolvedValue != "" {
		checkValue(t, from, objects, got.ResolvedValue)
	}

	backwards := slices.Clone(objects)
	slices.Reverse(backwards)
	tr := NewTracker(w.scheme)
	rec := tr.Reader(client.ObjectKeyFromObject(from), newWorld(backwards...))
	again, err2 := NewAPIResolver(rec, from).Resolve(context.Background(), req)
	if diff := cmp.Diff(got, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(err2) {
		t.Errorf("recorded, and listed backwards, it is another answer: %v or %v\n%s", err, err2, diff)
	}
	rec.Done(err2)
	tr.Forget(client.ObjectKeyFromObject(from))
	checkEmpty(t, tr)

	multi := MultiResolutionRequest{Selector: req.Selector, To: req.To}
	if req.Reference != nil {
		multi.References = []commonv1.NamespacedReference{*req.Reference, {Name: "y", Policy: d.policy()}}
	}
	several, err := NewAPIResolver(w, from).ResolveMultiple(context.Background(), multi)
	for _, v := range several.ResolvedValues {
		checkValue(t, from, objects, v)
	}
	if err != nil && strings.Contains(err.Error(), canary) {
		t.Errorf("the error tells what an object holds: %v", err)
	}
}

package difference

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// everyOption are options for the fields that a generator makes.
func everyOption() []Option {
	return []Option{
		Set("a", "b.a", "c[*].b"), Keyed("b", "a", "b"), Keyed("d[*]", "c"), Ignore("d.a", "a[*].c", "c[1]"),
		Sensitive("c.b", "e[*].a"), Immutable("d", "b[0]"), Default("a.a", 1), Default("e", []int{1}),
		Equal("b.c", SameQuantity), Equal("a[*]", SameDuration), Equal("f", func(_, _ string) bool { return false }),
	}
}

// checkBetween checks what holds for the differences of any two objects, which are JSON.
func checkBetween(t *testing.T, desired, observed string, options ...Option) []commonv1.Difference {
	t.Helper()
	got, err := Between(raw(desired), raw(observed), options...)
	if err != nil {
		t.Fatalf("%s and %s: %v", desired, observed, err)
	}
	checkClean(t, got)
	if again, err := Between(raw(desired), raw(observed), options...); err != nil || !slices.Equal(got, again) {
		t.Errorf("%s and %s: first %v, then %v (%v)", desired, observed, got, again, err)
	}
	for _, same := range []string{desired, observed} {
		if d, err := Between(raw(same), raw(same), options...); err != nil || len(d) > 0 {
			t.Errorf("%s differs from itself in %v (%v)", same, d, err)
		}
	}
	return got
}

// checkReal checks, without options, that exactly the differences that are named exist. The observed state is as
// desired if all of these fields are changed, and is not if one of them is left.
func checkReal(t *testing.T, desired, observed string) {
	t.Helper()
	found, err := compare(raw(desired), raw(observed), nil)
	if err != nil {
		t.Fatal(err)
	}
	if covered := covers(parsed(t, desired), parsed(t, observed)); covered != (len(found) == 0) {
		t.Errorf("%s and %s are equal: %t; differences: %v", desired, observed, covered, found)
	}
	for left := range min(len(found), 8) + 1 {
		state, _ := parsed(t, observed).(map[string]any)
		for i, d := range found {
			if i+1 == left {
				continue
			}
			steps, err := parsePath(d.Path)
			if err != nil {
				t.Fatalf("%q is not a path: %v", d.Path, err)
			}
			state, _ = assign(state, steps, valueAt(parsed(t, desired), steps)).(map[string]any)
		}
		rest, err := compare(raw(desired), state, nil)
		switch {
		case err != nil:
			t.Fatal(err)
		case left == 0 && len(rest) > 0:
			t.Errorf("%s and %s: after all changes they differ in %v", desired, observed, rest)
		case left > 0 && (len(rest) != 1 || rest[0].Path != found[left-1].Path):
			t.Errorf("%s and %s: without the change of %s they differ in %v",
				desired, observed, found[left-1].Path, rest)
		}
	}
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	v, err := decode(raw(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// covers reports, in another way than compare, whether a state is as desired.
func covers(want, got any) bool {
	switch want := want.(type) {
	case nil:
		return true
	case map[string]any:
		fields, ok := got.(map[string]any)
		for name, field := range want {
			if !covers(field, fields[name]) {
				return false
			}
		}
		// Fields that are null set nothing.
		set := slices.ContainsFunc(values(want), func(v any) bool { return v != nil })
		return ok || got == nil || !set
	case []any:
		elements, ok := got.([]any)
		if !ok && got != nil || len(elements) != len(want) {
			return false
		}
		for i := range want {
			if want[i] == nil && elements[i] != nil || !covers(want[i], elements[i]) {
				return false
			}
		}
		return true
	default:
		return equal(want, got)
	}
}

func values(m map[string]any) (out []any) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

func valueAt(v any, path []step) any {
	for _, s := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[s.name]
		case []any:
			v = at[s.index]
		}
	}
	return v
}

// assign returns v with another value at a path.
func assign(v any, path []step, value any) any {
	if len(path) == 0 {
		return value
	}
	s := path[0]
	if s.kind == byIndex {
		list, _ := v.([]any)
		list[s.index] = assign(list[s.index], path[1:], value)
		return list
	}
	fields, ok := v.(map[string]any)
	if !ok || fields == nil {
		fields = map[string]any{}
	}
	fields[s.name] = assign(fields[s.name], path[1:], value)
	return fields
}

// A maker makes random JSON with few names and values, so that fields are often equal.
type maker struct{ *rand.Rand }

func (m maker) object(depth int) map[string]any {
	out := map[string]any{}
	for range m.IntN(4) {
		names := []string{"a", "b", "c", "d", "e", "f", "x.y", ""}
		out[names[m.IntN(len(names))]] = m.value(depth)
	}
	return out
}

func (m maker) value(depth int) any {
	scalars := []any{
		1, 1.0, json.Number("1e0"), 2, "", "x", "1", "1Gi", "1024Mi", "60s", "1m", true, nil, "\u202e\x00",
	}
	switch kind := m.IntN(6); {
	case depth > 0 && kind < 2:
		return m.object(depth - 1)
	case depth > 0 && kind < 4:
		list := []any{}
		for range m.IntN(4) {
			list = append(list, m.value(depth-1))
		}
		return list
	}
	return scalars[m.IntN(len(scalars))]
}

// changed returns a copy of a value in which a few values are others.
func (m maker) changed(v any, depth int) any {
	if m.IntN(8) == 0 {
		return m.value(depth)
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, field := range v {
			if m.IntN(8) > 0 {
				out[name] = m.changed(field, depth-1)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, element := range v {
			out = append(out, m.changed(element, depth-1))
		}
		m.Shuffle(len(out)*m.IntN(2), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return out
	}
	return v
}

// pair returns two similar objects.
func (m maker) pair(t *testing.T) (desired, observed string) {
	t.Helper()
	a := m.object(4)
	b, ok := m.changed(a, 4).(map[string]any)
	if !ok {
		b = m.object(4)
	}
	return encode(a), encode(b)
}

func TestBetweenProperties(t *testing.T) {
	empty := 0
	for seed := range uint64(3000) {
		desired, observed := maker{rand.New(rand.NewPCG(seed, 1))}.pair(t)
		if len(checkBetween(t, desired, observed)) == 0 {
			empty++
		}
		checkReal(t, desired, observed)
		checkBetween(t, desired, observed, everyOption()...)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if empty < 300 || empty > 2700 {
		t.Errorf("%d of 3000 pairs are equal: the generator is not a good one", empty)
	}
}

// TestBetweenShufflesSets checks that no order of a set, or of a list with keys, is a difference.
func TestBetweenShufflesSets(t *testing.T) {
	for seed := range uint64(500) {
		m := maker{rand.New(rand.NewPCG(seed, 2))}
		set, list := []any{}, []any{}
		for i := range m.IntN(6) {
			set = append(set, m.value(2))
			list = append(list, map[string]any{"name": fmt.Sprint(i), "value": m.value(2)})
		}
		desired := encode(map[string]any{"set": set, "list": list})
		m.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		observed := encode(map[string]any{"set": set, "list": list})
		if got := checkBetween(t, desired, observed, Set("set"), Keyed("list", "name")); len(got) > 0 {
			t.Fatalf("seed %d: %s and %s: %v", seed, desired, observed, got)
		}
	}
}

// FuzzBetween compares any two objects, with a secret in each, under no options and under all.
func FuzzBetween(f *testing.F) {
	f.Add(`{"a":[1,"x",null,true,{"b":{"c":2}}]}`, `{"a":[1.0,"x",2,true,{"b":{"c":3}}]}`, "password", uint64(1))
	f.Add(`{"b":[{"a":1,"b":"x"},{"a":2,"b":"y"}]}`, `{"b":[{"a":2,"b":"y"},{"a":1,"b":"x","c":1}]}`, "note", uint64(2))
	f.Add(`{"a":"\u202e\u0000","x.y":1e-999999999999}`, `{"a":"\ufffd"}`, `"]`, uint64(3))
	f.Add(`null`, `{}`, "", uint64(4))
	f.Fuzz(func(t *testing.T, desired, observed, key string, seed uint64) {
		a, errA := object(raw(desired))
		b, errB := object(raw(observed))
		if errA != nil || errB != nil || strings.Contains(desired+observed+key, canary[:8]) {
			if _, err := Between(raw(desired), raw(observed)); err == nil && (errA != nil || errB != nil) {
				t.Errorf("%q and %q give no error", desired, observed)
			}
			desired, observed = maker{rand.New(rand.NewPCG(seed, 3))}.pair(t)
			a, b, key = nil, nil, "note"
		}
		checkBetween(t, desired, observed)
		checkReal(t, desired, observed)
		checkBetween(t, desired, observed, everyOption()...)
		options := append(everyOption(), Sensitive("s["+encode(key)+"]", "l[*]["+encode(key)+"]"))
		want := map[string]any{
			"o": a, "s": map[string]any{key: canary, "password": canary}, "l": []any{map[string]any{key: canary}},
		}
		got := map[string]any{"o": b, "s": map[string]any{key: canary + "x"}, "l": []any{map[string]any{key: 1}, canary}}
		for _, pair := range [][2]any{{want, got}, {got, want}, {want, nil}} {
			found, err := Between(pair[0], pair[1], options...)
			if err != nil || len(found) == 0 {
				t.Errorf("%d differences and the error %v", len(found), err)
			}
			if text := fmt.Sprint(found); strings.Contains(text, canary) {
				t.Errorf("a secret: %s", text)
			}
		}
	})
}

func TestBetweenChangesNothing(t *testing.T) {
	want := map[string]any{"a": []any{map[string]any{"b": nil, "c": 1}}, "d": nil}
	got := map[string]any{"a": []any{map[string]any{"c": 2, "b": 1}}}
	before := [2]string{encode(want), encode(got)}
	if _, err := Between(want, got, Ignore("a[*].c")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, [2]string{encode(want), encode(got)}); d != "" {
		t.Errorf("-before, +after:\n%s", d)
	}
}

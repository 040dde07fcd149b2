package difference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// raw is JSON that is encoded as it is.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// diff is a difference whose other fields are zero.
func diff(path, desired, observed string) commonv1.Difference {
	return commonv1.Difference{Path: path, Desired: desired, Observed: observed}
}

func secret(path string) commonv1.Difference { return commonv1.Difference{Path: path, Sensitive: true} }

type betweenCase struct {
	reason            string
	desired, observed string
	options           []Option
	want              []commonv1.Difference
}

func runBetween(t *testing.T, cases map[string]betweenCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Between(raw(tc.desired), raw(tc.observed), tc.options...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, d)
			}
		})
	}
}

func TestBetween(t *testing.T) {
	runBetween(t, map[string]betweenCase{
		"Equal": {
			reason:  "Equal states have no difference.",
			desired: `{"a":1,"b":{"c":["x"]}}`, observed: `{"b":{"c":["x"]},"a":1}`,
		},
		"Sorted": {
			reason:  "Differences are sorted by path.",
			desired: `{"b":1,"a":{"d":true,"c":"x"}}`, observed: `{"b":2,"a":{"d":false,"c":"y"}}`,
			want: []commonv1.Difference{diff("a.c", `"x"`, `"y"`), diff("a.d", `true`, `false`), diff("b", `1`, `2`)},
		},
		"Unset": {
			reason:  "A field that the spec does not set is not compared.",
			desired: `{"a":{"b":null}}`, observed: `{"a":{"b":1,"c":2},"d":3}`,
		},
		"NothingDesired": {reason: "Null sets nothing.", desired: `null`, observed: `{"a":1}`},
		"NothingObserved": {
			reason:  "Of a state that is missing, each desired field differs.",
			desired: `{"a":{"b":1,"c":[1]},"d":{}}`, observed: `null`,
			want: []commonv1.Difference{diff("a.b", `1`, ""), diff("a.c", `[1]`, "")},
		},
		"Empty": {
			reason:  "An empty list or object equals one that is missing.",
			desired: `{"a":[],"b":{},"c":{"d":[]}}`, observed: `{"b":null}`,
		},
		"EmptyList": {
			reason:  "An empty list is a wish: the list shall have no elements.",
			desired: `{"a":[]}`, observed: `{"a":[1]}`,
			want: []commonv1.Difference{diff("a", `[]`, `[1]`)},
		},
		"Numbers": {
			reason:   "Numbers are compared by value, also if they exceed every type.",
			desired:  `{"a":1,"b":1e2,"c":0.10,"d":9007199254740993,"e":1e999999999999,"f":-0}`,
			observed: `{"a":1.0,"b":100,"c":1e-1,"d":9007199254740992,"e":1e999999999998,"f":0}`,
			want: []commonv1.Difference{
				diff("d", `9007199254740993`, `9007199254740992`), diff("e", `1e999999999999`, `1e999999999998`),
			},
		},
		"Types": {
			reason:   "Values of two types differ.",
			desired:  `{"a":1,"b":"true","c":{"x":1},"d":[1],"e":"x"}`,
			observed: `{"a":"1","b":true,"c":"x","d":{"x":1},"e":["x"]}`,
			want: []commonv1.Difference{
				diff("a", `1`, `"1"`), diff("b", `"true"`, `true`), diff("c", `{"x":1}`, `"x"`),
				diff("d", `[1]`, `{"x":1}`), diff("e", `"x"`, `["x"]`),
			},
		},
		"Names": {
			reason:   "A name that is not a simple word stands in brackets.",
			desired:  `{"labels":{"example.org/team":"a","":"b","x-y":"c"}}`,
			observed: `{}`,
			want: []commonv1.Difference{
				diff("labels.x-y", `"c"`, ""), diff(`labels[""]`, `"b"`, ""), diff(`labels["example.org/team"]`, `"a"`, ""),
			},
		},
		"HTML": {
			reason: "Characters of HTML are not escaped.", desired: `{"a":"a.>"}`, observed: `{"a":"<&"}`,
			want: []commonv1.Difference{diff("a", `"a.>"`, `"<&"`)},
		},
	})
}

func TestBetweenLists(t *testing.T) {
	servers := `{"s":[{"name":"a","port":1},{"name":"b","port":2}]}`
	runBetween(t, map[string]betweenCase{
		"Scalars": {
			reason:  "The difference of a list of texts is the whole list.",
			desired: `{"a":["x","y"]}`, observed: `{"a":["y","x"]}`,
			want: []commonv1.Difference{diff("a", `["x","y"]`, `["y","x"]`)},
		},
		"Length": {
			reason: "So is that of lists of two lengths.", desired: `{"a":[{"b":1}]}`, observed: `{"a":[{"b":1},{"b":2}]}`,
			want: []commonv1.Difference{diff("a", `[{"b":1}]`, `[{"b":1},{"b":2}]`)},
		},
		"Objects": {
			reason:  "Objects at the same position are compared field by field.",
			desired: servers, observed: `{"s":[{"name":"a","port":3,"x":1},{"name":"c","port":2}]}`,
			want: []commonv1.Difference{diff("s[0].port", `1`, `3`), diff("s[1].name", `"b"`, `"c"`)},
		},
		"NestedLists": {
			reason: "Lists in lists count as values.", desired: `{"a":[[1],[2]]}`, observed: `{"a":[[1],[3]]}`,
			want: []commonv1.Difference{diff("a", `[[1],[2]]`, `[[1],[3]]`)},
		},
		"Null": {
			reason: "Null in a list is a value.", desired: `{"a":[null,1]}`, observed: `{"a":[2,1]}`,
			want: []commonv1.Difference{diff("a", `[null,1]`, `[2,1]`)},
		},
		"Set": {
			reason: "The order of a set is irrelevant, and how often an element occurs.", options: []Option{Set("a", "b")},
			desired:  `{"a":["x","y",1],"b":[{"c":1,"d":[]},{"c":2}]}`,
			observed: `{"a":[1.0,"y","x","x"],"b":[{"c":2},{"c":1.0}]}`,
		},
		"SetDiffers": {
			reason: "An element may be missing on either side.", options: []Option{Set("*", "a", "b", "c")},
			desired:  `{"a":["x"],"b":["x","y"],"c":["x"]}`,
			observed: `{"a":["x","y"],"b":["x"]}`,
			want: []commonv1.Difference{
				diff("a", `["x"]`, `["x","y"]`), diff("b", `["x","y"]`, `["x"]`), diff("c", `["x"]`, ""),
			},
		},
		"SetOfObjects": {
			reason:  "Elements of a set are equal as a whole.",
			options: []Option{Set("a")}, desired: `{"a":[{"b":1}]}`, observed: `{"a":[{"b":1,"c":2}]}`,
			want: []commonv1.Difference{diff("a", `[{"b":1}]`, `[{"b":1,"c":2}]`)},
		},
		"SetWithRules": {
			reason: "Options for the elements of a set apply.", options: []Option{
				Set("a", "b"), Equal("a[*]", SameQuantity), Default("b[*].c", 1), Ignore("b[*].d"),
			},
			desired: `{"a":["1Gi"],"b":[{"c":1,"e":2,"d":3}]}`, observed: `{"a":["1024Mi"],"b":[{"e":2,"d":4}]}`,
		},
		"Keyed": {
			reason:  "Elements with the same key are compared, at the position of the spec.",
			options: []Option{Keyed("s", "name")}, desired: servers,
			observed: `{"s":[{"name":"b","port":2},{"name":"a","port":5}]}`,
			want:     []commonv1.Difference{diff("s[0].port", `1`, `5`)},
		},
		"TwoKeys": {
			reason: "A key can have several fields.", options: []Option{Keyed("s", "name", "port")}, desired: servers,
			observed: `{"s":[{"name":"b","port":2},{"name":"a","port":1.0}]}`,
		},
		"OtherKeys": {
			reason: "An element that is missing is a difference of the list.", options: []Option{Keyed("s", "name")},
			desired: servers, observed: `{"s":[{"name":"b","port":2}]}`,
			want: []commonv1.Difference{
				diff("s", `[{"name":"a","port":1},{"name":"b","port":2}]`, `[{"name":"b","port":2}]`),
			},
		},
		"NotUnique": {
			reason: "Without unique keys, elements are compared by position.", options: []Option{Keyed("s", "name")},
			desired: `{"s":[{"name":"a","x":1},{"name":"a","x":2}]}`, observed: `{"s":[{"name":"a","x":1},{"name":"a","x":3}]}`,
			want: []commonv1.Difference{diff("s[1].x", `2`, `3`)},
		},
		"NoKey": {
			reason: "So are elements that have none.", options: []Option{Keyed("s", "name")},
			desired: `{"s":[{"x":1}]}`, observed: `{"s":[{"x":2}]}`,
			want: []commonv1.Difference{diff("s[0].x", `1`, `2`)},
		},
	})
}

func TestBetweenOptions(t *testing.T) {
	runBetween(t, map[string]betweenCase{
		"Ignore": {
			reason:   "What is ignored is not compared, with all that is in it.",
			options:  []Option{Ignore("a", "b.c", "d[*].e", `f["x.y"]`, "f[z/z]", "g[1]")},
			desired:  `{"a":{"x":1},"b":{"c":1,"d":1},"d":[{"e":1},{"e":2}],"f":{"x.y":1,"z/z":1},"g":[1,2]}`,
			observed: `{"b":{"c":2,"d":2},"d":[{"e":3},{}],"g":[1,3]}`,
			want:     []commonv1.Difference{diff("b.d", `1`, `2`)},
		},
		"TwoRules": {
			reason:  "Options for one key and for each key add up.",
			options: []Option{Ignore("a.x"), Sensitive("a.y"), Immutable("a[*]")},
			desired: `{"a":{"x":1,"y":1,"z":1}}`, observed: `{"a":{}}`,
			want: []commonv1.Difference{
				{Path: "a.y", Immutable: true, Sensitive: true}, {Path: "a.z", Desired: "1", Immutable: true},
			},
		},
		"Immutable": {
			reason: "A field in an immutable one is immutable.", options: []Option{Immutable("a", "b[*]")},
			desired: `{"a":{"x":1},"b":{"y":1},"c":1}`, observed: `{}`,
			want: []commonv1.Difference{
				{Path: "a.x", Desired: "1", Immutable: true}, {Path: "b.y", Desired: "1", Immutable: true},
				diff("c", "1", ""),
			},
		},
		"Default": {
			reason:  "A default counts if the external system omits the field.",
			options: []Option{Default("a", 1), Default("b.c", "x"), Default("d", true), Default("e", []string{"y"})},
			desired: `{"a":1,"b":{"c":"x"},"d":false,"e":["y"]}`, observed: `{}`,
			want: []commonv1.Difference{diff("d", `false`, `true`)},
		},
		"DefaultOfUnset": {
			reason: "A default is no wish.", options: []Option{Default("a", 1)}, desired: `{}`, observed: `{"a":2}`,
		},
		"Equal": {
			reason: "A function decides whether two values are equal.",
			options: []Option{
				Equal("q", SameQuantity), Equal("d", SameDuration), Equal("t", SameTime), Equal("n", SameQuantity),
				Equal("o", func(_, _ string) bool { return false }),
			},
			desired:  `{"q":"1Gi","d":"24h","t":"2026-01-01T01:00:00+01:00","n":"0.5","o":{"a":1}}`,
			observed: `{"q":"1024Mi","d":"1440m0s","t":"2026-01-01T00:00:00Z","n":"600m","o":{"a":1.0}}`,
			want:     []commonv1.Difference{diff("n", `"0.5"`, `"600m"`)},
		},
		"EqualAbsent": {
			reason:  "It is not asked about a value that is missing.",
			options: []Option{Equal("a", func(_, _ string) bool { return true })},
			desired: `{"a":1}`, observed: `{}`, want: []commonv1.Difference{diff("a", `1`, "")},
		},
		"Nil": {reason: "A nil option has no effect.", options: []Option{nil}, desired: `{"a":1}`, observed: `{"a":1}`},
	})
}

func TestBetweenSecrets(t *testing.T) {
	runBetween(t, map[string]betweenCase{
		"Option": {
			reason: "The values of a sensitive field are not shown.", options: []Option{Sensitive("a", "b[*].c")},
			desired: `{"a":{"x":"s3cret"},"b":[{"c":"s3cret","d":1}]}`, observed: `{"b":[{"c":"other","d":2}]}`,
			want: []commonv1.Difference{secret("a.x"), secret("b[0].c"), diff("b[0].d", `1`, `2`)},
		},
		"Name": {
			reason:  "A name of a secret suffices, also above the field.",
			desired: `{"password":"s3cret","clientSecret":{"x":1},"secretRef":{"name":"a"}}`, observed: `{}`,
			want: []commonv1.Difference{secret("clientSecret.x"), secret("password"), diff("secretRef.name", `"a"`, "")},
		},
		"Inside": {
			reason:  "A list with a secret in it is not shown.",
			desired: `{"users":[{"name":"a","password":"s3cret"}]}`, observed: `{"users":[]}`,
			want: []commonv1.Difference{secret("users")},
		},
		"InsideObserved": {
			reason:  "Nor is one whose secret is only observed.",
			desired: `{"users":"none"}`, observed: `{"users":{"a":[{"token":"s3cret"}]}}`,
			want: []commonv1.Difference{secret("users")},
		},
		"Pair": {
			reason: "The name of a pair can be that of a secret.",
			desired: `{"env":[{"name":"API_TOKEN","value":"s3cret"},{"name":"A","value":"x"}],` +
				`"tags":[{"key":"password","value":1}]}`,
			observed: `{"env":[{"name":"API_TOKEN","value":"other"},{"name":"A","value":"y"}]}`,
			want:     []commonv1.Difference{secret("env[0].value"), diff("env[1].value", `"x"`, `"y"`), secret("tags")},
		},
		"Shape": {
			reason:  "What looks like a secret is redacted.",
			desired: `{"url":"https://user:s3cret@example.org"}`, observed: `{"url":"https://example.org"}`,
			want: []commonv1.Difference{diff("url", `"https://[REDACTED]@example.org"`, `"https://example.org"`)},
		},
	})
}

func TestBetweenBounds(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	got, err := Between(map[string]any{long: 1, "a": long, "b": "\x1b[31m\u202e\xff\n"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []commonv1.Difference{
		diff("a", `"`+long[:240]+"... (truncated)", ""),
		diff("b", `"\u001b[31m`+"\ufffd\ufffd"+`\n"`, ""),
		{Path: long[:49] + "... (truncated)", Sensitive: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want, +got:\n%s", d)
	}
}

func TestBetweenTypes(t *testing.T) {
	type spec struct {
		Size     *resource.Quantity  `json:"size,omitempty"`
		Requests corev1.ResourceList `json:"requests,omitempty"`
		Replicas int                 `json:"replicas,omitempty"`
	}
	a, b := resource.MustParse("1Gi"), resource.MustParse("1024Mi")
	got, err := Between(
		spec{Size: &a, Requests: corev1.ResourceList{"cpu": resource.MustParse("0.5")}},
		&spec{Size: &b, Requests: corev1.ResourceList{"cpu": resource.MustParse("500m")}, Replicas: 3})
	if err != nil || got != nil {
		t.Errorf("equal quantities, and a field without a value: %v, %v", got, err)
	}
}

func TestBetweenErrors(t *testing.T) {
	cases := map[string]struct {
		reason            string
		desired, observed any
		options           []Option
		want              string
	}{
		"List": {
			reason: "Only objects have fields.", desired: []int{1},
			want: "cannot compare the desired state: its JSON is not an object: pass a struct or a map with the fields",
		},
		"ObservedText": {
			reason: "The observed state is an object, too.", observed: "x",
			want: "cannot compare the observed state: its JSON is not an object: pass a struct or a map with the fields",
		},
		"NotEncodable": {
			reason: "The type of a value can have no JSON.", desired: map[string]any{"a": func() {}},
			want: "cannot compare the desired state: cannot encode it as JSON: json: unsupported type: func()",
		},
		"Path": {
			reason: "A path that is not valid is an error.", options: []Option{Ignore("a", "b[")},
			want: `cannot parse the path "b[": a closing bracket is missing`,
		},
		"SetAndKeyed": {
			reason: "A list cannot be compared in two ways.", options: []Option{Set("a"), Keyed("a", "name")},
			want: `invalid option for the path "a": a list cannot be both a Set and Keyed`,
		},
		"NoKeys": {
			reason: "A key is needed.", options: []Option{Keyed("a")},
			want: `invalid option for the path "a": Keyed needs a field that identifies an element, such as name`,
		},
		"NoFunction": {
			reason: "A function is needed.", options: []Option{Equal("a", nil)},
			want: `invalid option for the path "a": Equal needs a function`,
		},
		"NoDefault": {
			reason: "A default has to be JSON.", options: []Option{Default("a", make(chan int))},
			want: `invalid option for the path "a": cannot use the default: cannot encode it as JSON: ` +
				`json: unsupported type: chan int`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Between(tc.desired, tc.observed, tc.options...)
			if err == nil || got != nil {
				t.Fatalf("%s got %v, %v", tc.reason, got, err)
			}
			if d := cmp.Diff(tc.want, err.Error()); d != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, d)
			}
		})
	}
}

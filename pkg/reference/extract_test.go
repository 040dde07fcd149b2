package reference

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A conditioned is an interface that an extracting function may require.
type conditioned interface {
	client.Object
	GetCondition(ct commonv1.ConditionType) commonv1.Condition
}

func TestField(t *testing.T) {
	b := disk("a", "b", labelled("apps.example.org/zone", "east"))
	b.Status = DiskStatus{
		AtProvider: map[string]string{"arn": "arn:b"},
		Depth:      2.5,
		Length:     12,
		Free:       new(false),
		Posts:      []Post{{Name: "first"}, {Name: "second"}},
	}

	cases := map[string]struct {
		reason string
		path   string
		want   string
	}{
		"Text":        {"Text is taken as it is.", "status.atProvider.arn", "arn:b"},
		"Whole":       {"A whole number is written as JSON does.", "status.length", "12"},
		"Fraction":    {"So is a fraction.", "status.depth", "2.5"},
		"Boolean":     {"False is a value.", "status.free", "false"},
		"Index":       {"A list is indexed in brackets.", "status.posts[1].name", "second"},
		"KeyWithDots": {"A key with dots is in brackets.", "metadata.labels[apps.example.org/zone]", "east"},
		"BracketKey":  {"Brackets do for any key.", "[status][atProvider][arn]", "arn:b"},
		"Missing":     {"What is not there has no value.", "status.atProvider.id", ""},
		"Beyond":      {"There is nothing below text.", "metadata.name.first", ""},
		"OutOfRange":  {"There is nothing behind a list.", "status.posts[2].name", ""},
		"Negative":    {"Nor before it.", "status.posts[-1].name", ""},
		"NoIndex":     {"A list has no names.", "status.posts.name", ""},
		"Object":      {"An object is no value.", "status.atProvider", ""},
		"List":        {"A list is no value.", "status.posts", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Field(tc.path)(b); got != tc.want {
				t.Errorf("%s\nField(%q): want %q, got %q", tc.reason, tc.path, tc.want, got)
			}
		})
	}
}

func TestParseField(t *testing.T) {
	cases := map[string]struct {
		reason string
		path   string
	}{
		"Empty":        {"No path leads nowhere.", ""},
		"Dot":          {"A dot needs a name before it.", ".status"},
		"Dots":         {"And one behind it.", "status..name"},
		"Trailing":     {"At the end too.", "status."},
		"DotBracket":   {"A bracket needs no dot.", "status.[0]"},
		"NotClosed":    {"A bracket is closed.", "status.posts[0"},
		"EmptyBracket": {"A bracket holds something.", "status.posts[]"},
		"Glued":        {"A name is not glued to a bracket.", "status.posts[0]name"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseField(tc.path); err == nil {
				t.Errorf("%s\nParseField(%q): want an error", tc.reason, tc.path)
			}
			defer func() {
				if recover() == nil {
					t.Errorf("Field(%q): want a panic", tc.path)
				}
			}()
			Field(tc.path)
		})
	}
}

func TestExtract(t *testing.T) {
	b := disk("a", "b", external("main"))
	b.Status.AtProvider = map[string]string{"arn": "arn:b"}

	cases := map[string]struct {
		reason  string
		extract ExtractValueFn
		o       client.Object
		want    string
	}{
		"ExternalName": {"The external name is that of the annotation.", ExternalName(), b, "main"},
		"Observed":     {"What is observed is in the status.", ExtractParamPath("arn", true), b, "arn:b"},
		"Desired":      {"What is desired is in the spec.", ExtractParamPath("arn", false), b, ""},
		"Typed": {"A function may want a struct.",
			Typed(func(b *Disk) string { return b.Status.AtProvider["arn"] }), b, "arn:b"},
		"Interface": {"Or an interface.", Typed(func(mg conditioned) string { return mg.GetName() }),
			&fake.Managed{ObjectMeta: b.ObjectMeta}, "b"},
		"OtherType": {"What does not fit has no value.",
			Typed(func(mg conditioned) string { return mg.GetName() }), b, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.extract(tc.o); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// FuzzParseField: any path is either rejected or followed.
func FuzzParseField(f *testing.F) {
	for _, path := range []string{"status.atProvider.arn", "status.posts[0].name", "metadata.labels[a.b/c]", "a[",
		"[]", "..", "[0][1].x"} {
		f.Add(path)
	}
	b := disk("a", "b", external("main"))
	f.Fuzz(func(t *testing.T, path string) {
		extract, err := ParseField(path)
		if (extract == nil) != (err != nil) {
			t.Fatalf("ParseField(%q): want either a function or an error, got error %v", path, err)
		}
		if err != nil && len(err.Error()) > 4*maxErrorLength {
			t.Errorf("ParseField(...): the error has %d bytes", len(err.Error()))
		}
		if extract != nil {
			extract(b)
		}
	})
}

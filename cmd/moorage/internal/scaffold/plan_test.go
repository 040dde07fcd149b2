package scaffold_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

func cloud() scaffold.Project {
	return scaffold.Project{
		Template: scaffold.Template, Module: "example.org/provider-cloud", Group: "cloud.example.org",
		Moorage: scaffold.Source{Version: "v1.2.3"},
	}
}

func bucket() scaffold.Kind {
	return scaffold.Kind{Kind: "Bucket", Version: "v1alpha1", Class: scaffold.Named}
}

// kinds of every class and, in two halves, of every scope.
func kinds(clusterScoped bool) []scaffold.Kind {
	return []scaffold.Kind{
		{Kind: "Bucket", Version: "v1alpha1", Class: scaffold.Named, ClusterScoped: clusterScoped},
		{Kind: "Gateway", Version: "v1beta1", Class: scaffold.Token, ClusterScoped: !clusterScoped},
		{Kind: "Archive", Version: "v1alpha1", Class: scaffold.Findable, ClusterScoped: clusterScoped},
		{Kind: "Directory", Version: "v1alpha1", Class: scaffold.Opaque, ClusterScoped: !clusterScoped},
	}
}

func with(t *testing.T, p scaffold.Project, kinds ...scaffold.Kind) scaffold.Project {
	t.Helper()

	for _, k := range kinds {
		var err error
		if p, err = p.WithKind(k); err != nil {
			t.Fatal(err)
		}
	}

	return p
}

func plan(t *testing.T, before *scaffold.Project, after scaffold.Project) []scaffold.File {
	t.Helper()

	files, err := scaffold.Plan(scaffold.Input{Before: before, After: after})
	if err != nil {
		t.Fatal(err)
	}

	return files
}

// TestCheck refuses, in words that say what to do, what cannot be made.
func TestCheck(t *testing.T) {
	change := func(edit func(*scaffold.Project)) scaffold.Project {
		p := cloud()
		edit(&p)

		return p
	}
	kind := func(edit func(*scaffold.Kind)) scaffold.Project {
		k := bucket()
		edit(&k)

		return change(func(p *scaffold.Project) { p.Kinds = []scaffold.Kind{k} })
	}
	named := func(name string) scaffold.Project { return kind(func(k *scaffold.Kind) { k.Kind = name }) }

	cases := map[string]struct {
		project scaffold.Project
		want    string // in the error; empty for none
	}{
		"Fine":       {cloud(), ""},
		"FineMajor":  {change(func(p *scaffold.Project) { p.Module = "example.org/provider-cloud/v2" }), ""},
		"NoTemplate": {change(func(p *scaffold.Project) { p.Template = 0 }), "version of its templates"},
		"NoModule":   {change(func(p *scaffold.Project) { p.Module = "" }), "example.org/provider-cloud"},
		"ModuleBlank": {change(func(p *scaffold.Project) { p.Module = "example.org/my provider" }),
			"no path of a Go module"},
		"ModuleUp":       {change(func(p *scaffold.Project) { p.Module = "example.org/../cloud" }), "no path of a Go module"},
		"ModuleLocal":    {change(func(p *scaffold.Project) { p.Module = "provider-cloud" }), "begin with a domain"},
		"ModuleDomain":   {change(func(p *scaffold.Project) { p.Module = "example.org" }), "domain alone"},
		"ModuleMajor":    {change(func(p *scaffold.Project) { p.Module = "example.org/v2" }), "domain alone"},
		"ModuleCapitals": {change(func(p *scaffold.Project) { p.Module = "example.org/ProviderCloud" }), "lower-case"},
		"NoGroup":        {change(func(p *scaffold.Project) { p.Group = "" }), "no API group"},
		"GroupCapitals":  {change(func(p *scaffold.Project) { p.Group = "Cloud.example.org" }), "no API group"},
		"GroupShort":     {change(func(p *scaffold.Project) { p.Group = "cloud" }), "cloud.example.org"},
		"GroupLong":      {change(func(p *scaffold.Project) { p.Group = strings.Repeat("cloud.", 60) + "org" }), "253"},
		"GroupReserved":  {change(func(p *scaffold.Project) { p.Group = "cloud.k8s.io" }), "reserved for Kubernetes"},
		"NoSource":       {change(func(p *scaffold.Project) { p.Moorage.Version = "" }), "--checkout"},
		"Client":         {change(func(p *scaffold.Project) { p.Client = "grpc" }), "give http or interface"},
		"Interface":      {change(func(p *scaffold.Project) { p.Client = scaffold.Interface }), ""},
		"ConfigVersion":  {change(func(p *scaffold.Project) { p.ProviderConfig = "1" }), "no API version"},
		"Kind":           {named("Bucket"), ""},
		"KindLower":      {named("bucket"), "capital letter"},
		"KindDash":       {named("Bucket-Place"), "capital letter"},
		"KindNone":       {named(""), "capital letter"},
		"KindLong":       {named("B" + strings.Repeat("e", 50)), "longer than 50"},
		"KindKeyword":    {named("Func"), "keyword of Go"},
		"KindReserved":   {named("ProviderConfig"), "the package of its type already has"},
		"KindCore":       {named("Secret"), "kubectl takes that name"},
		"KindGroup":      {named("Group"), ""},
		"KindPassword":   {named("Password"), ""},
		"KindPasswordFile": {kind(func(k *scaffold.Kind) {
			k.Kind, k.ConnectionDetails, k.Password = "Password", true, true
		}), "already has the file password.go"},
		"KindReferencesFile": {change(func(p *scaffold.Project) {
			p.Kinds = []scaffold.Kind{bucket(), {Kind: "References", Version: "v1alpha1", Class: scaffold.Named,
				RefersTo: []string{"Bucket"}}}
		}), "already has the file references_test.go"},
		"KindList":    {named("BucketList"), "ends in List"},
		"KindSpec":    {named("BucketSpec"), "ends in Spec"},
		"KindVersion": {kind(func(k *scaffold.Kind) { k.Version = "v1alpha" }), "v1alpha1"},
		"KindClass":   {kind(func(k *scaffold.Kind) { k.Class = "" }), "no class"},
		"KindItself":  {kind(func(k *scaffold.Kind) { k.RefersTo = []string{"Bucket"} }), "cannot refer to itself"},
		"KindNoReferent": {kind(func(k *scaffold.Kind) { k.RefersTo = []string{"Role"} }),
			"no kind of this provider"},
		"KindCycle": {change(func(p *scaffold.Project) { p.Kinds = cycle() }), ""},
		"KindCycleVersions": {change(func(p *scaffold.Project) {
			p.Kinds = cycle()
			p.Kinds[1].Version = "v1"
		}), "choose the same version"},
		"KindTwice": {change(func(p *scaffold.Project) { p.Kinds = []scaffold.Kind{bucket(), bucket()} }),
			"exists in v1alpha1"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.project.Check()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}

			if _, planned := scaffold.Plan(scaffold.Input{After: tc.project}); (planned == nil) != (err == nil) {
				t.Errorf("a plan fails by itself: %v", planned)
			}
		})
	}
}

// TestWithKind refuses what would not go beside what there is.
func TestWithKind(t *testing.T) {
	one := with(t, cloud(), bucket())

	cases := map[string]struct{ kind, version, want string }{
		"Same":        {"Bucket", "v1alpha1", "exists in v1alpha1"},
		"Conversion":  {"Bucket", "v1beta1", "needs a conversion"},
		"OnlyCase":    {"BUCKET", "v1alpha1", "choose another name"},
		"Other":       {"Gateway", "v1alpha1", ""},
		"OtherLater":  {"Gateway", "v1", ""},
		"SamePlurals": {"Buckets", "v1", ""},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := one.WithKind(scaffold.Kind{Kind: tc.kind, Version: tc.version, Class: scaffold.Token})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}

	if len(one.Kinds) != 1 {
		t.Errorf("the project that was asked has changed: %v", one.Kinds)
	}
}

// cycle returns two kinds that refer to each other.
func cycle() []scaffold.Kind {
	return []scaffold.Kind{
		{Kind: "Role", Version: "v1alpha1", Class: scaffold.Named, RefersTo: []string{"Grant"}},
		{Kind: "Grant", Version: "v1alpha1", Class: scaffold.Named, RefersTo: []string{"Role"}},
	}
}

// TestExamplesOfACycle verifies that the examples of kinds that refer to each other do not wait for each other.
func TestExamplesOfACycle(t *testing.T) {
	p := cloud()
	p.Kinds = cycle()

	examples := map[string]string{"role": "\n    grant: example", "grant": "\n    roleRef:\n      name: example"}
	for file, want := range examples {
		if got := string(content(t, p, "examples/"+file+".yaml")); !strings.Contains(got, want) ||
			strings.Contains(got, "grantRef:") {
			t.Errorf("the example of the %s does not have %q:\n%s", file, want, got)
		}
	}
}

// TestPlanTouchesNobodysFiles adds to projects in every way: what there was is replaced
// only if it says that it is generated, or is shared; the files of
// a kind are never planned again.
func TestPlanTouchesNobodysFiles(t *testing.T) {
	shared := []string{
		"apis/v1alpha1/resource_types.go", "deploy/base/deployment.yaml", "deploy/chart/values.yaml",
		"deploy/plan/job.yaml", "internal/connect/connect.go", "internal/testenv/connection.go",
	}

	one := with(t, cloud(), bucket())

	for _, class := range scaffold.Classes() {
		for _, clusterScoped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s-%t", class, clusterScoped), func(t *testing.T) {
				two := with(t, one, scaffold.Kind{Kind: "Gateway", Version: "v1alpha1", Class: class, ClusterScoped: clusterScoped})

				for _, f := range plan(t, &one, two) {
					generated := f.Path == scaffold.Record ||
						strings.Contains(string(f.Content), "Code generated by moorage. DO NOT EDIT.")
					if f.Replaces != nil && !generated {
						t.Errorf("to add a kind, %s is replaced", f.Path)
					}
				}

				three, err := two.WithProviderConfig("v1alpha1")
				if err != nil {
					t.Fatal(err)
				}

				for _, f := range plan(t, &two, three) {
					generated := f.Path == scaffold.Record ||
						strings.Contains(string(f.Content), "Code generated by moorage. DO NOT EDIT.")
					if f.Replaces != nil && !generated && !slices.Contains(shared, f.Path) {
						t.Errorf("to add a ProviderConfig, %s is replaced", f.Path)
					}
				}
			})
		}
	}
}

// TestPlanIsComplete plans the same project in one step and in three.
func TestPlanIsComplete(t *testing.T) {
	one := with(t, cloud(), bucket())

	two, err := one.WithProviderConfig("v1")
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	before := (*scaffold.Project)(nil)

	for _, p := range []scaffold.Project{cloud(), one, two} {
		judged, err := scaffold.Judge(dir, plan(t, before, p))
		if err != nil {
			t.Fatal(err)
		}

		if err := scaffold.Apply(dir, judged, false); err != nil {
			t.Fatal(err)
		}

		before = &p
	}

	for _, f := range plan(t, nil, two) {
		got, err := os.ReadFile(filepath.Join(dir, f.Path))
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(string(f.Content), string(got)); diff != "" {
			t.Errorf("%s: -at once, +step by step:\n%s", f.Path, diff)
		}
	}

	if again := plan(t, &two, two); len(again) > 0 {
		t.Errorf("there is nothing to do, and %d files are planned", len(again))
	}

	record, err := os.ReadFile(filepath.Join(dir, scaffold.Record))
	if err != nil {
		t.Fatal(err)
	}

	read, err := scaffold.Read(record)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(two, read); diff != "" {
		t.Errorf("the record: -made, +read:\n%s", diff)
	}
}

// TestRead refuses records that this program does not understand.
func TestRead(t *testing.T) {
	cases := map[string]struct{ record, want string }{
		"NoJSON": {"template: 1", "cannot understand"},
		"Newer":  {`{"template": 1000}`, "newer moorage"},
		"Edited": {`{"template": 1, "module": "example.org/x y"}`, "not as moorage wrote it"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := scaffold.Read([]byte(tc.record)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

// TestApplyConflict puts a foreign file in the way of each kind of file.
func TestApplyConflict(t *testing.T) {
	const mine = "mine\n"

	files := []scaffold.File{
		{Path: "a", Content: []byte("new\n")},
		{Path: "b", Content: []byte("new\n"), Replaces: []byte("old\n")},
		{Path: scaffold.Record, Content: []byte("new\n"), Replaces: []byte("old\n")},
	}

	cases := map[string]struct {
		reason string
		there  map[string]string
		keep   bool
		want   map[string]string
	}{
		"Nothing": {"All is made.", nil, false, map[string]string{"a": "new\n", "b": "new\n", scaffold.Record: "new\n"}},
		"AsMade": {"What nobody changed is replaced.", map[string]string{"b": "old\n", scaffold.Record: "old\n"}, false,
			map[string]string{"a": "new\n", "b": "new\n", scaffold.Record: "new\n"}},
		"SomeoneMade": {"A file in the way stays, and the record does not tell of what is not there.",
			map[string]string{"a": mine, scaffold.Record: "old\n"}, false,
			map[string]string{"a": mine, "b": "new\n", scaffold.Record: "old\n"}},
		"SomeoneChanged": {"A changed file stays.",
			map[string]string{"b": mine, scaffold.Record: "old\n"}, false,
			map[string]string{"a": "new\n", "b": mine, scaffold.Record: "old\n"}},
		"Kept": {"Whoever wants to keep his own is not asked again.",
			map[string]string{"b": mine, scaffold.Record: "old\n"}, true,
			map[string]string{"a": "new\n", "b": mine, scaffold.Record: "new\n"}},
		"Again": {"What is there already is no conflict.",
			map[string]string{"a": "new\n", "b": "new\n", scaffold.Record: "old\n"}, false,
			map[string]string{"a": "new\n", "b": "new\n", scaffold.Record: "new\n"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()

			for path, text := range tc.there {
				if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			judged, err := scaffold.Judge(dir, files)
			if err != nil {
				t.Fatal(err)
			}

			if err := scaffold.Apply(dir, judged, tc.keep); err != nil {
				t.Fatal(err)
			}

			got := map[string]string{}

			for _, f := range files {
				text, err := os.ReadFile(filepath.Join(dir, f.Path))
				if err != nil {
					t.Fatal(err)
				}

				got[f.Path] = string(text)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDecisions looks at what is left to the author: each method says in sentences what
// to decide. (That templates leave nothing for later in one word is looked for in all
// of the repository.)
func TestDecisions(t *testing.T) {
	for _, clusterScoped := range []bool{false, true} {
		p, err := with(t, cloud(), kinds(clusterScoped)...).WithProviderConfig("v1alpha1")
		if err != nil {
			t.Fatal(err)
		}

		for _, k := range p.Kinds {
			name := strings.ToLower(k.Kind)
			client := string(content(t, p, "internal/controller/"+name+"/"+name+".go"))

			for _, method := range []string{"Observe", "Create", "Update", "Delete"} {
				comment := regexp.MustCompile(`(?m)((?:^//.*\n)+)func \(c client\) ` + method + `\(`).FindStringSubmatch(client)
				if comment == nil || !regexp.MustCompile(`(?s)// Decide.*\.\n$`).MatchString(comment[1]) {
					t.Errorf("%s, of the class %s: %s does not say what to decide", k.Kind, k.Class, method)
				}
			}
		}
	}
}

// TestTested wants a conformance test and a budget of each kind, called what moorage test and
// the workflow look for.
func TestTested(t *testing.T) {
	p := with(t, cloud(), kinds(false)...)

	for _, kind := range p.Kinds {
		lower := strings.ToLower(kind.Kind)

		for path, test := range map[string]string{
			"internal/controller/" + lower + "/conformance_test.go": "TestConformance",
			"internal/systemtest/" + lower + "_test.go":             "Test" + kind.Kind + "Budget",
		} {
			if !strings.Contains(string(content(t, p, path)), "\nfunc "+test+"(t *testing.T) {") {
				t.Errorf("%s has no %s", path, test)
			}
		}
	}
}
